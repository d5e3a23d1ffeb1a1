//! One committed state of a database, which stays the same while it is read.
//!
//! * A read transaction of SQLite is held from the first page to the last. In rollback mode, no process can commit meanwhile; in WAL mode,
//!   no checkpoint copies frames into the file that are newer than this state.
//! * A WAL-mode database in a read-only folder is read without locks if it has no log (`at_rest`).
//! * A hot journal is first rolled back by a connection that may write. If this fails, the database is refused.
//! * In WAL mode, the newest version of a page may be in the log. Pages that have any frame in the log are read through SQLite, which knows
//!   the last frame of its transaction. Only the page numbers are read from the log itself, so frames that were appended later, or belong
//!   to an older log, do no harm. No other page of the file changes: a checkpoint copies only frames that all readers know.
//! * The number of pages is the number in the header as SQLite reads it, never the size of the file.
//!
//! ```text
//!  pages of the file               1   2   3   4   5   6
//!  pages with frames in the log    1           4           7
//!  read                            S   f   f   S   f   f   S       S: through SQLite; f: from the file
//! ```

use std::any::Any;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::{Cancel, Progress};
use sqluice_core::remote::RequestLimits;
use sqluice_core::schema::Schema;
use sqluice_format::database::Header;
use sqluice_format::page::{DATABASE_HEADER_BYTES, Geometry, PageSize};
use sqluice_platform::paths::canonical;
use sqluice_platform::positioned::Positioned;

use crate::at_rest::AtRest;
use crate::connection::{begin, begin_at_rest, is_unopened, no_database, unreadable};
use crate::dbpage;
use crate::descriptor::{Descriptor, no_file};
use crate::pages::{FileView, Limit, Log, ViewedFile};

/// The sizes of the log's header, and of the header of each frame ([§4.1](https://www.sqlite.org/fileformat2.html#wal_file_format)).
const LOG_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;
/// The offset of the salts in the header of the write-ahead log. The header of each frame repeats the salts.
const LOG_SALTS_AT: u64 = 16;

/// Options for reading a database.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The time to wait for a process that is writing.
    pub busy_timeout: Duration,
    /// The maximum reading time if reading keeps other processes from committing; `None` for no limit.
    pub busy_limit: Option<Duration>,
    /// The limits of requests for a database behind a URL.
    pub requests: RequestLimits,
    /// The offset of the lock byte, for tests; `None` for the usual offset.
    pub pending_byte: Option<u32>,
}

impl ReadOptions {
    /// Creates options that wait for five seconds and read without a time limit.
    pub fn new() -> ReadOptions {
        ReadOptions {
            busy_timeout: Duration::from_secs(5),
            busy_limit: None,
            requests: RequestLimits::default(),
            pending_byte: None,
        }
    }
}

impl TakesSettings for ReadOptions {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::BusyTimeout => self.busy_timeout = value.to()?,
            Setting::BusyLimit => self.busy_limit = Some(value.to()?),
            _ => return self.requests.set(setting, value),
        }
        Ok(true)
    }
}

/// One committed state of a database, which stays the same while it is read.
#[derive(Debug)]
pub struct Snapshot {
    /// The connection with the read transaction. The field precedes the descriptor because the connection must be closed first.
    connection: Arc<Mutex<Connection>>,
    /// The open file; `None` after [`Snapshot::close_file`].
    descriptor: RwLock<Option<Descriptor>>,
    /// The path as named by the user.
    name: PathBuf,
    path: PathBuf,
    header: Header,
    page_count: u32,
    journal_mode: String,
    /// A bitmap of the pages that have a frame in the write-ahead log.
    in_log: Vec<u64>,
    limit: Option<Limit>,
    /// The check that shows whether the file has changed, if the file is read without locks.
    at_rest: Option<AtRest>,
    /// The root page of each table, by its name in `sqlite_schema`; empty until the root pages have been read.
    pub(crate) roots: OnceLock<HashMap<String, u32>>,
    /// The owner of the temporary file to which the database was fetched; `None` if it was not fetched. Dropping the owner removes the
    /// file, so this field is dropped after the connection and the descriptor.
    fetched: Option<Box<dyn Any + Send + Sync>>,
}

impl Snapshot {
    /// Begins to read the database at `name`.
    ///
    /// # Errors
    /// When the file does not exist or is not a database, a process writes for longer than the timeout, or a journal can't be rolled back.
    pub fn begin(name: &Path, options: &ReadOptions, cancel: &Cancel) -> Result<Snapshot> {
        let metadata = std::fs::metadata(name).map_err(|error| Error::read(name, error))?;
        if let Some(why) = no_file(name, &metadata) {
            return Err(Error::input(why).hint("name a database file"));
        }
        // SQLite keeps the log beside the file itself, not beside a link to the file. An absolute path is never taken for a URI.
        let path = canonical(name).map_err(|error| Error::read(name, error))?;
        let descriptor = Descriptor::open(&path).map_err(|error| Error::read(name, error))?;
        let error = match begin(&path, options.busy_timeout, cancel) {
            Ok(connection) => {
                let connection = Arc::new(Mutex::new(connection));
                return Snapshot::of_transaction(connection, descriptor, name, path, options);
            }
            Err(error) => error,
        };
        let at_rest = if is_unopened(&error) { AtRest::find(&path).ok().flatten() } else { None };
        let Some(at_rest) = at_rest else { return Err(unreadable(name, error)) };
        let connection = Arc::new(Mutex::new(begin_at_rest(&path, cancel)?));
        let mut snapshot = Snapshot::of_transaction(connection, descriptor, name, path, options)?;
        at_rest.check(name)?;
        (snapshot.at_rest, snapshot.journal_mode, snapshot.limit) = (Some(at_rest), "wal".to_owned(), None);
        Ok(snapshot)
    }

    /// Begins to read a database that was fetched from `name` to a temporary file at `path`, which exists as long as `file`.
    ///
    /// # Errors
    /// When the file can't be opened or is not a database.
    pub fn begin_fetched(
        name: &Path,
        path: &Path,
        file: Box<dyn Any + Send + Sync>,
        options: &ReadOptions,
        cancel: &Cancel,
    ) -> Result<Snapshot> {
        let path = canonical(path).map_err(|error| Error::read(path, error))?;
        let descriptor = Descriptor::open(&path).map_err(|error| Error::read(name, error))?;
        let connection =
            begin(&path, options.busy_timeout, cancel).map_err(|error| unreadable(name, error))?;
        let connection = Arc::new(Mutex::new(connection));
        let snapshot = Snapshot::of_transaction(connection, descriptor, name, path, options)?;
        Ok(Snapshot { fetched: Some(file), ..snapshot })
    }

    /// Returns `true` if the database was fetched to a temporary file.
    pub fn is_fetched(&self) -> bool {
        self.fetched.is_some()
    }

    /// Reads a database that `connection` has locked with an exclusive transaction. The database is in a rollback mode, or in WAL mode with
    /// an empty log.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn of_exclusive(
        name: &Path,
        connection: Arc<Mutex<Connection>>,
        options: &ReadOptions,
    ) -> Result<Snapshot> {
        let path = canonical(name).map_err(|error| Error::read(name, error))?;
        let descriptor = Descriptor::open(&path).map_err(|error| Error::read(name, error))?;
        Snapshot::of_transaction(connection, descriptor, name, path, options)
    }

    fn of_transaction(
        shared: Arc<Mutex<Connection>>,
        descriptor: Descriptor,
        name: &Path,
        path: PathBuf,
        options: &ReadOptions,
    ) -> Result<Snapshot> {
        let failed = |error| unreadable(name, error);
        let connection = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let text = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, String>(0));
        let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, u32>(0));
        let journal_mode = text("PRAGMA main.journal_mode").map_err(failed)?;
        let page_count = number("PRAGMA main.page_count").map_err(failed)?;
        let page_bytes = number("PRAGMA main.page_size").map_err(failed)?;
        let limit = options.busy_limit.filter(|_| journal_mode != "wal");
        let limit = limit.map(|limit| Limit { until: began + limit, limit });
        let in_log = match journal_mode == "wal" {
            true => pages_in_log(&path, page_bytes, page_count).map_err(|error| Error::read(name, error))?,
            false => Vec::new(),
        };
        if in_log.iter().any(|word| *word != 0) && !dbpage::is_available(&connection).map_err(failed)? {
            return Err(Error::input(format!(
                "the newest pages of {} are in its write-ahead log",
                name.display()
            ))
            .because(
                "this build of SQLite has no sqlite_dbpage (SQLITE_ENABLE_DBPAGE_VTAB) to read them with",
            )
            .hint("have SQLite copy them into the file: PRAGMA wal_checkpoint(TRUNCATE)"));
        }
        let geometry = PageSize::new(page_bytes).and_then(|size| Geometry::new(size, 0));
        let empty = Header::new(geometry.ok_or_else(|| no_database(name))?, 0, 0);
        drop(connection);
        let mut snapshot = Snapshot {
            connection: shared,
            descriptor: RwLock::new(Some(descriptor)),
            name: name.to_owned(),
            path,
            header: empty,
            page_count,
            journal_mode,
            in_log,
            limit,
            at_rest: None,
            roots: OnceLock::new(),
            fetched: None,
        };
        snapshot.read_header(options.pending_byte)?;
        Ok(snapshot)
    }

    fn read_header(&mut self, pending_byte: Option<u32>) -> Result<()> {
        // A file of 0 bytes is a database without tables.
        if self.page_count > 0 {
            let mut start = [0; DATABASE_HEADER_BYTES];
            match self.in_log.first().is_some_and(|word| word & 1 == 1) {
                true => {
                    let page =
                        dbpage::read(&self.connection(), 1).map_err(|error| unreadable(&self.name, error))?;
                    let page = page
                        .filter(|page| page.len() >= start.len())
                        .ok_or_else(|| no_database(&self.name))?;
                    start.copy_from_slice(&page[..DATABASE_HEADER_BYTES]);
                }
                false => self.with_file(|file| file.read_exact_at(&mut start, 0))?,
            }
            self.header = Header::from_bytes(&start).map_err(|_| no_database(&self.name))?;
        }
        if let Some(pending_byte) = pending_byte {
            self.header.geometry = self.header.geometry.with_pending_byte(pending_byte);
        }
        Ok(())
    }

    fn with_file<T>(&self, work: impl FnOnce(&File) -> io::Result<T>) -> Result<T> {
        let descriptor = self.descriptor.read().unwrap_or_else(PoisonError::into_inner);
        let file = descriptor.as_ref().ok_or_else(|| io::Error::other("it is closed"));
        file.and_then(|descriptor| work(descriptor.file())).map_err(|error| Error::read(&self.name, error))
    }

    /// Closes the file so that it can be replaced on systems that do not replace open files. Its pages can't be read afterwards. The
    /// connection stays open.
    pub fn close_file(&self) {
        *self.descriptor.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the connection, in its transaction.
    pub fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the path, or the URL of a fetched database, as named by the user.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the path with symbolic links resolved; for a fetched database, the path of its temporary file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the database header. If the file is empty, returns the header that a new database would have.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the page size, reserved bytes and lock-byte page.
    pub fn geometry(&self) -> Geometry {
        self.header.geometry
    }

    /// Returns the number of pages; 0 for an empty file.
    pub fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Returns the size of all pages.
    pub fn bytes(&self) -> u64 {
        u64::from(self.page_count) * self.geometry().page_bytes() as u64
    }

    /// Returns the size of the pages that are not on the freelist.
    pub fn used_bytes(&self) -> u64 {
        let free = u64::from(self.header.freelist_pages);
        self.bytes().saturating_sub(free * self.geometry().page_bytes() as u64)
    }

    /// Returns the result of `PRAGMA journal_mode`; `wal` for a file that is read without locks.
    pub fn journal_mode(&self) -> &str {
        &self.journal_mode
    }

    /// Returns `true` if other processes can commit while the database is read.
    pub fn lets_others_commit(&self) -> bool {
        self.journal_mode == "wal"
    }

    /// Returns a text that identifies the committed state: it changes with every commit, and is the same on all machines that read the same
    /// file. In WAL mode, it may also change when the log is copied into the file and removed.
    ///
    /// If the log has frames, its last transaction identifies the state; otherwise the header and the time of the file do.
    ///
    /// # Errors
    /// When the file or the log can't be read.
    pub fn state(&self) -> Result<String> {
        if self.lets_others_commit() {
            let page_bytes = self.geometry().page_bytes() as u64;
            let end = end_of_log(&self.path, page_bytes).map_err(|error| Error::read(&self.name, error))?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
        let (seconds, nanos) = since_1970(self.with_file(|file| file.metadata()?.modified())?);
        let Header { change_counter, schema_cookie, .. } = self.header;
        Ok(format!("{change_counter:x}-{schema_cookie:x}-{:x}-{seconds:x}-{nanos:x}", self.page_count))
    }

    /// Returns the schema.
    ///
    /// # Errors
    /// When SQLite can't read the schema.
    pub fn schema(&self) -> Result<Schema> {
        Schema::from_catalogue(&self.connection(), String::new(), &self.name)
            .map_err(|error| unreadable(&self.name, error))
    }

    /// Returns the schema with the shadow tables of virtual tables and SQLite's own tables.
    ///
    /// # Errors
    /// When SQLite can't read the schema.
    pub fn schema_with_all_tables(&self) -> Result<Schema> {
        Schema::with_all_tables(&self.connection(), &self.name).map_err(|error| unreadable(&self.name, error))
    }

    /// Returns a view of the pages for any number of threads.
    pub fn view<'a>(&'a self, progress: &'a dyn Progress, cancel: &'a Cancel) -> FileView<'a> {
        let log = self.in_log.iter().any(|word| *word != 0);
        let log = log.then(|| Log {
            connection: &self.connection,
            pages: &self.in_log,
            page_bytes: self.geometry().page_bytes(),
        });
        FileView {
            file: ViewedFile::Closable(&self.descriptor),
            log,
            path: &self.name,
            file_bytes: self.bytes(),
            limit: self.limit,
            at_rest: self.at_rest.as_ref(),
            progress,
            cancel,
        }
    }
}

/// Returns the seconds since 1970, rounded down, and the remaining nanoseconds.
fn since_1970(time: SystemTime) -> (i64, u32) {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            match before.subsec_nanos() {
                0 => (-(before.as_secs() as i64), 0),
                nanos => (-(before.as_secs() as i64) - 1, 1_000_000_000 - nanos),
            }
        }
    }
}

/// Returns a text that identifies the last transaction in the log, or `None` if the log has no transaction.
fn end_of_log(path: &Path, page_bytes: u64) -> io::Result<Option<String>> {
    let Some(log) = log_of(path)? else { return Ok(None) };
    let mut salts = [0; 8];
    if let Err(error) = log.read_exact_at(&mut salts, LOG_SALTS_AT) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    let mut end = None;
    let mut at = LOG_HEADER_BYTES;
    let mut frame = [0; FRAME_HEADER_BYTES as usize];
    loop {
        match log.read_exact_at(&mut frame, at) {
            // The frame was left by an earlier log.
            Ok(()) if frame[8..16] != salts => return Ok(end),
            // Only the last frame of a transaction has the number of pages after the transaction.
            Ok(()) if frame[4..8] != [0; 4] => {
                let sums: String = frame[8..].iter().map(|byte| format!("{byte:02x}")).collect();
                end = Some(format!("log-{at:x}-{sums}"));
            }
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(end),
            Err(error) => return Err(error),
        }
        at += FRAME_HEADER_BYTES + page_bytes;
    }
}

/// Opens the log of a database, if the database has a log.
fn log_of(path: &Path) -> io::Result<Option<File>> {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    match File::open(name) {
        Ok(log) => Ok(Some(log)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a bitmap of the pages that have a frame in the log, even if the frame belongs to no committed transaction.
fn pages_in_log(path: &Path, page_bytes: u32, page_count: u32) -> io::Result<Vec<u64>> {
    let Some(log) = log_of(path)? else { return Ok(Vec::new()) };
    let mut pages = vec![0; page_count as usize / 64 + 1];
    let mut at = LOG_HEADER_BYTES;
    let mut frame = [0; 4];
    loop {
        match log.read_exact_at(&mut frame, at) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(pages),
            Err(error) => return Err(error),
        }
        let number = u32::from_be_bytes(frame);
        if (1..=page_count).contains(&number) {
            pages[(number - 1) as usize / 64] |= 1 << ((number - 1) % 64);
        }
        at += FRAME_HEADER_BYTES + u64::from(page_bytes);
    }
}
