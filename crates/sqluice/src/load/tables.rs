//! Which files make which table, and what it declares.

use std::path::Path;

use super::Load;
use super::files::LoadFile;
use super::keys;
use super::order::Order;
use super::request::of_made_sql;
use crate::error::{Error, Place, Result};
use crate::infer::{Evidence, Watched};
use crate::schema::{Schema, Table, quoted, token};
use crate::source::Source;
use crate::source::chain::Chain;
use crate::source::csv::{COLUMNS_MAX, ColumnFrom};

/// A table and the files that fill it.
pub(super) struct LoadTable {
    name: String,
    pub(super) files: Vec<LoadFile>,
    /// The schema declares it.
    declared: bool,
    /// The columns that no schema declares, in the table's order.
    made: Vec<Made>,
    /// The evidence for types is that of all values.
    settled: bool,
    /// Whether its rows come in the order of their rowids.
    pub(super) order: Order,
}

/// A column that is made for the files.
struct Made {
    name: String,
    /// Its type, when the user gives it.
    given: Option<String>,
    evidence: Evidence,
}

impl Made {
    fn declared_type(&self) -> &str {
        self.given.as_deref().unwrap_or(self.evidence.conclude().name())
    }

    /// Whether the user's own declaration says NOT NULL.
    fn is_not_null(&self) -> bool {
        let declared = self.declared_type();
        let tokens = token::tokens(declared);
        tokens.windows(2).any(|pair| pair[0].is_word(declared, "NOT") && pair[1].is_word(declared, "NULL"))
    }
}

/// Gives every file its table.
pub(super) fn assign(load: &Load, files: Vec<LoadFile>) -> Result<Vec<LoadTable>> {
    let mut tables: Vec<LoadTable> = Vec::new();
    for file in files {
        let name = file.table.clone();
        match tables.iter_mut().find(|table| table.name.eq_ignore_ascii_case(&name)) {
            Some(table) if load.table.is_some() => table.files.push(file),
            Some(table) => {
                let message =
                    format!("{} and {} would both make table {name}", table.files[0].name(), file.name());
                return Err(Error::usage(message).hint("--table NAME loads all files into one table"));
            }
            None => tables.push(LoadTable {
                name,
                files: vec![file],
                declared: load.schema.is_some(),
                made: Vec::new(),
                settled: false,
                order: Order::Ascending,
            }),
        }
    }
    for table in &mut tables {
        table.make_columns(load)?;
    }
    check_names(load, &tables)?;
    if let Some(bare) = tables.iter().find(|table| !table.declared && table.made.is_empty()) {
        let file = &bare.files[0];
        let names: Vec<&str> = file.names.iter().map(String::as_str).collect();
        let error = Error::usage(format!("--columns names no column of {}", file.name()));
        return Err(error.hint(format!("there are: {}", listed(&names))));
    }
    keys::check_columns(load, &tables)?;
    Ok(tables)
}

/// Every column that the user names must be there.
fn check_names(load: &Load, tables: &[LoadTable]) -> Result<()> {
    let in_files = |name: &str| {
        let files = tables.iter().flat_map(|table| &table.files);
        files.flat_map(|file| &file.names).any(|found| found.eq_ignore_ascii_case(name))
    };
    let typed = load.types.iter().map(|(name, _)| ("--type", name));
    let selected = load.columns.iter().flatten().map(|name| ("--columns", name));
    for (flag, name) in typed.chain(selected) {
        if !in_files(name) {
            let names: Vec<&str> = tables[0].files[0].names.iter().map(String::as_str).collect();
            return Err(Error::usage(format!("{flag} names the column {name:?}, which no file has"))
                .hint(format!("there are: {}", listed(&names))));
        }
    }
    Ok(())
}

/// The schema of the new database: what the user declares, and the columns that are made for the files.
pub(super) fn declare(load: &Load, tables: &[LoadTable]) -> Result<Schema> {
    let (mut sql, file) = match &load.schema {
        Some(schema) if load.indexes.is_empty() && tables.iter().all(|table| table.made.is_empty()) => {
            return Ok(schema.clone());
        }
        Some(schema) => (ended(&schema.sql), schema.file.as_path()),
        None => (String::new(), Path::new("")),
    };
    for table in tables {
        sql += &table.ddl(load);
    }
    sql += &keys::statements(load, tables)?;
    Schema::parse(sql, file).map_err(of_made_sql)
}

/// SQL that more can follow: its last statement and its last comment may lack their ends.
fn ended(sql: &str) -> String {
    let open = token::tokens(sql).last().is_some_and(|last| {
        let text = &sql[last.at.clone()];
        text.starts_with("/*") && !(text.len() >= 4 && text.ends_with("*/"))
    });
    format!("{sql}{}\n;\n", if open { "*/" } else { "" })
}

/// Names for a hint: not all two thousand.
pub(super) fn listed(names: &[&str]) -> String {
    const NAMES_MAX: usize = 20;
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl LoadTable {
    /// Finds the columns that must be made.
    fn make_columns(&mut self, load: &Load) -> Result<()> {
        let declared = match &load.schema {
            Some(schema) => Some(schema.table(&self.name).ok_or_else(|| not_declared(schema, &self.name))?),
            None => None,
        };
        for (index, file) in self.files.iter().enumerate() {
            if file.is_by_position(load) {
                continue;
            }
            for (field, name) in file.names.iter().enumerate() {
                if !file.selects(load, name) || declared.is_some_and(|table| table.column(name).is_some()) {
                    continue;
                }
                let made = self.made.iter_mut().find(|made| made.name.eq_ignore_ascii_case(name));
                match made {
                    Some(made) => made.evidence.merge(file.evidence[field]),
                    None if load.add_columns || (declared.is_none() && index == 0) => {
                        let mut types = load.types.iter().rev();
                        let given = types.find(|(column, _)| column.eq_ignore_ascii_case(name));
                        self.made.push(Made {
                            name: name.clone(),
                            given: given.map(|(_, declared)| declared.clone()),
                            evidence: file.evidence[field],
                        });
                    }
                    None => return Err(self.unknown_column(declared, file, field)),
                }
            }
        }
        let columns = self.made.len() + declared.map_or(0, |table| table.columns.len());
        if columns > COLUMNS_MAX {
            let message = format!(
                "table {} would have {columns} columns, and a table of SQLite has at most {COLUMNS_MAX}",
                self.name
            );
            return Err(Error::input(message).hint("--columns names those to load"));
        }
        if let (Some(order), None) = (&load.columns, declared) {
            let place = |made: &Made| order.iter().position(|name| name.eq_ignore_ascii_case(&made.name));
            self.made.sort_by_key(place);
        }
        Ok(())
    }

    fn unknown_column(&self, declared: Option<&Table>, file: &LoadFile, field: usize) -> Error {
        let name = &file.names[field];
        let columns: Vec<&str> = match declared {
            Some(table) => table.columns.iter().map(|column| column.name.as_str()).collect(),
            None => self.made.iter().map(|made| made.name.as_str()).collect(),
        };
        let error = Error::input(format!("table {} has no column {name:?}", self.name)).hint(format!(
            "its columns are {}; --add-columns adds what is missing, --columns names those to load",
            listed(&columns)
        ));
        match file.place_of(field) {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// What declares the made columns.
    fn ddl(&self, load: &Load) -> String {
        let table = quoted(&self.name);
        let declared = |made: &Made| format!("{} {}", quoted(&made.name), made.declared_type());
        if self.declared {
            let columns = self.made.iter().map(declared);
            return columns.map(|column| format!("ALTER TABLE {table} ADD COLUMN {column};\n")).collect();
        }
        let key = self.primary_key(load);
        // Alone, it is another name for the rowid.
        let integer = |made: &Made| made.declared_type().eq_ignore_ascii_case("INTEGER");
        let is_rowid = !load.without_rowid && matches!(key[..], [one] if integer(one));
        let in_key = |made: &Made| key.iter().any(|column| column.name == made.name);
        let mut lines: Vec<String> = Vec::new();
        for made in &self.made {
            let more = match in_key(made) {
                true if is_rowid => " PRIMARY KEY",
                true if !made.is_not_null() => " NOT NULL",
                _ => "",
            };
            lines.push(format!("  {}{more}", declared(made)));
        }
        if !key.is_empty() && !is_rowid {
            let columns: Vec<String> = key.iter().map(|column| quoted(&column.name)).collect();
            lines.push(format!("  PRIMARY KEY ({})", columns.join(", ")));
        }
        let without_rowid = load.without_rowid && !key.is_empty();
        let options = [("STRICT", load.strict), ("WITHOUT ROWID", without_rowid)];
        let options: Vec<&str> = options.iter().filter(|(_, is)| *is).map(|(option, _)| *option).collect();
        let options = if options.is_empty() { String::new() } else { format!(" {}", options.join(", ")) };
        format!("CREATE TABLE {table} (\n{}\n){options};\n", lines.join(",\n"))
    }

    /// The columns that the user makes its key, if it has them all.
    fn primary_key(&self, load: &Load) -> Vec<&Made> {
        let made = |name: &String| self.made.iter().find(|made| made.name.eq_ignore_ascii_case(name));
        load.primary_key.iter().map(made).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The names of its columns.
    pub(super) fn column_names<'a>(&'a self, load: &'a Load) -> Vec<&'a str> {
        let declared = load.schema.as_ref().and_then(|schema| schema.table(&self.name));
        let declared = declared.iter().flat_map(|table| &table.columns).map(|column| column.name.as_str());
        declared.chain(self.made.iter().map(|made| made.name.as_str())).collect()
    }

    /// Whether it has columns of all these names.
    pub(super) fn has_all(&self, load: &Load, names: &[&str]) -> bool {
        let columns = self.column_names(load);
        names.iter().all(|name| columns.iter().any(|column| column.eq_ignore_ascii_case(name)))
    }

    /// A column's name as the table has it.
    pub(super) fn spelled<'a>(&'a self, load: &'a Load, name: &'a str) -> &'a str {
        let mut columns = self.column_names(load).into_iter();
        columns.find(|column| column.eq_ignore_ascii_case(name)).unwrap_or(name)
    }

    /// Bytes of its files, when that is known of all.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.files.iter().map(LoadFile::bytes).try_fold(0, |sum, bytes| Some(sum + bytes?))
    }

    /// Whether no value can change the types any more.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
            || self.made.iter().all(|made| made.given.is_some() || made.evidence.is_final())
            || self.files.iter().all(|file| file.seen)
    }

    pub(super) fn index_in(&self, schema: &Schema) -> usize {
        schema_index(schema, &self.name)
    }

    /// The columns whose type follows from their values.
    fn inferred<'a>(&'a self, schema: &'a Schema) -> impl Iterator<Item = (usize, &'a Made)> {
        let table = &schema.tables[self.index_in(schema)];
        let made = self.made.iter().filter(|made| made.given.is_none());
        made.map(|made| (table.column(&made.name).expect("it is declared"), made))
    }

    pub(super) fn inferred_columns(&self, schema: &Schema) -> Vec<usize> {
        self.inferred(schema).map(|(column, _)| column).collect()
    }

    pub(super) fn watched(&self, schema: &Schema) -> Vec<Watched> {
        let watched = self.inferred(schema).map(|(column, made)| Watched {
            column,
            guess: made.evidence.conclude(),
            evidence: made.evidence,
        });
        watched.collect()
    }

    /// Takes the evidence of all values for the inferred columns.
    pub(super) fn settle(&mut self, evidence: &[Evidence]) {
        let made = self.made.iter_mut().filter(|made| made.given.is_none());
        made.zip(evidence).for_each(|(made, evidence)| made.evidence = *evidence);
        self.settled = true;
    }

    /// The rows of all files. Each is opened when the one before it has been read.
    pub(super) fn source<'a>(&'a mut self, load: &Load, schema: &Schema) -> Result<Box<dyn Source + 'a>> {
        let table = &schema.tables[self.index_in(schema)];
        let maps: Vec<Vec<ColumnFrom>> =
            self.files.iter().map(|file| file.map(table, load)).collect::<Result<_>>()?;
        let mut files = self.files.iter_mut().zip(maps);
        let open = move |rows| files.next().map(|(file, map)| file.source(map, rows));
        Ok(Box::new(Chain::new(open, load.limit, None)))
    }

    /// The rows of the sample of its first file.
    pub(super) fn sample_source<'a>(
        &'a mut self,
        load: &Load,
        schema: &Schema,
    ) -> Result<Box<dyn Source + 'a>> {
        let file = &mut self.files[0];
        let map = file.map(&schema.tables[schema_index(schema, &self.name)], load)?;
        let mut opens = Some((file, map));
        let open = move |_| opens.take().map(|(file, map)| file.sample_source(map));
        Ok(Box::new(Chain::new(open, None, None)))
    }

    /// How many times more rows there are than in the sample of its first file, where that can be told.
    pub(super) fn scale(&self, load: &Load) -> Option<f64> {
        let text_bytes =
            self.files.iter().map(|file| file.text_bytes).try_fold(0, |sum, bytes| Some(sum + bytes?))?;
        let LoadFile { sample_text_bytes, sample_rows, .. } = self.files[0];
        let by_text = text_bytes as f64 / sample_text_bytes.max(1) as f64;
        let by_limit = load.limit.map_or(f64::INFINITY, |limit| limit as f64 / sample_rows.max(1) as f64);
        Some(by_text.min(by_limit).max(1.0))
    }
}

fn schema_index(schema: &Schema, name: &str) -> usize {
    let found = schema.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name));
    found.expect("the schema declares every table that is loaded")
}

fn not_declared(schema: &Schema, name: &str) -> Error {
    let names: Vec<&str> = schema.tables.iter().map(|table| table.name.as_str()).collect();
    if names.is_empty() {
        return Error::input("the schema declares no table").at(Place::file(&schema.file));
    }
    let message = format!("{} declares no table {name}", schema.file.display());
    Error::usage(message).hint(format!("--table names one of: {}", listed(&names)))
}
