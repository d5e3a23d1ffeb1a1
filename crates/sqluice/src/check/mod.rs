//! `check` and `info`: verifies a database and lists its content.
//!
//! [`sqluice_format::check`] reads the file's bytes, on all cores; SQLite parses the schema. On request, SQLite's own `integrity_check`
//! runs in parallel; it shares no code with the check of this crate. An SQLite read transaction is held meanwhile, so the file does not
//! change. If the newest pages are in the WAL, the check gets all pages from SQLite.
//!
//! Invariant: a check changes no byte of the database, its WAL or its journal. A hot journal is an error.
//!
//! ```text
//!  SQLite: read transaction, schema ──> parts of B-trees ──> threads (one per core) ──> results in order ──> report
//!                                   └──> integrity_check, if requested ──────────────────────────────────────────┘
//! ```
//!
//! This crate opens the file before SQLite opens it, and closes the file after SQLite has closed it: closing any descriptor of a file drops
//! all locks of the process on the file, including SQLite's.

mod computed;
mod connection;
mod full_text;
mod pages;
mod snapshot;
pub(crate) mod spec;
mod sqlite;
mod unverified;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rusqlite::Connection;
use serde::Serialize;
use sqluice_format::check::{self, Done, Options, Parts, ReadPage};
use sqluice_format::database::Header;
use sqluice_format::page::DATABASE_HEADER_BYTES;

use connection::Keeps;
use pages::{Bytes, Shared};
use sqlite::{Held, Said};
use sqluice_core::checksum::Checksum;
use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::setters;
use sqluice_platform::positioned::Positioned;
use sqluice_reader::connection::unreadable;
use sqluice_reader::descriptor::{Descriptor, no_file};
pub use unverified::{Unverified, UnverifiedKind};

/// A check of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Check {
    /// The file.
    pub target: PathBuf,
    /// `true` if SQLite's `integrity_check` also runs.
    pub full: bool,
    /// `true` if the checksum of all pages is computed.
    pub checksum: bool,
    /// The number of threads that read; `None` for one per core.
    pub threads: Option<usize>,
}

/// The result of a check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The findings of this crate's reader.
    pub report: check::Report,
    /// The parts of the database that were not verified, ordered by kind.
    pub unverified: Vec<Unverified>,
    /// The problems that SQLite has reported: those of `integrity_check` if it ran, and, also without it, the reason why SQLite can't read
    /// the database or its schema.
    pub sqlite_problems: Vec<String>,
    /// The checksum of all pages, in hexadecimal; `None` if it was not requested, or the file has no valid header.
    pub checksum: Option<String>,
    /// The number of bytes of the file; if its newest pages are in the WAL, the number of bytes of all pages.
    pub bytes: u64,
    /// The duration of the check in seconds.
    pub seconds: f64,
}

impl Checked {
    /// Returns the number of rows of all tables except the schema table.
    pub fn rows(&self) -> u64 {
        use sqluice_format::check::TreeKind::Index;
        self.report.trees.iter().skip(1).filter(|tree| tree.kind != Index).map(|tree| tree.rows).sum()
    }

    /// Returns `true` if neither this crate's reader nor SQLite has found a fault.
    pub fn is_sound(&self) -> bool {
        self.report.is_sound() && self.sqlite_problems.is_empty()
    }
}

/// The maximum number of problems that are listed. This crate's check counts its further problems, but SQLite's `integrity_check` stops
/// without a count.
const PROBLEMS_MAX: usize = 100;

/// The phases that [`Progress::phase`] reports.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    Read,
    Check,
}

impl TakesSettings for Check {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Full => self.full = value.to()?,
            Setting::Threads => self.threads = Some(value.to()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

setters! { Check:
    /// Also runs SQLite's `integrity_check`.
    full(full: bool) = full;
    /// Computes the checksum of all pages.
    checksum(checksum: bool) = checksum;
    /// Sets the number of threads that read; `None` for one per core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
}

impl Check {
    /// Creates a check of the database `target`, without SQLite's own check and without a checksum.
    pub fn new(target: impl Into<PathBuf>) -> Check {
        Check { target: target.into(), full: false, checksum: false, threads: None }
    }

    /// Checks the database without progress reports.
    ///
    /// # Errors
    /// As [`Check::run_with`].
    pub fn run(&self) -> Result<Checked> {
        self.run_with(&Context::default())
    }

    /// Checks the database. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If `threads` is 0, the file can't be read or has a hot journal, or another process uses it in a way that prevents reading. Faults of
    /// the database are in the result.
    pub fn run_with(&self, context: &Context<'_>) -> Result<Checked> {
        let started = Instant::now();
        let target = &self.target;
        if self.threads == Some(0) {
            return Err(Error::usage("threads must be at least 1")
                .hint("leave the setting out for one thread per core"));
        }
        crate::remote::refuse_url(target, "checked", "copy the database to a local file first")?;
        // The metadata is checked before the file is opened, as opening a named pipe waits for a writer.
        let metadata = std::fs::metadata(target).map_err(|e| Error::read(target, e))?;
        if let Some(why) = no_file(target, &metadata) {
            return Err(Error::input(why).hint("name a database file"));
        }
        let descriptor = Descriptor::open(target).map_err(|e| Error::read(target, e))?;
        let keeps = if self.full { Keeps::Checks } else { Keeps::NoChecks };
        let (connection, log, mut sqlite_problems) = match sqlite::hold(target, keeps, &context.cancel)? {
            Ok(Held { connection, log }) => (Some(connection), log, Vec::new()),
            Err(problem) => (None, None, vec![problem]),
        };
        let (from, bytes) = match &log {
            Some(log) => (Bytes::Log(log), log.bytes()),
            // Read the size only now, under the lock: it may have changed since the file was opened.
            None => (
                Bytes::File(descriptor.file()),
                descriptor.file().metadata().map_err(|e| Error::read(target, e))?.len(),
            ),
        };
        let header = header(from, bytes, target)?;
        let (mut tables, mut found) = (Vec::new(), Vec::new());
        if let Some(connection) = &connection {
            let encoding = header.map_or(1, |header| header.used_text_encoding());
            match sqlite::tables(connection, target, encoding)? {
                Ok(known) => (tables, found) = known,
                Err(problem) => sqlite_problems.push(problem),
            }
        }
        let page_size = header.filter(|_| self.checksum).map(|header| header.geometry.page_size());
        let shared = Shared::new((from, target), bytes, page_size, context);
        let options = Options { tables: &tables, problems_max: PROBLEMS_MAX, ..Options::default() };
        let ((mut report, checksum), said, connection) = self.beside(connection, || {
            context.progress.phase(Phase::Check.name(), Some(Amount { rows: 0, bytes }));
            self.read(&shared, &options)
        })?;
        if let Some(connection) = connection {
            full_text::check(&connection, &mut found, &mut report, self.workers(), context)?;
        }
        let found = unverified::with_uncompared(found, &report.uncompared);
        let unverified = sqlite::left_unverified(found, said.as_ref());
        sqlite_problems.extend(said.into_iter().flat_map(|said| said.problems));
        let seconds = started.elapsed().as_secs_f64();
        Ok(Checked { report, unverified, sqlite_problems, checksum, bytes, seconds })
    }

    /// Runs `ours` and, if requested, SQLite's check at the same time. Returns the results of both, and the connection that still holds
    /// its read transaction.
    fn beside<T>(
        &self,
        connection: Option<Connection>,
        ours: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Option<Said>, Option<Connection>)> {
        let connection = match connection {
            Some(connection) if self.full => connection,
            connection => return Ok((ours()?, None, connection)),
        };
        std::thread::scope(|scope| {
            let interrupt = connection.get_interrupt_handle();
            let theirs = scope.spawn(move || (sqlite::integrity_check(&connection), connection));
            let ours = ours();
            if ours.is_err() {
                interrupt.interrupt();
            }
            let (theirs, connection) = theirs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let ours = ours?;
            let theirs = theirs.map_err(|error| unreadable(&self.target, error))?;
            Ok((ours, Some(theirs), Some(connection)))
        })
    }

    /// Reads the whole database with this crate's reader.
    fn read(&self, shared: &Shared<'_>, options: &Options<'_>) -> Result<(check::Report, Option<String>)> {
        let mut pages = shared.pages();
        let parts = Parts::new(&mut pages, shared.file_bytes, options)?;
        let (done, mut checksum) = self.parts(&parts, shared)?;
        let report = parts.finish(done, &mut pages)?;
        let Some(header) = report.header.as_ref().filter(|_| self.checksum) else {
            return Ok((report, None));
        };
        // The check does not read every page, such as most free pages, so the checksum of the others is added here.
        let unread = shared.unread(header.geometry, report.page_count);
        shared.stop_counting();
        let page_bytes = header.geometry.page_bytes() as u64;
        if !unread.is_empty() {
            let bytes = unread.len() as u64 * page_bytes;
            shared.context.progress.phase(Phase::Read.name(), Some(Amount { rows: 0, bytes }));
        }
        let mut page = vec![0; header.geometry.page_bytes()];
        for number in unread {
            pages.read_page(number, &mut page)?;
            shared.context.progress.advance(Amount { rows: 0, bytes: page_bytes });
        }
        checksum.add_all(pages.checksum);
        Ok((report, Some(checksum.to_hex())))
    }

    /// Returns the number of threads that read.
    fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or_else(cores)
    }

    /// Checks all parts of the B-trees. Returns the result of each part in order, and the checksum of the pages that were read.
    fn parts(&self, parts: &Parts<'_>, shared: &Shared<'_>) -> Result<(Vec<Done>, Checksum)> {
        let threads = self.workers().min(parts.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut pages = shared.pages();
            let mut done = Vec::new();
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts.len() {
                    return Ok((done, pages.checksum));
                }
                // After the first error, no thread begins another part.
                done.push(
                    parts
                        .run(part, &mut pages)
                        .inspect_err(|_| next.store(parts.len(), Ordering::Relaxed))?,
                );
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let (mut all, mut sum) = (Vec::with_capacity(parts.len()), Checksum::default());
            let joined = workers.into_iter().map(|worker| worker.join());
            for result in joined.collect::<Vec<std::thread::Result<Result<_>>>>() {
                let (done, checksum) = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                all.extend(done);
                sum.add_all(checksum);
            }
            Ok((all, sum))
        })
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

/// Returns the file header, or `None` if the file is shorter than a header, or its header is not valid.
fn header(from: Bytes<'_>, bytes: u64, target: &Path) -> Result<Option<Header>> {
    let mut start = [0; DATABASE_HEADER_BYTES];
    if bytes < start.len() as u64 {
        return Ok(None);
    }
    match from {
        Bytes::File(file) => file.read_exact_at(&mut start, 0).map_err(|e| Error::read(target, e))?,
        Bytes::Log(log) => log.read_at(&mut start, 0).map_err(|e| unreadable(target, e))?,
    }
    Ok(Header::from_bytes(&start).ok())
}
