//! Sample rows of each table as they will be stored, without a file.
//!
//! The rows are inserted into an in-memory SQLite database with the schema's own tables and read back, so affinities are applied and
//! generated columns have values.

use std::fmt;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use serde::Serialize;
use sqluice_core::batch::Value;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::{Schema, Table, quoted};

use super::spec::Spec;
use super::sqlite_rows::{insert, rows};

/// Sample rows of a table, as SQLite stores them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Preview {
    /// The name of the table.
    pub table: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<PreviewValue>>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PreviewValue {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A real.
    Real(f64),
    /// A text.
    Text(String),
    /// A blob, as an SQL literal.
    Blob(String),
}

impl Preview {
    /// Creates a preview of a table with these columns and rows.
    pub fn new(table: impl Into<String>, columns: Vec<String>, rows: Vec<Vec<PreviewValue>>) -> Preview {
        Preview { table: table.into(), columns, rows }
    }
}

impl From<Value<'_>> for PreviewValue {
    fn from(value: Value<'_>) -> PreviewValue {
        match value {
            Value::Null => PreviewValue::Null,
            Value::Int(int) => PreviewValue::Int(int),
            Value::Real(real) => PreviewValue::Real(real),
            Value::Text(text) => PreviewValue::Text(String::from_utf8_lossy(text).into_owned()),
            Value::Blob(blob) => {
                let digits: String = blob.iter().map(|byte| format!("{byte:02x}")).collect();
                PreviewValue::Blob(format!("x'{digits}'"))
            }
        }
    }
}

impl fmt::Display for PreviewValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PreviewValue::Null => f.write_str("NULL"),
            PreviewValue::Int(int) => int.fmt(f),
            PreviewValue::Real(real) => write!(f, "{real:?}"),
            PreviewValue::Text(text) | PreviewValue::Blob(text) => f.write_str(text),
        }
    }
}

fn failed(error: rusqlite::Error) -> Error {
    Error::input("SQLite rejects a generated row").because(error)
}

/// Generates sample rows. The slices have an entry for each table of the schema: its row count in `all`, and in `first` and `counts` the
/// first row and the number of rows to return. Rows that repeat a unique value are left out.
///
/// # Errors
/// When a row can't be generated, or SQLite rejects it.
pub fn preview(
    schema: &Schema,
    spec: &Spec,
    seed: u64,
    all: &[u64],
    first: &[u64],
    counts: &[u64],
) -> Result<Vec<Preview>> {
    let connection = Connection::open_in_memory().map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map_err(failed)?;
    // Constraints are off: rows that break them are shown here, and reported when the database is written.
    connection
        .execute_batch("PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0")
        .and_then(|()| connection.execute_batch(&schema.sql))
        .and_then(|()| connection.execute_batch("PRAGMA foreign_keys = 0"))
        .map_err(failed)?;
    let mut previews = Vec::new();
    for (index, (table, spec)) in schema.tables.iter().zip(&spec.tables).enumerate() {
        let source = spec.source_among(seed, all, first[index], counts[index])?;
        insert(&connection, table, rows(source, table)?).map_err(failed)?;
        let columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let rows = select(&connection, table, &columns).map_err(failed)?;
        previews.push(Preview { table: table.name.clone(), columns, rows });
    }
    Ok(previews)
}

fn select(
    connection: &Connection,
    table: &Table,
    columns: &[String],
) -> rusqlite::Result<Vec<Vec<PreviewValue>>> {
    let names = columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let mut select = connection.prepare(&format!("SELECT {names} FROM {}", quoted(&table.name)))?;
    let mut rows = select.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let value = |column| {
            Ok(PreviewValue::from(match row.get_ref(column)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(int) => Value::Int(int),
                ValueRef::Real(real) => Value::Real(real),
                ValueRef::Text(text) => Value::Text(text),
                ValueRef::Blob(blob) => Value::Blob(blob),
            }))
        };
        found.push((0..columns.len()).map(value).collect::<rusqlite::Result<_>>()?);
    }
    Ok(found)
}
