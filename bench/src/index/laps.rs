//! The laps that sqluice is compared with.

use std::path::Path;

use anyhow::Context;
use rusqlite::Connection;

use super::data::{Column, Keys, value};
use crate::{UNSAFE_PRAGMAS, sync};

/// A page cache that holds the upper levels of every B-tree here, and with which sorting takes few runs.
const CACHE: &str = "PRAGMA cache_size = -200000;";

/// Runs `CREATE INDEX` on an existing table, with `threads` helper threads.
pub(crate) fn create_index(column: Column, file: &Path, threads: u8) -> anyhow::Result<()> {
    let db = open(file)?;
    // SQLite sorts in files, as by default; the cache size limits its memory.
    db.execute_batch(&format!("PRAGMA temp_store = FILE; PRAGMA threads = {threads};"))?;
    db.execute_batch(column.index())?;
    close(db, file)
}

/// Fills the table with a prepared INSERT, in one transaction: fast and not durable, or with SQLite's `defaults`.
pub(crate) fn insert(keys: Keys, file: &Path, rows: u64, defaults: bool) -> anyhow::Result<()> {
    let db = if defaults { Connection::open(file)? } else { open(file)? };
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

fn open(file: &Path) -> anyhow::Result<Connection> {
    let db = Connection::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    db.execute_batch(UNSAFE_PRAGMAS)?;
    db.execute_batch(CACHE)?;
    Ok(db)
}

fn close(db: Connection, file: &Path) -> anyhow::Result<()> {
    db.close().map_err(|(_, error)| error)?;
    sync(file)
}
