//! Opens databases with SQLite for a lap, closes and syncs them, and queries them afterwards.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use anyhow::{Context, ensure};
use rusqlite::{Connection, OpenFlags};

use crate::sync;

/// Opens or creates a database, and runs statements.
///
/// # Errors
/// When SQLite reports an error.
pub fn open(file: &Path, sql: &str) -> anyhow::Result<Connection> {
    let db = Connection::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    db.execute_batch(sql)?;
    Ok(db)
}

/// Opens a database that is only read.
///
/// # Errors
/// When SQLite reports an error.
pub fn read(file: &Path) -> anyhow::Result<Connection> {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open {}", file.display()))
}

/// Closes a database, and syncs its file.
///
/// # Errors
/// When the database can't be closed, or its file not be synced.
pub fn close(db: Connection, file: &Path) -> anyhow::Result<()> {
    db.close().map_err(|(_, error)| error)?;
    sync(file)
}

/// Runs a PRAGMA that checks the database, such as `quick_check`.
///
/// # Errors
/// When SQLite finds an error.
pub fn sound(db: &Connection, check: &str) -> anyhow::Result<()> {
    let said: String = db.query_row(&format!("PRAGMA {check}"), [], |row| row.get(0))?;
    ensure!(said == "ok", "{check} says: {said}");
    Ok(())
}

/// Returns the numbers in the only row of a query's result. Floats, such as sums, are converted to integers; any other value
/// counts as 0.
///
/// # Errors
/// When SQLite reports an error.
pub fn numbers(db: &Connection, sql: &str) -> anyhow::Result<Vec<i64>> {
    let mut query = db.prepare(sql)?;
    let columns = query.column_count();
    let number = |value: rusqlite::types::Value| match value {
        rusqlite::types::Value::Integer(int) => int,
        rusqlite::types::Value::Real(real) => real as i64,
        _ => 0,
    };
    Ok(query.query_row([], |row| (0..columns).map(|at| row.get(at).map(number)).collect())?)
}

/// The first result for each key: later results for the key must equal it, because all ways must write the same rows.
#[derive(Debug)]
pub struct First<K, V>(BTreeMap<K, V>);

impl<K, V> Default for First<K, V> {
    fn default() -> First<K, V> {
        First(BTreeMap::new())
    }
}

impl<K: Ord, V: Debug + PartialEq> First<K, V> {
    /// Returns `true` if there is a result for the key.
    pub fn has(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Keeps the result `mine` if the key has no result yet. Otherwise compares `mine` with the first result of the key.
    ///
    /// # Errors
    /// When `mine` differs from the first result.
    pub fn same(&mut self, key: K, mine: V) -> anyhow::Result<()> {
        match self.0.get(&key) {
            Some(first) => ensure!(mine == *first, "{mine:?}, where another way has {first:?}"),
            None => {
                self.0.insert(key, mine);
            }
        }
        Ok(())
    }
}
