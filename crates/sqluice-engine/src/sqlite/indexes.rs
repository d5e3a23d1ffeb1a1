//! Creates indexes whose entries only SQLite can compute: partial indexes, and indexes on expressions and generated columns.
//!
//! If rows have the same unique key, SQLite's error does not name the rows. A query finds the rows, with the expressions and the WHERE of
//! the index's statement, which the catalogue does not list.

use rusqlite::{Connection, ErrorCode};
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::token::{self, Token, enclosed};
use sqluice_core::schema::{Table, quoted};
use sqluice_core::sqlite_error::{failed, said};

use super::names::{RowNames, in_line, in_main, rowid_is_record, values};
use crate::options::WritePath;
use crate::plan::{IndexPlan, TablePlan};

/// Returns the indexes of a table that SQLite must make. Automatic indexes of a table that SQLite fills already have their entries.
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

/// Creates the indexes. Automatic indexes already exist, but are empty.
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

/// The terms of an index, in SQL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// The columns and expressions of the key.
    pub(super) key: Vec<String>,
    /// The WHERE of a partial index.
    pub(super) filter: Option<String>,
}

/// Returns the terms of an index, or `None` if its statement can't be parsed.
pub(super) fn terms(index: &Index, table: &Table) -> Option<Terms> {
    let (said, filter) = match &index.sql {
        Some(sql) => said_of(sql)?,
        None => (Vec::new(), None),
    };
    let key = index.columns[..index.key_columns].iter().enumerate().map(|(at, column)| match column.value {
        Indexed::Column(column) => Some(quoted(&table.columns[column].name)),
        Indexed::Rowid => table.rowid_name().map(str::to_owned),
        Indexed::Expression => said.get(at).cloned(),
    });
    Some(Terms { key: key.collect::<Option<Vec<_>>>()?, filter })
}

/// Parses a CREATE INDEX: its terms without the order, and its WHERE.
fn said_of(sql: &str) -> Option<(Vec<String>, Option<String>)> {
    let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let on = tokens.iter().position(|token| token.is_word(sql, "ON"))?;
    let open = on + tokens[on..].iter().position(|token| token.is_symbol(sql, "("))?;
    let list = enclosed(sql, &tokens[open..])?;
    let start = tokens[open].at.end;
    let close = tokens.iter().position(|token| token.at.start == start + list.len())?;
    let filter = tokens[close + 1..].first().filter(|token| token.is_word(sql, "WHERE"));
    let filter = filter.map(|token| sql[token.at.end..].to_owned());
    Some((split(sql, &tokens[open + 1..close]), filter))
}

/// Splits a list into terms, without ASC, DESC and NULLS FIRST.
fn split(sql: &str, tokens: &[Token]) -> Vec<String> {
    let mut depth = 0;
    let terms = tokens.split(|token| {
        depth += i32::from(token.is_symbol(sql, "(")) - i32::from(token.is_symbol(sql, ")"));
        depth == 0 && token.is_symbol(sql, ",")
    });
    let term = |mut tokens: &[Token]| {
        while let [rest @ .., last] = tokens
            && !rest.is_empty()
            && ["ASC", "DESC", "NULLS", "FIRST", "LAST"].iter().any(|word| last.is_word(sql, word))
        {
            tokens = rest;
        }
        match tokens {
            [first, .., last] => sql[first.at.start..last.at.end].to_owned(),
            [only] => only.text(sql).to_owned(),
            [] => String::new(),
        }
    };
    terms.map(term).collect()
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
    // An automatic index may still be empty and would hide all rows: hence NOT INDEXED.
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
