//! The connections of a store: one that writes, and one for each thread that reads.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::database_path::refuse_memory;
use sqluice_core::error::{Error, Result};
use sqluice_core::rows;
use sqluice_core::sqlite_error::{self, full_disk};

use super::Options;
use super::layout;

/// Pages of the log from which on COMMIT copies them into the database: 16 MiB, four times what SQLite does by default. Then a page that
/// several batches change is copied once, and readers still find a page of the log by one look at its index, which has blocks of 4,096.
const LOG_PAGES: usize = 4000;

/// Statements that a connection keeps.
const STATEMENTS: usize = 64;

/// Connections that read.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    options: Options,
    idle: Mutex<Vec<Connection>>,
}

/// A connection that goes back when it is dropped.
pub(super) struct Reader<'r> {
    readers: &'r Readers,
    connection: Option<Connection>,
}

impl Readers {
    /// The file of the store.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An unused connection.
    ///
    /// # Errors
    /// When the database can't be opened.
    pub(super) fn take(&self) -> Result<Reader<'_>> {
        let idle = lock(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let connection = open(&self.path, &self.options, OpenFlags::empty())?;
                connection
                    .execute_batch("PRAGMA query_only = 1")
                    .map_err(|error| cannot_open(error, &self.path))?;
                connection
            }
        };
        Ok(Reader { readers: self, connection: Some(connection) })
    }
}

impl Deref for Reader<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().unwrap_or_else(|| unreachable!("it exists until the drop"))
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        lock(&self.readers.idle).extend(self.connection.take());
    }
}

/// A thread that panicked with the lock has left nothing half done: transactions are rolled back, and lists are lists.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens or makes a store: the connection that writes, and those that will read.
///
/// # Errors
/// When it can't be opened, or is no store.
pub(super) fn open_store(path: &Path, options: &Options) -> Result<(Connection, Readers)> {
    refuse_memory(path)?;
    // An absolute path is never taken for a URI.
    let path = std::path::absolute(path).map_err(|error| Error::read(path, error))?;
    let writer = open(&path, options, OpenFlags::SQLITE_OPEN_CREATE)?;
    let cannot = |error| cannot_open(error, &path);
    let is = |sql: &str| writer.query_row(sql, [], |row| row.get::<_, bool>(0)).map_err(cannot);
    if is(layout::HAS_ANYTHING)? && !is(layout::HAS_TYPES)? {
        let message = format!("{} is a database of another program: it holds no entities", path.display());
        return Err(Error::target(message).hint("give the store a file of its own"));
    }
    let mode: String = writer.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(cannot)?;
    if mode != "wal" {
        let message =
            format!("{} can't be read and written at once: its journal mode is {mode}", path.display());
        return Err(Error::target(message).hint("a write-ahead log needs a file system with shared memory"));
    }
    if !is(layout::HAS_TYPES)? {
        let create = layout::CREATE_TYPES.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS");
        writer.execute_batch(&create).map_err(cannot)?;
    }
    let readers = Readers { path, options: options.clone(), idle: Mutex::default() };
    Ok((writer, readers))
}

fn open(path: &Path, options: &Options, flags: OpenFlags) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | flags;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(options.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let synchronous = if options.durable { "FULL" } else { "NORMAL" };
        let cache = options.cache_bytes / 1024;
        connection.execute_batch(&format!(
            "PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -{cache}; PRAGMA foreign_keys = 0; \
             PRAGMA wal_autocheckpoint = {LOG_PAGES}"
        ))?;
        rows::register(&connection)?;
        Ok(connection)
    };
    open().map_err(|error| cannot_open(error, path))
}

fn cannot_open(error: rusqlite::Error, path: &Path) -> Error {
    match full_disk::is_it(&error, path) {
        true => full_disk::error(error, "open", path).about(path),
        false => sqlite_error::failed(error, &format!("open {}", path.display())),
    }
}

/// How long others are waited for by default.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
