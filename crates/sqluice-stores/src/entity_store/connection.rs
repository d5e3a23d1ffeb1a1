//! The connections of a store: one for writing, and one for each thread that reads.

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

/// The number of pages in the WAL at which COMMIT copies them into the database: 16 MiB, four times SQLite's default. A page that several
/// batches change is then copied only once. The first block of the WAL index has 4,062 entries, so a reader that looks for a page of a WAL
/// of this size searches a single block.
const LOG_PAGES: usize = 4000;

/// The number of prepared statements that a connection caches.
const STATEMENTS: usize = 64;

/// The connections for reading.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    options: Options,
    idle: Mutex<Vec<Connection>>,
}

/// A connection that returns to its [`Readers`] when it is dropped.
pub(super) struct Reader<'r> {
    readers: &'r Readers,
    connection: Option<Connection>,
}

impl Readers {
    /// Returns the file of the store.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an idle connection, or opens another.
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

/// Locks a mutex. A panic while the mutex was locked does no harm: transactions are rolled back, and lists stay valid.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens or creates a store. Returns the connection for writing, and those for reading.
///
/// # Errors
/// When the database can't be opened or is not a store.
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
        let message = format!("cannot switch {} to WAL mode: its journal mode stays {mode}", path.display());
        return Err(
            Error::target(message).hint("put the store on a local disk: WAL mode needs shared memory")
        );
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

/// The default time to wait for other processes.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
