//! The connection that writes: one batch at a time, each a transaction.
//!
//! ```text
//!  BEGIN IMMEDIATE, INSERT, INSERT, ...      readers go on: the file is as it was, changes are in memory
//!  from 32 MiB on, and for COMMIT            readers of this store end what they hold and wait: SQLite writes to the file
//! ```
//!
//! With a log (WAL), and in a shared store, nobody holds anything, and SQLite sees to it all.

use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::failed;
use super::layout::{CREATE, Layout};
use super::options::{Journal, Options};
use super::pool::{Pool, Slot};
use super::reader::Key;
use crate::error::{Error, Result};

/// Changes of a batch that stay in memory, about, in bytes.
const IN_MEMORY_BYTES_MAX: u64 = 32 << 20;

/// See the module's description.
pub(super) struct Writer {
    connection: Connection,
    path: PathBuf,
}

/// A change.
pub(super) enum Change<'c> {
    Put(&'c [u8], &'c [u8]),
    Remove(&'c [u8]),
}

impl Writer {
    /// Opens the database or makes it, and finds or makes the table.
    pub(super) fn open(path: &Path, options: &Options) -> Result<(Writer, Layout)> {
        let failed = |error| failed(error, "open", path);
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = match options.read_only {
            true => flags | OpenFlags::SQLITE_OPEN_READ_ONLY,
            false => flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(options.busy_timeout).map_err(failed)?;
        let layout = match Layout::of(&connection, path)? {
            Some(layout) => layout,
            None if options.read_only => {
                let message = format!("{} is empty: there is no store in it", path.display());
                return Err(Error::target(message).hint("name another file, or open it for writing"));
            }
            None => make(&connection, path, options)?,
        };
        let spill = if options.shared { "ON" } else { "OFF" };
        let sql = format!(
            "PRAGMA synchronous = {}; PRAGMA cache_spill = {spill}; PRAGMA foreign_keys = OFF",
            options.durability.synchronous()
        );
        connection.execute_batch(&sql).map_err(failed)?;
        Ok((Writer { connection, path: path.to_owned() }, layout))
    }

    /// Makes changes in one transaction: all of them, or none. Returns how many rows they changed.
    pub(super) fn batch(
        &mut self,
        layout: Layout,
        pool: &Pool,
        changes: &mut dyn FnMut(&mut dyn FnMut(Change<'_>) -> Result<()>) -> Result<()>,
    ) -> Result<u64> {
        let path = &self.path;
        let failed = |error| failed(error, "write to", path);
        let transaction = rusqlite::Transaction::new(&mut self.connection, TransactionBehavior::Immediate);
        let transaction = transaction.map_err(failed)?;
        let mut stopped: Option<Vec<MutexGuard<'_, Slot>>> = None;
        let (mut rows, mut bytes) = (0, 0);
        {
            let mut put = transaction.prepare_cached(layout.put()).map_err(failed)?;
            let mut remove = transaction.prepare_cached(layout.remove()).map_err(failed)?;
            changes(&mut |change| {
                bytes += change.bytes();
                if bytes > IN_MEMORY_BYTES_MAX && stopped.is_none() {
                    stopped = Some(pool.stop()?);
                    transaction.execute_batch("PRAGMA cache_spill = ON").map_err(failed)?;
                }
                let changed = match change {
                    Change::Put(key, blob) => {
                        put.execute(params![Key(key), ToSqlOutput::Borrowed(ValueRef::Blob(blob))])
                    }
                    Change::Remove(key) => remove.execute([Key(key)]),
                };
                rows += changed.map_err(failed)? as u64;
                Ok(())
            })?;
        }
        let stopped = match stopped {
            Some(stopped) => stopped,
            None => pool.stop()?,
        };
        let committed = transaction.commit();
        drop(stopped);
        committed.map_err(failed)?;
        Ok(rows)
    }
}

impl Change<'_> {
    fn bytes(&self) -> u64 {
        let bytes = match self {
            Change::Put(key, blob) => key.len() + blob.len(),
            Change::Remove(key) => key.len(),
        };
        bytes as u64
    }
}

/// Makes a store of an empty database.
fn make(connection: &Connection, path: &Path, options: &Options) -> Result<Layout> {
    let journal = match options.journal {
        Journal::Delete => "DELETE",
        Journal::Wal => "WAL",
    };
    let sql = format!("PRAGMA page_size = {}; PRAGMA journal_mode = {journal}", options.page_size.bytes());
    let make = || {
        connection.execute_batch(&sql)?;
        // Somebody else may make it at the same time.
        connection.execute_batch(&CREATE.replace("TABLE", "TABLE IF NOT EXISTS"))
    };
    make().map_err(|error| failed(error, "make", path))?;
    Ok(Layout::Kv)
}
