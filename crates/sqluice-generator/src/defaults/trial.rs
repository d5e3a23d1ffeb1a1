//! Lets SQLite test if the values of an expression satisfy the CHECK constraints: some random values, and the first and the last value
//! that the expression can have, or all if these are few.

use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::token::{TokenKind, checks, tokens};
use sqluice_core::schema::{Table, quoted};

use crate::functions::compile;
use crate::generator::{Generate, Scope, World};
use crate::parse::parse;
use crate::random::Key;
use crate::sqlite_rows::{insert, owned, rows};
use crate::table_spec::TableSpec;
use crate::vector::{RowRange, Vector};

/// The number of random rows or values that are tested.
const ROWS: usize = 500;

/// The maximum number of possible values up to which all of them are tested.
const VALUES_MAX: u64 = 500;

/// An in-memory table without constraints, and its CHECKs.
pub(super) struct Trial {
    connection: Connection,
    insert: Vec<String>,
    /// The CHECKs, each with the columns that it names.
    checks: Vec<(String, Vec<usize>)>,
}

fn failed(error: rusqlite::Error) -> Error {
    Error::input("SQLite can't test the CHECK constraints of a table").because(error)
}

impl Trial {
    pub(super) fn new(table: &Table) -> Result<Trial> {
        let declared = |column: &sqluice_core::schema::Column| {
            format!("{} {}", quoted(&column.name), column.declared_type)
        };
        let columns: Vec<String> = table.columns.iter().map(declared).collect();
        let connection = Connection::open_in_memory().map_err(failed)?;
        connection.execute_batch(&format!("CREATE TABLE trial ({})", columns.join(", "))).map_err(failed)?;
        let insert = |column: &sqluice_core::schema::Column| {
            format!("INSERT INTO trial ({}) VALUES (?)", quoted(&column.name))
        };
        let checks = checks(&table.sql).into_iter().map(|check| (check.to_owned(), columns_in(check, table)));
        Ok(Trial { connection, insert: table.columns.iter().map(insert).collect(), checks: checks.collect() })
    }

    /// Returns `true` if the values of an expression satisfy the CHECKs that name only this column. An expression that names other columns
    /// is accepted without a test: [`broken_checks`] tests whole rows.
    pub(super) fn keeps(&self, column: usize, expression: &str) -> Result<bool> {
        let alone: Vec<&str> = self
            .checks
            .iter()
            .filter(|(_, columns)| columns[..] == [column])
            .map(|(check, _)| &check[..])
            .collect();
        if alone.is_empty() {
            return Ok(true);
        }
        let Ok(generator) = parse(expression, 0).and_then(|expr| compile(&expr)) else {
            // An expression that names columns (in backquotes) does not compile outside of its table, and is accepted.
            return Ok(expression.contains('`'));
        };
        let values = values(&*generator)?;
        let kept = || {
            self.connection.execute_batch("BEGIN")?;
            let mut insert = self.connection.prepare_cached(&self.insert[column])?;
            for value in &values {
                insert.execute([value])?;
            }
            let mut broken = false;
            for check in alone {
                let sql = format!("SELECT EXISTS (SELECT 1 FROM trial WHERE NOT ({check}\n))");
                // An error in the evaluation of the CHECK counts as broken: SQLite would reject such a value.
                broken |= self.connection.query_row(&sql, [], |row| row.get(0)).unwrap_or(true);
            }
            self.connection.execute_batch("ROLLBACK")?;
            Ok(!broken)
        };
        kept().map_err(failed)
    }
}

/// Returns some values of a generator, including the ends of its domain.
fn values(generator: &dyn Generate) -> Result<Vec<Sql>> {
    let world = World::new(1, Vec::new());
    let at = Scope::new(Key::of_column(1, "trial", "trial"), &world);
    let mut vector = Vector::default();
    generator.fill(at, RowRange { first: 0, count: ROWS }, &mut vector)?;
    let mut values: Vec<Sql> = (0..ROWS).map(|row| owned(vector.get(row))).collect();
    if let Some(domain) = generator.domain() {
        let count = domain.count(&world)?;
        let numbers: Vec<u64> = if count <= VALUES_MAX { (0..count).collect() } else { vec![0, count - 1] };
        domain.nth(at, &numbers, &mut vector)?;
        values.extend((0..numbers.len()).map(|index| owned(vector.get(index))));
    }
    Ok(values)
}

/// Returns the columns that an expression names, without duplicates.
fn columns_in(expression: &str, table: &Table) -> Vec<usize> {
    let mut columns = Vec::new();
    for token in tokens(expression) {
        let name = match token.kind {
            TokenKind::Word | TokenKind::QuotedName => token.name(expression),
            _ => None,
        };
        match name.and_then(|name| table.column(&name)) {
            Some(column) if !columns.contains(&column) => columns.push(column),
            _ => {}
        }
    }
    columns
}

/// Returns the CHECKs that some of the first rows of a table break. `all` has the row count of each table.
pub(crate) fn broken_checks(table: &Table, spec: &TableSpec, all: &[u64]) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    if !table.checks {
        return Ok(broken);
    }
    let most = spec.rows_max(1, all)?.map_or(ROWS as u64, |most| most.min(ROWS as u64));
    // If the rows can't be generated, the run reports the error.
    let Ok(rows) = spec.source_among(1, all, 0, most).and_then(|source| rows(source, table)) else {
        return Ok(broken);
    };
    let connection = Connection::open_in_memory().map_err(failed)?;
    connection
        .execute_batch("PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0")
        .and_then(|()| connection.execute_batch(&table.sql))
        .map_err(failed)?;
    let name = quoted(&table.name);
    // If SQLite rejects a value, the run reports the error.
    let _ = insert(&connection, table, rows);
    for check in checks(&table.sql) {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {name} WHERE NOT ({check}\n))");
        if connection.query_row(&sql, [], |row| row.get(0)).unwrap_or(true) {
            broken.push(check.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    Ok(broken)
}
