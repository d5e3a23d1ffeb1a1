//! Converts generated rows to values of rusqlite, and inserts them into a database.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::Result;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::source::Source;

fn given(table: &Table) -> Vec<usize> {
    (0..table.columns.len()).filter(|&column| table.columns[column].generated.is_none()).collect()
}

/// Inserts rows into a table, except those that repeat a unique value.
pub(super) fn insert(connection: &Connection, table: &Table, rows: Vec<Vec<Sql>>) -> rusqlite::Result<()> {
    let names: Vec<String> = given(table).iter().map(|&column| quoted(&table.columns[column].name)).collect();
    let (name, places) = (quoted(&table.name), vec!["?"; names.len()].join(", "));
    let sql = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({places})", names.join(", "));
    let mut insert = connection.prepare(&sql)?;
    rows.into_iter().try_for_each(|row| insert.execute(params_from_iter(row)).map(|_| ()))
}

/// Reads all rows of a source. A row has the columns that can be inserted: those that SQLite does not compute.
pub(super) fn rows(mut source: impl Source, table: &Table) -> Result<Vec<Vec<Sql>>> {
    let given = given(table);
    let mut rows = Vec::new();
    while let Some(mut part) = source.next_part()? {
        part.decode(&mut |batch: &Batch<'_>| {
            for row in 0..batch.rows {
                rows.push(given.iter().map(|&column| owned(batch.columns[column].get(row))).collect());
            }
            Ok(())
        })?;
    }
    Ok(rows)
}

/// Converts a value to a rusqlite value that owns its bytes.
pub(super) fn owned(value: Value<'_>) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Int(int) => Sql::Integer(int),
        Value::Real(real) => Sql::Real(real),
        Value::Text(text) => Sql::Text(String::from_utf8_lossy(text).into_owned()),
        Value::Blob(blob) => Sql::Blob(blob.to_vec()),
    }
}
