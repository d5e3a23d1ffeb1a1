//! Snapshots of an existing database and its tables, from which a plan is made: plain data, read by
//! [`existing::look`](crate::existing::look).

use sqluice_core::error::{Error, Message, Result};
use sqluice_core::schema::token::same;
use sqluice_core::schema::{Object, Schema, Table};
use sqluice_format::page::PageSize;

use crate::options::IfExists;
use crate::output::Target;

/// A snapshot of an existing database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetSnapshot {
    /// The file or object of the database.
    pub(crate) target: Target,
    /// The schema of the database.
    pub schema: Schema,
    /// The page size of the database.
    pub page_size: PageSize,
    pub(crate) pages: u32,
    pub(crate) journal_mode: String,
    pub(crate) schema_version: i64,
    /// The reason why pages can't be written into the database, if any.
    pub(crate) no_pages: Option<String>,
    /// `true` if the database stores text as UTF-8, so that text is copied without conversion.
    pub utf8: bool,
    /// The text encoding, as in `PRAGMA encoding`.
    pub encoding: &'static str,
    /// The snapshot of each table, in the order of the schema's tables.
    pub(crate) tables: Vec<TableSnapshot>,
}

/// A snapshot of a table of an existing database.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TableSnapshot {
    /// The largest rowid; `None` if the table has no rows, or no rowid that a query can name.
    pub largest_rowid: Option<i64>,
    /// For each column with TEXT affinity: the first bytes of its last text, searched in the last rows of the table. `None` for other
    /// columns and generated ones, and if none of these rows has a text in the column, or the column can't be read.
    pub last_texts: Vec<Option<String>>,
    /// The largest possible number of rows, from the range of rowids; `None` if it is unknown.
    pub(crate) rows_max: Option<u64>,
    /// `true` if the table has triggers.
    pub(crate) triggers: bool,
    /// The full-text tables whose text is in this table.
    pub(crate) followers: TextFollowers,
    /// The reason why SQLite can't insert into the table, if any.
    pub(crate) refused: Option<String>,
    /// The reason why only SQLite can index the rows of a full-text table, if any.
    pub(crate) indexed_by_sqlite: Option<String>,
}

/// The full-text tables whose text is in the columns of another table, named by the FTS5 option `content`.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextFollowers {
    /// The full-text tables whose triggers have the form that the documentation of FTS5 recommends.
    pub(crate) full_text: Vec<String>,
    /// The full-text tables that get no new rows, because no trigger that fires for an INSERT adds the rows to them.
    pub(crate) behind: Vec<String>,
    /// The tables in `behind` to which only SQLite can add rows.
    pub(crate) only_sqlite: Vec<String>,
    /// `true` if no triggers fire for an INSERT except those that add the rows to the tables in `full_text`.
    pub(crate) are_all: bool,
}

impl TargetSnapshot {
    /// Returns the table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.schema.table(name)
    }

    /// Returns the snapshot of an existing table, or `None` if no table has this name.
    pub fn about(&self, name: &str) -> Option<&TableSnapshot> {
        let index = self.schema.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name))?;
        self.tables.get(index)
    }

    /// Returns the kind of the object with a name, if the name is not free for a table.
    pub(crate) fn kind_of(&self, name: &str) -> Option<&str> {
        let objects = self.schema.objects.iter().filter(|(kind, _)| kind != "trigger");
        let mut named = objects.filter(|(_, other)| other.eq_ignore_ascii_case(name));
        named.next().map(|(kind, _)| kind.as_str())
    }

    /// Refuses a table name that can't be created, or an existing table that must not or can't get rows. `hint` names the options for
    /// existing tables.
    pub fn refuse_name(&self, name: &str, if_exists: &IfExists, hint: impl Into<Message>) -> Result<()> {
        let database = self.target.name().display();
        if let Some(table) = self.table(name) {
            if table.is_virtual && matches!(if_exists, IfExists::Upsert(_)) {
                return Err(Error::target(format!("SQLite has no upsert for {name}, a virtual table")).hint(
                    format!("delete the old rows, and add the new ones: DELETE FROM {name} WHERE ..."),
                ));
            }
            if *if_exists != IfExists::Fail {
                return self.refuse(name);
            }
            return Err(Error::target(format!("{database} already has a table {name}")).hint(hint));
        }
        match self.kind_of(name) {
            None => Ok(()),
            Some(kind) => {
                let kind = match kind {
                    "table" => "a virtual table",
                    "index" => "an index",
                    _ => "a view",
                };
                let message = format!("{name} is {kind} of {database}, and no table that can be loaded");
                Err(Error::target(message).hint("name another table"))
            }
        }
    }

    /// Calls [`TargetSnapshot::combine`] for a schema whose tables all get rows. `hint` names the options for existing tables.
    ///
    /// # Errors
    /// The errors of [`TargetSnapshot::combine`] and [`TargetSnapshot::refuse_name`].
    pub fn combine_all(&self, schema: Schema, if_exists: &IfExists, hint: &Message) -> Result<Schema> {
        for table in &schema.tables {
            self.refuse_name(&table.name, if_exists, hint)?;
        }
        self.combine(schema)
    }

    /// Returns `schema` with only the objects that must be created, and its tables. An existing object must have the same declaration. An
    /// existing table stays in the schema, as the database has it, because it gets rows. Any other existing object is left out.
    ///
    /// # Errors
    /// If an existing object has another declaration, or a name is taken.
    pub fn combine(&self, mut schema: Schema) -> Result<Schema> {
        (schema.user_version, schema.application_id) = (0, 0);
        let mut tables = Vec::new();
        for table in std::mem::take(&mut schema.tables) {
            let Some(own) = self.table(&table.name) else {
                self.refuse_taken(
                    ("table", &table.name),
                    table.indexes.iter().map(|index| &index.name),
                    &schema,
                )?;
                tables.push(table);
                continue;
            };
            if !same(&own.sql, &table.sql) {
                return Err(self.declared_differently("table", &table.name, &schema));
            }
            for index in table.indexes.iter().filter(|index| index.sql.is_some()) {
                let here = own.indexes.iter().find(|own| own.name.eq_ignore_ascii_case(&index.name));
                let sql = |index: &sqluice_core::schema::index::Index| index.sql.clone().unwrap_or_default();
                if !here.is_some_and(|own| same(&sql(own), &sql(index))) {
                    return Err(self.declared_differently("index", &index.name, &schema));
                }
            }
            if own.is_virtual {
                // The table of `schema` is used, because it shows if the new rows have rowids. The existing virtual table does not.
                tables.push(table);
                continue;
            }
            let mut own = own.clone();
            own.largest_given = table.largest_given;
            tables.push(own);
        }
        schema.tables = tables;
        for object in &schema.others {
            let mut own = self.schema.others.iter();
            let sql = |object: &Object| object.sql.clone().unwrap_or_default();
            match own.find(|own| own.name.eq_ignore_ascii_case(&object.name)) {
                Some(own) if own.kind == object.kind && same(&sql(own), &sql(object)) => {}
                Some(_) => return Err(self.declared_differently(&object.kind, &object.name, &schema)),
                None => self.refuse_taken((&object.kind, &object.name), [].into_iter(), &schema)?,
            }
        }
        let is_new = |kind: &str, name: &str| {
            !self.schema.objects.iter().any(|(own, other)| own == kind && other.eq_ignore_ascii_case(name))
        };
        schema.others.retain(|object| is_new(&object.kind, &object.name));
        schema.objects.retain(|(kind, name)| is_new(kind, name));
        Ok(schema)
    }

    /// Refuses a new object, and the indexes that it implies, if another object has its name.
    fn refuse_taken<'n>(
        &self,
        (kind, name): (&str, &'n String),
        more: impl Iterator<Item = &'n String>,
        schema: &Schema,
    ) -> Result<()> {
        if kind == "trigger" {
            return Ok(());
        }
        for name in std::iter::once(name).chain(more) {
            if let Some(kind) = self.kind_of(name) {
                let message =
                    format!("{} already uses the name {name} for its {kind}", self.target.name().display());
                return Err(Error::target(message)
                    .at(schema.place_of_table(name))
                    .hint("give the new one another name"));
            }
        }
        Ok(())
    }

    fn declared_differently(&self, kind: &str, name: &str, schema: &Schema) -> Error {
        let message =
            format!("{} does not have {kind} {name} as the schema declares it", self.target.name().display());
        Error::input(message)
            .at(schema.place_of_table(name))
            .hint("existing objects stay as they are: leave it out of the schema, or declare it the same")
    }

    /// Refuses a table into which SQLite can't insert.
    fn refuse(&self, name: &str) -> Result<()> {
        match self.about(name).and_then(|about| about.refused.as_ref()) {
            None => Ok(()),
            Some(why) => {
                let message = format!(
                    "no rows can be added to table {name} of {}: {why}",
                    self.target.name().display()
                );
                Err(Error::target(message).hint(
                    "load into another table, and copy its rows with the application whose functions this table needs",
                ))
            }
        }
    }
}
