//! An existing database, changed by one transaction. New pages are written past the end of the file while SQLite holds the write lock, and
//! become part of the database when SQLite commits.
//!
//! ```text
//!  begin     BEGIN IMMEDIATE: no other process can allocate pages; a tail that a killed process left is cut off
//!  schema    CREATE TABLE, CREATE INDEX by SQL: their roots are empty pages up to page P
//!
//!            1                  P  P+1                               N
//!            +--+----------+---+--+---------------------------------+--+
//!  the file  |  | unchanged    |R |  leaves, interior pages         |  |
//!            +--+----------+---+--+---------------------------------+--+
//!                                   raw, by direct I/O if the file system can; fdatasync
//!            readers see the old database, because page 1 has the old number of pages
//!  publish   through a savepoint of SQLite: the roots R, the last page N, and page 1 with the new count
//!  check     queries; then the work that only SQLite can do (some indexes, views, triggers, foreign keys, ANALYZE)
//!  commit    COMMIT
//! ```
//!
//! The modules:
//!
//! * `look`: reads what a plan needs to know about the database, before any lock is held
//! * `database_file`: the file, by a descriptor of its own or by that of a connection
//! * `transaction`: the transaction, which makes raw pages part of the database
//! * `indexes`: new indexes of tables, and indexes that are rebuilt because their table gets many rows
//! * `full_text`: full-text indexes of tables
//! * `write`: new tables and growing tables; `edge`: the right edge of a growing table
//! * `on_connection`: rows in a transaction on a connection of the caller
//! * `trusted`, `verify`: checks of trees before they change, and before COMMIT
//!
//! Invariant: until COMMIT, the old pages of the file change only through SQLite's journal. A killed process leaves the old content and at
//! most a *tail*: bytes past the last page that the database counts. The next transaction cuts off the tail.
//!
//! Invariant: the raw descriptor is opened before SQLite opens the file, and closed after SQLite has closed the file: closing any
//! descriptor of a file drops all POSIX locks of the process on this file. So this crate opens the file in no other way while an
//! [`Existing`] lives. Other connections of the same process lose their locks when the [`Existing`] is dropped. On a connection of the
//! caller, there is no such descriptor: reads and writes go through the file object of the connection.

mod database_file;
mod edge;
pub mod full_text;
pub mod indexes;
mod look;
mod on_connection;
mod transaction;
mod trusted;
mod verify;
mod write;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::Schema;
use sqluice_core::sqlite_error::{full_disk, said};
use sqluice_format::aligned::AlignedBuffer;
use sqluice_format::page::{Geometry, PageSize};
use sqluice_platform::rights;

use database_file::DatabaseFile;
pub use look::look;
pub use on_connection::{OpenTransaction, TableRows, vfs};
pub use transaction::Transaction;
use transaction::{obstacle, sub_journal};
pub(crate) use write::Outcome;
pub use write::write_into;

use crate::output::Target;
use sqluice_reader::no_file;

/// The time that SQLite itself waits for a lock. Between two waits, the cancel flag is checked.
const WAIT: Duration = Duration::from_millis(100);

/// An existing database that is open for changes.
#[derive(Debug)]
pub struct Existing {
    /// The connection. Fields are dropped in order, so it is closed before the descriptor `file`.
    connection: Connection,
    file: DatabaseFile,
    /// The path for messages: as the user gave it, or as SQLite has it if the connection is one of the caller's.
    name: PathBuf,
    /// The absolute path, with symbolic links resolved.
    path: PathBuf,
    geometry: Geometry,
    encoding: String,
    journal_mode: String,
    busy_timeout: Duration,
}

impl Existing {
    /// Opens the database at `target`. SQLite rolls back a hot journal of a crash. This and all later steps wait up to `busy_timeout` for
    /// locks of other processes.
    ///
    /// # Errors
    /// If the file does not exist, is no database or may not be written, or if other processes keep it locked for `busy_timeout`.
    pub fn open(target: &Target, busy_timeout: Duration) -> Result<Existing> {
        let name = target.name().to_owned();
        let resolved = target.path()?.path();
        // An absolute path is never parsed as a URI.
        let path = std::path::absolute(&resolved).map_err(|error| cannot_open(&name, error))?;
        let metadata = fs::metadata(&path).map_err(|error| cannot_open(&name, error))?;
        if let Some(why) = no_file(&name, &metadata) {
            return Err(Error::target(why).hint("name a database file"));
        }
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| cannot_open(&name, error))?;
        let file = DatabaseFile::Own(file);
        let geometry = geometry(&file).map_err(|error| cannot_open(&name, error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = match sub_journal::name() {
            Some(name) => Connection::open_with_flags_and_vfs(&path, flags, name),
            None => Connection::open_with_flags(&path, flags),
        };
        let connection = opened.map_err(|error| {
            Error::target(format!("SQLite cannot open {}", name.display())).because(error)
        })?;
        let mut existing = Existing {
            connection,
            file,
            name,
            path,
            geometry: geometry.unwrap_or(DEFAULT_GEOMETRY),
            encoding: String::new(),
            journal_mode: String::new(),
            busy_timeout,
        };
        existing.look(geometry.is_none())?;
        Ok(existing)
    }

    /// Configures the connection, and reads the encoding, journal mode and page size of the database.
    fn look(&mut self, empty: bool) -> Result<()> {
        let never = Cancel::new();
        // The first read rolls back a hot journal.
        let (encoding, mode, page_bytes) = self.waiting(&never, "read", |connection| {
            connection.busy_timeout(WAIT.min(self.busy_timeout))?;
            connection.execute_batch(
                "PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = OFF; PRAGMA temp_store = FILE; PRAGMA cell_size_check = ON;
                 SELECT count(*) FROM sqlite_schema",
            )?;
            let pragma = |name| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
            let page_bytes: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
            Ok((pragma("encoding")?, pragma("journal_mode")?, page_bytes))
        })?;
        (self.encoding, self.journal_mode) = (encoding, mode);
        if let (true, Some(page_size)) = (empty, PageSize::new(page_bytes)) {
            self.geometry = Geometry::new(page_size, 0).unwrap_or(self.geometry);
        }
        if self.connection.is_readonly("main").unwrap_or(false) {
            return Err(read_only(&self.name));
        }
        let folder = self.path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        rights::check_write(folder).map_err(|error| {
            Error::target(format!("the folder of {} is read-only", self.name.display()))
                .about(folder)
                .because(error)
                .hint("permit writing in the folder: SQLite keeps its journal in it")
        })
    }

    /// Sets the offset of SQLite's lock byte, so that tests need no file of 1 GiB.
    #[doc(hidden)]
    #[must_use]
    pub fn with_pending_byte(self, pending_byte: u32) -> Existing {
        Existing { geometry: self.geometry.with_pending_byte(pending_byte), ..self }
    }

    /// Returns the connection to the database.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns a page as it is in the file, even if SQLite has a newer version in its cache or in the WAL. Returns `None` past the last
    /// page.
    ///
    /// # Errors
    /// If the page can't be read.
    fn page_of_file(&self, number: u32) -> Result<Option<Vec<u8>>> {
        // The buffer is aligned, as direct I/O may be on while pages are written past the end.
        let mut page = AlignedBuffer::default();
        page.set_len(self.geometry.page_bytes());
        match self.file.read_exact_at(page.bytes_mut(), self.geometry.offset(number)) {
            Ok(()) => Ok(Some(page.bytes().to_vec())),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(Error::read(&self.name, error)),
        }
    }

    /// Returns the descriptor of the file, for reading pages on all cores. The descriptor must not be closed: see the invariant of this
    /// module.
    ///
    /// # Errors
    /// If the connection is one of the caller's, whose descriptor only SQLite has.
    fn descriptor(&self) -> Result<&File> {
        let by_sqlite = || {
            Error::target(format!(
                "{} can't be read on all cores: your program has it open through a connection of its own, and then only SQLite may read the file",
                self.name.display()
            ))
        };
        self.file.descriptor().ok_or_else(by_sqlite)
    }

    /// Returns the path for messages: as the user gave it, or as SQLite has it if the connection is one of the caller's.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the absolute path, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the page size, the reserved bytes and the lock-byte page.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns the text encoding, as `PRAGMA encoding` does: `UTF-8`, `UTF-16le` or `UTF-16be`.
    pub fn encoding(&self) -> &str {
        &self.encoding
    }

    /// Returns the journal mode, as `PRAGMA journal_mode` does, such as `delete` or `wal`. Modes other than `wal` are not stored in the
    /// file.
    pub fn journal_mode(&self) -> &str {
        &self.journal_mode
    }

    /// Returns the schema as it is now. In a transaction, no other process can change the schema.
    ///
    /// # Errors
    /// If SQLite can't read it.
    pub fn schema(&self) -> Result<Schema> {
        self.waiting(&Cancel::new(), "read the schema of", |connection| {
            Schema::from_catalogue(connection, String::new(), &self.name)
        })
    }

    /// Returns the reason why pages can never be written into this database, because of a property such as its text encoding, as a sentence
    /// for the plan. Returns `None` if no property is an obstacle. The present state of the database may still be one: see
    /// [`Transaction::obstacle`].
    ///
    /// # Errors
    /// If SQLite can't read the database.
    pub fn obstacle(&self) -> Result<Option<String>> {
        self.waiting(&Cancel::new(), "look at", |_| obstacle::of_kind(self))
    }

    /// Sets `PRAGMA foreign_keys`: with `on`, SQLite checks FOREIGN KEY constraints as it stores rows. The default is off. Has no effect in
    /// a transaction.
    ///
    /// # Errors
    /// If SQLite refuses the PRAGMA.
    pub fn set_foreign_keys(&self, on: bool) -> Result<()> {
        let sql = format!("PRAGMA foreign_keys = {}", if on { "ON" } else { "OFF" });
        self.connection.execute_batch(&sql).map_err(|error| self.failed(error, "set PRAGMA foreign_keys of"))
    }

    /// Begins the transaction, and cuts off the tail that a killed process may have left.
    ///
    /// # Errors
    /// If another program keeps the write lock for the busy timeout, `cancel` is set, or a tail can't be cut off, for example because the
    /// database is damaged.
    pub fn begin(&mut self, cancel: &Cancel) -> Result<Transaction<'_>> {
        Transaction::begin(self, cancel, false)
    }

    /// Retries `attempt` while other processes hold locks, for at most the busy timeout.
    fn waiting<T>(
        &self,
        cancel: &Cancel,
        what: &str,
        attempt: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.waiting_until(Instant::now() + self.busy_timeout, cancel, what, attempt)
    }

    /// Retries `attempt` while other processes hold locks, until `deadline` at most. Tries at least once.
    fn waiting_until<T>(
        &self,
        deadline: Instant,
        cancel: &Cancel,
        what: &str,
        attempt: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let started = Instant::now();
        loop {
            match attempt(&self.connection) {
                Err(error) if is_busy(&error) => {
                    if Instant::now() >= deadline {
                        return Err(self.locked(error, started.elapsed()));
                    }
                    cancel.check()?;
                    // SQLite itself does not wait for a lock if that could be a deadlock, so this loop waits.
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => return other.map_err(|error| self.failed(error, what)),
            }
        }
    }

    /// Returns the error for a database that other processes locked for the time `waited`.
    fn locked(&self, error: rusqlite::Error, waited: Duration) -> Error {
        let tenths = (waited.as_secs_f64() * 10.0).round() / 10.0;
        let unit = if tenths == 1.0 { "second" } else { "seconds" };
        let how_long = match waited.is_zero() {
            true => String::new(),
            false => format!(": it was locked for {tenths} {unit}"),
        };
        Error::target(format!("{} is in use{how_long}", self.name.display())).because(said(error)).hint(
            message![
                "another program reads or writes it: wait longer (",
                Setting::BusyTimeout.to("SECONDS"),
                "), or run again; the database is unchanged"
            ],
        )
    }

    /// Returns the error for a failed SQLite operation. `what` is the verb of the operation.
    fn failed(&self, error: rusqlite::Error, what: &str) -> Error {
        let name = self.name.display();
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Error::interrupted(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.locked(error, Duration::ZERO),
            Some(ErrorCode::ReadOnly) => read_only(&self.name),
            Some(ErrorCode::NotADatabase) => Error::target(format!("{name} is not a SQLite database"))
                .because(said(error))
                .hint("name another file"),
            _ if full_disk::is_it(&error, &self.path) => full_disk::error(error, what, &self.name),
            _ => Error::target(format!("SQLite cannot {what} {name}")).because(said(error)),
        }
    }
}

/// The geometry of a new database in an empty file, until SQLite reports another page size.
const DEFAULT_GEOMETRY: Geometry = match Geometry::new(PageSize::DEFAULT, 0) {
    Some(geometry) => geometry,
    None => unreachable!(),
};

/// Reads the page size and the reserved bytes from the header. Returns `None` for an empty file or an invalid header, which SQLite will
/// refuse.
fn geometry(file: &DatabaseFile) -> io::Result<Option<Geometry>> {
    let mut start = [0; 21];
    if file.len()? < start.len() as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut start, 0)?;
    let size = PageSize::from_header(u16::from_be_bytes([start[16], start[17]]));
    Ok(size.and_then(|size| Geometry::new(size, start[20])))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn read_only(name: &Path) -> Error {
    Error::target(format!("{} is read-only", name.display()))
        .about(name)
        .hint("permit writing to it, or copy it first")
}

fn cannot_open(name: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => read_only(name).because(error),
        _ => Error::target(format!("cannot open {}", name.display())).about(name).because(error),
    }
}
