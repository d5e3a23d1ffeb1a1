//! The connection for writing. Each batch is a transaction, and batches are written one at a time.
//!
//! ```text
//!  BEGIN IMMEDIATE, INSERT, INSERT, ...      readers continue: the file is unchanged, changes are in memory
//!  from 32 MiB on, and for COMMIT            readers of this store release their locks and wait: SQLite writes to the file
//! ```
//!
//! In WAL mode and in a shared store, readers hold no locks, and SQLite handles all locking.

use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use sqluice_core::error::{Error, Result};

use super::failed;
use super::layout::{CREATE, Layout};
use super::options::{Journal, Options, PAGE_SIZE};
use super::pool::{Pool, Stopped};
use super::reader::Key;

/// The approximate number of bytes of changes that SQLite keeps in memory. A larger batch is written to the file before its commit.
const IN_MEMORY_BYTES_MAX: u64 = 32 << 20;

/// A writer; see the module's description.
pub(super) struct Writer {
    connection: Connection,
    path: PathBuf,
    /// `true` if readers of this store hold locks between reads.
    held: bool,
}

/// A change of a batch.
pub(super) enum Change<'c> {
    Put(&'c [u8], &'c [u8]),
    Remove(&'c [u8]),
}

impl Writer {
    /// Opens or creates the database, and finds or creates the table. Sets `shared` if the database is in WAL mode.
    pub(super) fn open(path: &Path, options: &mut Options) -> Result<(Writer, Layout)> {
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
                let message = format!("{} is empty: it holds no store", path.display());
                return Err(Error::target(message).hint("name another file, or open it for writing"));
            }
            None => make(&connection, path, options)?,
        };
        let mode = connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
        let log = mode.map_err(failed)? == "wal";
        options.journal = if log { Journal::Wal } else { Journal::Delete };
        options.shared |= log;
        let sql = format!(
            "PRAGMA synchronous = {}; PRAGMA cache_spill = {}; PRAGMA foreign_keys = OFF",
            options.durability.synchronous(),
            if options.shared { "ON" } else { "OFF" }
        );
        connection.execute_batch(&sql).map_err(failed)?;
        Ok((Writer { connection, path: path.to_owned(), held: !options.shared }, layout))
    }

    /// Applies all changes in a transaction, or none of them. Returns the number of changed rows.
    pub(super) fn batch(&mut self, pool: &Pool, changes: Changes<'_>) -> Result<u64> {
        let mut stopped = None;
        let done = self.transaction(pool, changes, &mut stopped);
        let spilled = self.held && matches!(stopped, Some(Waiting { spills: true, .. }));
        // The setting is restored before readers start again: they would find the file locked if SQLite wrote to it during a batch.
        let kept = match spilled {
            true => self.connection.execute_batch("PRAGMA cache_spill = OFF"),
            false => Ok(()),
        };
        drop(stopped);
        let rows = done?;
        kept.map_err(|error| failed(error, "write to", &self.path))?;
        Ok(rows)
    }

    fn transaction<'p>(
        &mut self,
        pool: &'p Pool,
        changes: Changes<'_>,
        stopped: &mut Option<Waiting<'p>>,
    ) -> Result<u64> {
        let (path, held, layout) = (&self.path, self.held, pool.layout());
        let failed = |error| failed(error, "write to", path);
        let transaction = Transaction::new(&mut self.connection, TransactionBehavior::Immediate);
        let transaction = transaction.map_err(failed)?;
        let (mut rows, mut bytes) = (0, 0);
        {
            let mut put = transaction.prepare_cached(layout.put()).map_err(failed)?;
            let mut remove = transaction.prepare_cached(layout.remove()).map_err(failed)?;
            changes(&mut |change| {
                bytes += change.bytes();
                if held && bytes > IN_MEMORY_BYTES_MAX && stopped.is_none() {
                    *stopped = Some(Waiting { _readers: pool.stop()?, spills: true });
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
        if held && stopped.is_none() {
            *stopped = Some(Waiting { _readers: pool.stop()?, spills: false });
        }
        transaction.commit().map_err(failed)?;
        Ok(rows)
    }
}

/// A function that passes the changes of a batch, one after another, to the callback it is given.
pub(super) type Changes<'c> = &'c mut dyn FnMut(&mut dyn FnMut(Change<'_>) -> Result<()>) -> Result<()>;

/// The readers of the store, stopped until the end of a batch.
struct Waiting<'p> {
    _readers: Stopped<'p>,
    /// `true` if SQLite may write to the file before the commit.
    spills: bool,
}

impl Change<'_> {
    /// Returns an estimate of the memory that a change takes in SQLite's cache: the bytes of its key and blob, and those of a page.
    fn bytes(&self) -> u64 {
        let bytes = match self {
            Change::Put(key, blob) => key.len() + blob.len(),
            Change::Remove(key) => key.len(),
        };
        (bytes + PAGE_SIZE.bytes()) as u64
    }
}

/// Creates the store's table in an empty database.
fn make(connection: &Connection, path: &Path, options: &Options) -> Result<Layout> {
    let journal = match options.journal {
        Journal::Delete => "DELETE",
        Journal::Wal => "WAL",
    };
    let sql = format!("PRAGMA page_size = {}; PRAGMA journal_mode = {journal}", options.page_size.bytes());
    let make = || {
        connection.execute_batch(&sql)?;
        // Another process may create the table at the same time.
        connection.execute_batch(&CREATE.replace("TABLE", "TABLE IF NOT EXISTS"))
    };
    make().map_err(|error| failed(error, "make", path))?;
    Ok(Layout::Kv)
}
