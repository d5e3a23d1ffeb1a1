//! Reads the content of a database after a lap with SQLite: every table, including those that the lap should not change.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::db::{open, sound};
use crate::found::Found;

/// The content of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) journal_mode: String,
    pub(crate) tables: BTreeMap<String, Found>,
}

/// Reads the content of a database. `check` is the PRAGMA that first checks the database, such as `integrity_check`; empty for none.
pub(crate) fn verify(file: &Path, check: &str) -> anyhow::Result<Content> {
    // A read-only connection would leave sidecar files in WAL mode.
    let db = open(file, "")?;
    if !check.is_empty() {
        sound(&db, check)?;
    }
    let journal_mode = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    let mut tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = tables.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let tables = names.into_iter().map(|name| {
        let found = Found::of(&db, &name, &mix(&db, &name)?)?;
        Ok((name, found))
    });
    Ok(Content { tables: tables.collect::<anyhow::Result<_>>()?, journal_mode })
}

/// Returns an SQL expression over all columns of a table, of numbers or texts that begin with a number. Its sum over all rows changes if a
/// value moves to another row or column.
fn mix(db: &Connection, table: &str) -> rusqlite::Result<String> {
    let mut columns = db.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    let mut names = columns.query_map([table], |row| row.get::<_, String>(0))?;
    // The columns are multiplied, not added: a sum would not change if two rows exchanged a value.
    names.try_fold("1".to_owned(), |mixed, name| {
        let value = format!("CAST({} AS INTEGER) % 1000003", name?);
        Ok(format!("({mixed} * (31 + {value}) + {value}) % 1000003"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_a_table_changes_if_values_are_swapped_between_rows_or_columns() {
        let folder = tempfile::tempdir().unwrap();
        let sum = |name: &str, rows: &str| {
            let file = folder.path().join(name);
            let sql =
                format!("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b); INSERT INTO t VALUES {rows}");
            Connection::open(&file).unwrap().execute_batch(&sql).unwrap();
            verify(&file, "integrity_check").unwrap().tables["t"].sum
        };
        let sums = [
            sum("as it is", "(1, '007', 5), (2, '100', 6)"),
            sum("between rows", "(1, '100', 5), (2, '007', 6)"),
            sum("between columns", "(1, '5', 7), (2, '100', 6)"),
        ];
        assert!(sums[0] != sums[1] && sums[0] != sums[2], "{sums:?}");
    }

    #[test]
    fn a_database_that_fails_sqlites_check_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.db");
        Connection::open(&file)
            .unwrap()
            .execute_batch("CREATE TABLE t (a); CREATE INDEX i ON t (a)")
            .unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        // Overwrites the type of the index's page.
        bytes[2 * 4096] = 99;
        std::fs::write(&file, bytes).unwrap();
        let error = verify(&file, "quick_check").unwrap_err();
        assert!(error.to_string().contains("quick_check says"), "{error}");
    }
}
