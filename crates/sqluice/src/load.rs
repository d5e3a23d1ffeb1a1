//! `load`: files into a new database.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::error::{Error, Result};
use crate::new_database;
use crate::pipeline::Job;
use crate::plan::{Plan, WriteOptions};
use crate::progress::{Cancel, Progress};
use crate::report::Report;
use crate::schema::{Column, Schema, token};
use crate::source::csv::{ColumnFrom, Constant, CsvOptions, CsvReader};
use crate::source::{NoRows, Source};

/// A CSV file that becomes a table of a new database.
#[derive(Clone, Debug)]
pub struct Load {
    /// The database, which must not exist unless it may be overwritten.
    pub target: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// The table; `None`: named after the file.
    pub table: Option<String>,
    /// What the database declares; `None`: the table, with a TEXT column for each column of the file.
    pub schema: Option<Schema>,
    /// An unquoted empty field is empty text; otherwise it is NULL.
    pub empty_as_text: bool,
    /// How to write.
    pub write: WriteOptions,
}

/// A load that knows its input.
pub struct PreparedLoad {
    plan: Plan,
    schema: Schema,
    table: usize,
    reader: CsvReader,
    columns: Vec<ColumnFrom>,
}

impl Load {
    /// Opens the file and decides what will be done. Nothing is written.
    ///
    /// # Errors
    /// When the file can't be read, or does not fit the schema.
    pub fn prepare(&self) -> Result<PreparedLoad> {
        let options = CsvOptions { empty_as_text: self.empty_as_text, ..CsvOptions::default() };
        let reader = CsvReader::open(&self.file, options)?;
        let name = match &self.table {
            Some(name) => name.clone(),
            None => table_name(&self.file)?,
        };
        let schema = match &self.schema {
            Some(schema) => schema.clone(),
            None => all_text(&name, reader.header(), &self.file)?,
        };
        let Some(table) = schema.tables.iter().position(|table| table.name.eq_ignore_ascii_case(&name))
        else {
            let names: Vec<&str> = schema.tables.iter().map(|table| table.name.as_str()).collect();
            let message = format!("{} declares no table {name}", schema.file.display());
            return Err(Error::usage(message).hint(format!("--table names one of: {}", names.join(", "))));
        };
        let names: Vec<&str> =
            schema.tables[table].columns.iter().map(|column| column.name.as_str()).collect();
        let columns = reader.map_by_name(&names, |column| {
            let rowid = schema.tables[table].rowid_alias == Some(column);
            if rowid { Ok(Constant::Null) } else { default(&schema.tables[table].columns[column]) }
        })?;
        let mut plan = Plan::new(&schema, Some(self.target.clone()), &self.write)?;
        plan.tables[table].source = self.file.display().to_string();
        Ok(PreparedLoad { plan, schema, table, reader, columns })
    }
}

impl PreparedLoad {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Does it.
    ///
    /// # Errors
    /// When the input is malformed or the database can't be written: there is none, then.
    pub fn run(self, progress: &dyn Progress, cancel: &Cancel) -> Result<Report> {
        let csv = self.reader.into_source(self.columns);
        progress.phase("load", csv.total());
        let mut csv = Some(csv);
        let jobs = self.schema.tables.iter().enumerate().map(|(index, table)| {
            let source: Box<dyn Source> = match csv.take_if(|_| index == self.table) {
                Some(csv) => Box::new(csv),
                None => Box::new(NoRows),
            };
            Job { table, source }
        });
        new_database::write(&self.plan, &self.schema, jobs.collect(), progress, cancel)
    }
}

/// The name of a table after a file: without folder and extension.
fn table_name(file: &Path) -> Result<String> {
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some(stem) if !stem.is_empty() && !stem.contains('\0') => Ok(stem.to_owned()),
        _ => Err(Error::usage(format!("no table can be named after {}", file.display()))
            .hint("name it: --table NAME")),
    }
}

/// A schema with one table whose columns are all TEXT.
fn all_text(table: &str, columns: &[String], file: &Path) -> Result<Schema> {
    let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let columns: Vec<String> = columns.iter().map(|name| format!("  {} TEXT", quote(name))).collect();
    Schema::parse(format!("CREATE TABLE {} (\n{}\n);\n", quote(table), columns.join(",\n")), file)
}

/// The value of a column that the file does not have.
fn default(column: &Column) -> Result<Constant> {
    let Some(sql) = &column.default else { return Ok(Constant::Null) };
    let refuse = || {
        Error::input(format!("the file has no column {}, and its DEFAULT {sql} is no constant", column.name))
            .hint("add the column to the file, or declare another DEFAULT")
    };
    if !is_literal(sql) {
        return Err(refuse());
    }
    let evaluated = Connection::open_in_memory().and_then(|connection| {
        connection.query_row(&format!("SELECT {sql}"), [], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Null => Constant::Null,
                ValueRef::Integer(int) => Constant::Int(int),
                ValueRef::Real(real) => Constant::Real(real),
                ValueRef::Text(text) => Constant::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(blob) => Constant::Blob(blob.to_vec()),
            })
        })
    });
    evaluated.map_err(|error| refuse().because(error))
}

/// Whether SQL text is a literal: a number with or without a sign, a string, a blob, NULL, TRUE or FALSE. A DEFAULT may
/// also be a bare word, which SQLite takes for a string, and CURRENT_TIME and its like, which are none.
fn is_literal(sql: &str) -> bool {
    use token::TokenKind::{Number, String};
    let tokens = token::tokens(sql);
    let tokens: Vec<_> = tokens.iter().filter(|token| !token.is_comment()).collect();
    match tokens[..] {
        [one] if matches!(one.kind, Number | String) => true,
        [one] => ["NULL", "TRUE", "FALSE"].iter().any(|word| one.is_word(sql, word)),
        [sign, number] => number.kind == Number && (sign.is_symbol(sql, "-") || sign.is_symbol(sql, "+")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_from_expressions() {
        for literal in ["1", "-1.5e3", "+2", "'a''b'", "x'00'", "NULL", "true", "0x10"] {
            assert!(is_literal(literal), "{literal}");
        }
        for expression in ["CURRENT_TIMESTAMP", "random()", "1+1", "(1)", "\"name\"", "- - 1", ""] {
            assert!(!is_literal(expression), "{expression}");
        }
    }

    #[test]
    fn tables_are_named_after_files() {
        assert_eq!(table_name(Path::new("data/air ports.csv")).unwrap(), "air ports");
        assert_eq!(table_name(Path::new("x.tar.csv")).unwrap(), "x.tar");
        assert!(table_name(Path::new("..")).is_err());
    }
}
