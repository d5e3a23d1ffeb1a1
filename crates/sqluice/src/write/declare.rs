//! Builds the CREATE TABLE statement of a new table.

use std::path::Path;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::remote::is_url;
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_core::setters;
use sqluice_engine::attempts;
use sqluice_engine::options::WriteOptions;
use sqluice_engine::output::Target;

use crate::load::request::key_specs::IndexSpec;
use crate::load::request::names::{names_in, refuse_nul};

/// A table to create.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewTable {
    /// The name.
    pub name: String,
    /// The names and declarations of the columns. A column with an empty declaration keeps values unchanged.
    pub columns: Vec<(String, String)>,
    /// The columns of the PRIMARY KEY. A single INTEGER column is another name for the rowid, except in a table WITHOUT
    /// ROWID. Other key columns can't be NULL.
    pub primary_key: Vec<String>,
    /// The indexes, each as columns with commas between them: `name [COLLATE collation] [ASC|DESC], ...`.
    pub indexes: Vec<String>,
    /// The unique indexes, written as `indexes` are.
    pub uniques: Vec<String>,
    /// `true` if the table is STRICT.
    pub strict: bool,
    /// `true` if the table is WITHOUT ROWID.
    pub without_rowid: bool,
}

setters! { NewTable:
    /// Sets the columns of the PRIMARY KEY.
    primary_key(columns: impl IntoIterator<Item = impl Into<String>>) =
        columns.into_iter().map(Into::into).collect();
    /// Sets the indexes, each given as its columns with commas between them.
    indexes(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Sets the unique indexes, each given as its columns with commas between them.
    uniques(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Makes the table STRICT.
    strict(strict: bool) = strict;
    /// Makes the table WITHOUT ROWID.
    without_rowid(without_rowid: bool) = without_rowid;
}

impl NewTable {
    /// Creates a table with these columns: the name and declaration of each. A declaration may be empty.
    pub fn new(
        name: impl Into<String>,
        columns: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> NewTable {
        let columns = columns.into_iter().map(|(column, declaration)| (column.into(), declaration.into()));
        NewTable { name: name.into(), columns: columns.collect(), ..NewTable::default() }
    }

    /// Returns the schema that declares the table. If a database exists at `target`, the indexes get names that are unused in the database.
    ///
    /// # Errors
    /// If the table has no column, a key or an index names an unknown column, SQLite does not accept a declaration, the type of a column
    /// contains more than a type, or an existing `target` can't be read.
    pub fn schema(&self, target: &Path, options: &WriteOptions) -> Result<Schema> {
        let mut taken = vec![self.name.to_ascii_lowercase()];
        if !is_url(target)
            && let Some(existing) = attempts::look(Some(&Target::resolve(target, options)), options)?
        {
            taken.extend(names_in(&existing.schema));
        }
        let sql = self.table_sql()? + &self.index_sql(&mut taken)?;
        let schema = Schema::parse(sql, Path::new("")).map_err(|error| {
            let hint = "check the names and declarations of the columns";
            Error::usage(format!("table {} can't be created: {}", self.name, error.message())).hint(hint)
        })?;
        let only = schema.tables.len() == 1 && schema.others.is_empty();
        let is_given = |table: &Table| {
            table.columns.len() == self.columns.len()
                && table.columns.iter().all(|column| column.generated.is_none())
        };
        if !only || !schema.tables.iter().all(is_given) {
            let message = format!(
                "the type of a column of table {} contains more than the declaration of the column",
                self.name
            );
            return Err(Error::usage(message).hint("give a type such as INTEGER, REAL, TEXT or BLOB"));
        }
        Ok(schema)
    }

    fn table_sql(&self) -> Result<String> {
        if self.columns.is_empty() {
            return Err(Error::usage(format!("table {} would have no column", self.name)));
        }
        refuse_nul("a table", &self.name)?;
        self.columns.iter().try_for_each(|(name, _)| refuse_nul("a column", name))?;
        let key = self.primary_key.iter().map(|name| self.spelled(name, Setting::PrimaryKey));
        let key = key.collect::<Result<Vec<_>>>()?;
        if self.without_rowid && key.is_empty() {
            return Err(Error::usage("a table WITHOUT ROWID needs a key to find its rows by")
                .hint(message!["name its columns: ", Setting::PrimaryKey]));
        }
        let type_of =
            |name: &str| self.columns.iter().find(|column| column.0 == name).map(|column| &*column.1);
        let is_rowid = !self.without_rowid
            && matches!(key[..], [one] if type_of(one).is_some_and(|declared| declared.eq_ignore_ascii_case("INTEGER")));
        let mut lines = Vec::new();
        for (name, declared) in &self.columns {
            let declared = match declared.is_empty() && self.strict {
                true => "ANY",
                false => declared.as_str(),
            };
            let more = match key.contains(&name.as_str()) {
                true if is_rowid => " PRIMARY KEY",
                true if !declared.to_ascii_uppercase().contains("NOT NULL") => " NOT NULL",
                _ => "",
            };
            lines.push(format!("  {} {declared}{more}", quoted(name)).trim_end().to_owned());
        }
        if !key.is_empty() && !is_rowid {
            let columns: Vec<String> = key.iter().map(|name| quoted(name)).collect();
            lines.push(format!("  PRIMARY KEY ({})", columns.join(", ")));
        }
        let options = [("STRICT", self.strict), ("WITHOUT ROWID", self.without_rowid)];
        let options: Vec<&str> = options.iter().filter(|(_, is)| *is).map(|(option, _)| *option).collect();
        let options = if options.is_empty() { String::new() } else { format!(" {}", options.join(", ")) };
        Ok(format!("CREATE TABLE {} (\n{}\n){options};\n", quoted(&self.name), lines.join(",\n")))
    }

    fn index_sql(&self, taken: &mut Vec<String>) -> Result<String> {
        let uniques = self.uniques.iter().map(|text| IndexSpec::parse(text, true));
        let specs = uniques.chain(self.indexes.iter().map(|text| IndexSpec::parse(text, false)));
        let mut sql = String::new();
        for spec in specs {
            let spec = spec?;
            let own = spec.names().into_iter().map(|name| self.spelled(name, spec.flag()));
            sql += &spec.statement(&self.name, &own.collect::<Result<Vec<_>>>()?, taken);
        }
        Ok(sql)
    }

    /// Returns a column's name as it is spelled in the table.
    fn spelled(&self, name: &str, flag: Setting) -> Result<&str> {
        let mut names = self.columns.iter().map(|column| column.0.as_str());
        match names.find(|column| column.eq_ignore_ascii_case(name)) {
            Some(column) => Ok(column),
            None => {
                let names: Vec<&str> = self.columns.iter().map(|column| column.0.as_str()).take(20).collect();
                let message = message![
                    flag,
                    format!(" names the column {name:?}, which table {} does not have", self.name)
                ];
                Err(Error::usage(message).hint(format!("the columns are: {}", names.join(", "))))
            }
        }
    }
}
