//! The laps with which sqluice is compared: SQLite's CREATE INDEX and INSERT.

use std::path::Path;

use super::data::{Index, Keys, value};
use crate::UNSAFE_PRAGMAS;
use crate::db::{close, open};

/// A page cache that is large enough for the upper levels of every B-tree here, and for a sort with few runs.
const CACHE: &str = "PRAGMA cache_size = -200000;";

/// Runs `CREATE INDEX` on an existing table, with `threads` helper threads.
pub(crate) fn create_index(index: &Index, file: &Path, threads: u8) -> anyhow::Result<()> {
    let db = open(file, &format!("{UNSAFE_PRAGMAS} {CACHE}"))?;
    // SQLite sorts in files, as by default; the cache size limits its memory.
    db.execute_batch(&format!("PRAGMA temp_store = FILE; PRAGMA threads = {threads};"))?;
    db.execute_batch(index.create)?;
    close(db, file)
}

/// Fills the table with a prepared INSERT in one transaction: with SQLite's defaults if `defaults` is true, otherwise fast and not durable.
pub(crate) fn insert(keys: Keys, file: &Path, rows: u64, defaults: bool) -> anyhow::Result<()> {
    let db = open(file, &if defaults { String::new() } else { format!("{UNSAFE_PRAGMAS} {CACHE}") })?;
    db.execute_batch(keys.table())?;
    db.execute_batch("BEGIN")?;
    {
        let mut insert = db.prepare("INSERT INTO item VALUES (?, ?)")?;
        let mut key = String::new();
        for row in 0..rows {
            keys.write(row, rows, &mut key);
            match keys {
                Keys::Uuid => insert.raw_bind_parameter(1, key.as_str())?,
                Keys::Shuffled => insert.raw_bind_parameter(1, key.parse::<i64>()?)?,
            }
            insert.raw_bind_parameter(2, value(row))?;
            insert.raw_execute()?;
        }
    }
    db.execute_batch("COMMIT")?;
    close(db, file)
}
