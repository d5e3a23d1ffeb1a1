//! Creates the indexes that only SQLite can make: those whose order or expressions the engine can't compute, and those of tables that
//! SQLite fills.
//!
//! If rows have the same unique key, SQLite's error does not name the rows. A query finds the rows, with the expressions and the WHERE of
//! the index's statement, which no PRAGMA lists.

use rusqlite::{Connection, ErrorCode};
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::index::Index;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::sqlite_error::{failed, said};

use super::names::{RowNames, in_main, rowid_is_record, values};
use crate::expressions::{Terms, in_line, terms};
use crate::options::WritePath;
use crate::plan::{IndexPlan, TablePlan};

/// Returns the indexes of a table that SQLite must make, of those that `which` selects. If SQLite fills the table, its automatic indexes
/// already have their entries.
pub(super) fn to_make<'a>(
    table: &'a Table,
    plan: &'a TablePlan,
    which: &'a dyn Fn(&Index) -> bool,
) -> impl Iterator<Item = (&'a Index, &'a IndexPlan)> {
    let to_make = move |(index, of_index): &(&Index, &IndexPlan)| {
        let filled = plan.write_path == WritePath::Sqlite && index.sql.is_none();
        of_index.write_path == WritePath::Sqlite && !filled && which(index)
    };
    table.indexes.iter().zip(&plan.indexes).filter(to_make)
}

/// Creates the indexes that SQLite must make. Automatic indexes exist already, but are empty, so REINDEX fills them.
pub(super) fn make(
    connection: &Connection,
    table: &Table,
    plan: &TablePlan,
    which: impl Fn(&Index) -> bool,
) -> Result<()> {
    for (index, _) in to_make(table, plan, &which) {
        let made = match &index.sql {
            Some(sql) => connection.execute_batch(sql),
            None => connection.execute_batch(&format!("REINDEX main.{}", quoted(&index.name))),
        };
        made.map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => twice(connection, table, index, error),
            _ => failed(error, &format!("make index {}", index.name)),
        })?;
    }
    Ok(())
}

/// Returns the error for a key that two rows have.
fn twice(connection: &Connection, table: &Table, index: &Index, error: rusqlite::Error) -> Error {
    let found = terms(index, table).map(|terms| find_twice(connection, table, index, &terms));
    match found {
        Some(Ok(found)) => found,
        _ => Error::input(format!("table {}: {}", table.name, said(error))),
    }
}

/// Finds the first row with the key of an earlier row.
fn find_twice(
    connection: &Connection,
    table: &Table,
    index: &Index,
    terms: &Terms,
) -> rusqlite::Result<Error> {
    let rows = RowNames::of(table);
    let count = rows.columns.len();
    // The names must differ from all columns, as an expression may name any column.
    let row_names: Vec<String> = (0..count).map(|at| format!("\"sqluice row {at}\"")).collect();
    let key_names: Vec<String> = (0..terms.key.len()).map(|at| format!("\"sqluice key {at}\"")).collect();
    let as_names = |columns: &[String], names: &[String]| {
        let columns = columns.iter().zip(names).map(|(column, name)| format!("({column}\n) AS {name}"));
        columns.collect::<Vec<_>>()
    };
    let collated = key_names
        .iter()
        .zip(&index.columns)
        .map(|(name, column)| format!("{name} COLLATE {}", quoted(&column.collation)));
    let known: Vec<String> = key_names.iter().map(|name| format!("{name} IS NOT NULL")).collect();
    let first = row_names.iter().map(|name| format!("first_value({name}) OVER same"));
    let columns: Vec<String> =
        first.chain(row_names.iter().cloned()).chain(key_names.iter().cloned()).collect();
    let mut inner = as_names(&rows.columns, &row_names);
    inner.extend(as_names(&terms.key, &key_names));
    let order = row_names.join(", ");
    // NOT INDEXED: the index of a UNIQUE or PRIMARY KEY (`sqlite_autoindex_…`) exists, but may still be empty, and SQLite would find no
    // rows in it.
    let sql = format!(
        "SELECT * FROM (
           SELECT {}, row_number() OVER same AS \"sqluice number\" FROM (
             SELECT {} FROM {} NOT INDEXED WHERE {}\n) WHERE {}
           WINDOW same AS (PARTITION BY {} ORDER BY {order}))
         WHERE \"sqluice number\" > 1 ORDER BY {order} LIMIT 1",
        columns.join(", "),
        inner.join(", "),
        in_main(table),
        terms.filter.as_deref().unwrap_or("true"),
        known.join(" AND "),
        collated.collect::<Vec<_>>().join(", "),
    );
    let names: Vec<String> = terms.key.iter().map(|term| in_line(term)).collect();
    connection.query_row(&sql, [], |row| {
        let (first, this) = (rows.describe(row, 0)?, rows.describe(row, count)?);
        let values = values(row, 2 * count, &names)?;
        let message = format!(
            "table {}: rows {first} and {this} have the same key in unique index {}",
            table.name, index.name
        );
        let error = Error::input(message).hint(values);
        Ok(match rowid_is_record(table) {
            true => error.of_record(&table.name, row.get::<_, i64>(count)?.cast_unsigned()),
            false => error,
        })
    })
}
