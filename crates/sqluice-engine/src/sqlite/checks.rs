//! Checks CHECK constraints, and NOT NULL of VIRTUAL columns, by a query over the rows of a table.
//!
//! SQLite's catalogue does not list the CHECKs of a table, so their expressions are found in the tokens. CHECK is a reserved word: if the
//! bare word precedes a parenthesis, the parenthesis contains a constraint.
//!
//! * SQLite evaluates `a IS NULL` as false if `a` is declared NOT NULL, so the query compares the type.
//! * A row passes when the expression is NULL.
//! * The expression may end with a comment, so a line break follows it.

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::token::{self, TokenKind};
use sqluice_core::schema::{Generated, Table, quoted};
use sqluice_core::sqlite_error::failed;

use super::names::{RowNames, in_line, in_main, rowid_is_record, values};

/// The largest number of constraints of a query, as SQLite limits the depth of expressions.
const TOGETHER: usize = 50;

/// The largest number of rows in a message.
const ROWS_MAX: usize = 3;

/// A constraint on the values of one row.
struct Constraint {
    /// The constraint for messages: `CHECK (a > 0)`.
    text: String,
    /// SQL that is true for rows that violate the constraint.
    broken: String,
    /// The columns that the constraint names.
    columns: Vec<usize>,
}

/// Returns `true` if the table has constraints to check.
pub(super) fn any(table: &Table) -> bool {
    !constraints(table).is_empty()
}

/// Checks that all rows of a table keep its constraints.
pub(super) fn check(connection: &Connection, table: &Table) -> Result<()> {
    for constraints in constraints(table).chunks(TOGETHER) {
        if let Some(error) = broken(connection, table, constraints)
            .map_err(|error| failed(error, &format!("check the constraints of table {}", table.name)))?
        {
            return Err(error);
        }
    }
    Ok(())
}

fn constraints(table: &Table) -> Vec<Constraint> {
    let not_null = table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.generated == Some(Generated::Virtual) && column.not_null);
    let not_null = not_null.map(|(index, column)| Constraint {
        text: format!("NOT NULL of column {}", column.name),
        broken: format!("typeof({}) = 'null'", quoted(&column.name)),
        columns: vec![index],
    });
    let checks = token::checks(&table.sql).into_iter().map(|expression| Constraint {
        text: format!("CHECK ({})", in_line(expression)),
        broken: format!("NOT ({expression}\n)"),
        columns: columns_in(expression, table),
    });
    not_null.chain(checks).collect()
}

/// Returns the columns that an expression names, each once.
fn columns_in(expression: &str, table: &Table) -> Vec<usize> {
    let mut columns = Vec::new();
    for token in token::tokens(expression) {
        let named = match token.kind {
            TokenKind::Word | TokenKind::QuotedName => token.name(expression),
            _ => None,
        };
        match named.and_then(|name| table.column(&name)) {
            Some(column) if !columns.contains(&column) => columns.push(column),
            _ => {}
        }
    }
    columns
}

/// Returns the error for the first rows that violate some of the constraints, if any.
fn broken(
    connection: &Connection,
    table: &Table,
    constraints: &[Constraint],
) -> rusqlite::Result<Option<Error>> {
    let any: Vec<&str> = constraints.iter().map(|constraint| constraint.broken.as_str()).collect();
    // The rows are read in the order of the table, so the first violating rows are reported.
    let from = format!("FROM {} NOT INDEXED WHERE {}", in_main(table), any.join(" OR "));
    let names = RowNames::of(table);
    let mut selected = names.columns.clone();
    selected.extend(any.iter().map(|broken| format!("({broken}) IS TRUE")));
    let mut statement =
        connection.prepare(&format!("SELECT {} {from} LIMIT {ROWS_MAX}", selected.join(", ")))?;
    let mut rows = statement.query([])?;
    let mut failing = Vec::new();
    let mut record = None;
    while let Some(row) = rows.next()? {
        if record.is_none() && rowid_is_record(table) {
            record = Some(row.get::<_, i64>(0)?.cast_unsigned());
        }
        let mut at = names.columns.len();
        while !row.get::<_, bool>(at)? && at + 1 < selected.len() {
            at += 1;
        }
        failing.push((names.describe(row, 0)?, at - names.columns.len()));
    }
    drop(rows);
    drop(statement);
    if failing.is_empty() {
        return Ok(None);
    }
    let count: i64 = connection.query_row(&format!("SELECT count(*) {from}"), [], |row| row.get(0))?;
    let mut messages = Vec::new();
    for ((row, constraint), skip) in failing.iter().zip(0..) {
        let Constraint { text, columns, .. } = &constraints[*constraint];
        let values = values_of(connection, table, columns, &format!("{from} LIMIT 1 OFFSET {skip}"))?;
        messages.push(format!("row {row}: {text} fails{values}"));
    }
    let first = messages.remove(0);
    let hint = match count {
        1 => "it is the only such row".to_owned(),
        _ if messages.is_empty() => format!("{count} such rows"),
        _ => format!("{count} such rows; next: {}", messages.join("; ")),
    };
    let error = Error::input(format!("table {}, {first}", table.name)).hint(hint);
    Ok(Some(match record {
        Some(record) => error.of_record(&table.name, record),
        None => error,
    }))
}

/// Formats the values of some columns of the one row that `from` selects: `, a = 1, b = 2`.
fn values_of(
    connection: &Connection,
    table: &Table,
    columns: &[usize],
    from: &str,
) -> rusqlite::Result<String> {
    if columns.is_empty() {
        return Ok(String::new());
    }
    let names: Vec<&str> = columns.iter().map(|&column| table.columns[column].name.as_str()).collect();
    let selected: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    connection.query_row(&format!("SELECT {} {from}", selected.join(", ")), [], |row| {
        Ok(format!(", {}", values(row, 0, &names)?))
    })
}
