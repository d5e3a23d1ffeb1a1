//! `check` and `info`: is this file sound, and what is in it?
//!
//! Two readers that share no code look at the file at the same time: ours ([`sqluice_format::check`]), which reads the
//! file's bytes, and SQLite's own `quick_check` or `integrity_check`. A SQLite read transaction is held meanwhile, so the
//! file does not change.
//!
//! The file is opened here before SQLite opens it and closed after SQLite has closed it: closing any descriptor of a file
//! drops the locks that the process has on it, SQLite's among them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use sqluice_format::check::{self, Options, ReadPage};
use sqluice_format::page::Geometry;

use crate::checksum;
use crate::error::{Error, Result};
use crate::progress::{Amount, Cancel, Progress};

/// Bytes that are read at once: a multiple of every page size.
const WINDOW_BYTES: u64 = 256 << 10;

/// Windows that are kept: one for each level of a deep tree.
const WINDOWS: usize = 8;

/// A database to look at.
#[derive(Clone, Debug)]
pub struct Check {
    /// The file.
    pub target: PathBuf,
    /// Which of SQLite's own checks to run besides.
    pub sqlite: SqliteCheck,
    /// Whether to add up the checksum of all pages.
    pub checksum: bool,
}

/// SQLite's own checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqliteCheck {
    /// None.
    Skip,
    /// `PRAGMA quick_check`.
    Quick,
    /// `PRAGMA integrity_check`, which compares each index with its table.
    Full,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What our reader found.
    pub report: check::Report,
    /// What SQLite's check said; empty when it had nothing to say against the file.
    pub sqlite_problems: Vec<String>,
    /// The checksum of all pages, in hexadecimal.
    pub checksum: Option<String>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Checked {
    /// Rows of all tables, the schema table left out.
    pub fn rows(&self) -> u64 {
        use sqluice_format::check::TreeKind::Index;
        self.report.trees.iter().skip(1).filter(|tree| tree.kind != Index).map(|tree| tree.rows).sum()
    }

    /// Whether neither reader found anything wrong.
    pub fn is_sound(&self) -> bool {
        self.report.is_sound() && self.sqlite_problems.is_empty()
    }
}

/// Problems that are listed; more are only counted.
const PROBLEMS_MAX: usize = 100;

/// The phases, in the words that [`Progress::phase`] gets.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    Read,
    Check,
}

impl Check {
    /// Looks.
    ///
    /// # Errors
    /// When the file can't be read, or is in use in a way that does not let it be. Whatever is wrong with the database is
    /// in the result.
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Checked> {
        let started = Instant::now();
        let target = &self.target;
        // Looked at before it is opened, since opening a named pipe waits for somebody to write to it.
        let metadata = std::fs::metadata(target).map_err(|e| Error::read(target, e))?;
        if !metadata.is_file() {
            return Err(Error::input(format!("{} is no file", target.display())).hint("name a database file"));
        }
        let file = File::open(target).map_err(|e| Error::read(target, e))?;
        let bytes = metadata.len();
        let mut pages = FilePages::new(&file, target, bytes, progress, cancel);
        let connection = hold(target, cancel)?;
        // The size may have changed until the lock was there.
        let bytes = file.metadata().map_err(|e| Error::read(target, e))?.len().max(bytes);
        pages.file_bytes = bytes;

        let (report, sqlite_problems, checksum) = std::thread::scope(|scope| {
            let interrupt = connection.as_ref().ok().map(Connection::get_interrupt_handle);
            let sqlite = self.sqlite;
            let theirs = scope.spawn(move || match connection {
                Ok(connection) => sqlite_check(&connection, sqlite),
                Err(problem) => Ok(vec![problem]),
            });
            let ours = (|| {
                let options = Options { problems_max: PROBLEMS_MAX, ..Options::default() };
                progress.phase(Phase::Check.name(), Some(Amount { rows: 0, bytes }));
                let report = check::check(&mut pages, bytes, &options)?;
                let checksum = match &report.header {
                    Some(header) if self.checksum => {
                        progress.phase(Phase::Read.name(), Some(Amount { rows: 0, bytes }));
                        Some(pages.checksum(header.geometry, report.page_count)?)
                    }
                    _ => None,
                };
                Ok::<_, Error>((report, checksum))
            })();
            if let (Err(_), Some(interrupt)) = (&ours, interrupt) {
                interrupt.interrupt();
            }
            let theirs = theirs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (report, checksum) = ours?;
            let problems = theirs.map_err(|error| unreadable(target, error))?;
            Ok::<_, Error>((report, problems, checksum))
        })?;
        let seconds = started.elapsed().as_secs_f64();
        Ok(Checked { report, sqlite_problems, checksum, bytes, seconds })
    }
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Read => "read",
            Phase::Check => "check",
        }
    }
}

/// A connection in a read transaction, so that nobody changes the file; or what SQLite says when it takes it for no
/// database, which our reader will explain.
fn hold(target: &Path, cancel: &Cancel) -> Result<Result<Connection, String>> {
    // An absolute path is never taken for a URI.
    let path = std::path::absolute(target).map_err(|e| Error::read(target, e))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let begun = Connection::open_with_flags(&path, flags).and_then(|mut connection| {
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        // SQLite's check may go on when ours has long been done.
        let cancel = cancel.clone();
        connection.progress_handler(1000, Some(move || cancel.check().is_err()))?;
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    });
    let connection = match begun {
        Ok(connection) => connection,
        Err(error) if matches!(error.sqlite_error_code(), Some(code) if is_unsound(code)) => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(unreadable(target, error)),
    };
    let mut wal = path.into_os_string();
    wal.push("-wal");
    if std::fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0) {
        let message = format!("the newest pages of {} are in its write-ahead log", target.display());
        return Err(Error::target(message).hint(format!(
            "let SQLite put them where they belong: sqlite3 {} 'PRAGMA wal_checkpoint(TRUNCATE)'",
            target.display()
        )));
    }
    Ok(Ok(connection))
}

fn is_unsound(code: rusqlite::ErrorCode) -> bool {
    matches!(code, rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
}

fn unreadable(target: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{DatabaseBusy, OperationInterrupted};
    match error.sqlite_error_code() {
        Some(DatabaseBusy) => Error::target(format!("{} is being written", target.display()))
            .hint("wait until that is done")
            .because(error),
        Some(OperationInterrupted) => Error::interrupted(),
        _ => Error::input(format!("SQLite cannot read {}", target.display())).because(error),
    }
}

fn sqlite_check(connection: &Connection, check: SqliteCheck) -> rusqlite::Result<Vec<String>> {
    let pragma = match check {
        SqliteCheck::Skip => return Ok(Vec::new()),
        SqliteCheck::Quick => "quick_check",
        SqliteCheck::Full => "integrity_check",
    };
    let mut statement = connection.prepare(&format!("PRAGMA {pragma}({PROBLEMS_MAX})"))?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines = match lines.collect::<rusqlite::Result<Vec<_>>>() {
        Ok(lines) => lines,
        Err(error) if matches!(error.sqlite_error_code(), Some(code) if is_unsound(code)) => {
            vec![error.to_string()]
        }
        Err(error) => return Err(error),
    };
    Ok(if lines == ["ok"] { Vec::new() } else { lines })
}

/// Reads pages from a file through a few windows: a tree that was written in order is read in order, level by level.
struct FilePages<'a> {
    file: &'a File,
    path: &'a Path,
    file_bytes: u64,
    /// What was read last comes first.
    windows: Vec<Window>,
    progress: &'a dyn Progress,
    cancel: &'a Cancel,
}

/// A part of the file that begins at a multiple of [`WINDOW_BYTES`].
#[derive(Default)]
struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl<'a> FilePages<'a> {
    fn new(
        file: &'a File,
        path: &'a Path,
        file_bytes: u64,
        progress: &'a dyn Progress,
        cancel: &'a Cancel,
    ) -> FilePages<'a> {
        FilePages { file, path, file_bytes, windows: Vec::new(), progress, cancel }
    }

    /// The window that holds byte `at`.
    fn window(&mut self, at: u64) -> Result<&Window> {
        let start = at - at % WINDOW_BYTES;
        let found = self.windows.iter().position(|window| window.at == start && !window.bytes.is_empty());
        let index = match found {
            Some(index) => index,
            None => {
                self.cancel.check()?;
                if self.windows.len() < WINDOWS {
                    self.windows.push(Window::default());
                }
                let index = self.windows.len() - 1;
                let Window { at, bytes } = &mut self.windows[index];
                *at = start;
                bytes.resize((self.file_bytes - start).min(WINDOW_BYTES) as usize, 0);
                self.file.read_exact_at(bytes, start).map_err(|e| Error::read(self.path, e))?;
                self.progress.advance(Amount { rows: 0, bytes: bytes.len() as u64 });
                index
            }
        };
        self.windows[..=index].rotate_right(1);
        Ok(&self.windows[0])
    }

    fn checksum(&mut self, geometry: Geometry, page_count: u32) -> Result<String> {
        let sum = checksum::of_pages(geometry, page_count, |number, page| self.read_page(number, page))?;
        Ok(sum.to_hex())
    }
}

impl ReadPage for FilePages<'_> {
    type Error = Error;

    fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<()> {
        let at = u64::from(number - 1) * into.len() as u64;
        let window = self.window(at)?;
        let skip = (at - window.at) as usize;
        into.copy_from_slice(&window.bytes[skip..skip + into.len()]);
        Ok(())
    }
}
