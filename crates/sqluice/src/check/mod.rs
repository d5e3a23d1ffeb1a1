//! `check` and `info`: is this file sound, and what is in it?
//!
//! Our reader ([`sqluice_format::check`]) reads the file's bytes, on all cores; SQLite says what the schema means.
//! SQLite's own `integrity_check`, which shares no code with it, can run beside it. A SQLite read transaction is held
//! meanwhile, so the file does not change. Where the newest pages are in the write-ahead log, SQLite reads them for us.
//!
//! Invariant: a check changes no byte of the database, its log or its journal. A hot journal is an error.
//!
//! ```text
//!  SQLite: read transaction, schema ──> parts of trees ──> workers (one a core) ──> joined in order ──> report
//!                                  └──> integrity_check, if it is asked for ──────────────────────────────┘
//! ```
//!
//! The file is opened here before SQLite opens it and closed after SQLite has closed it: closing any descriptor of a file
//! drops the locks that the process has on it, SQLite's among them.

mod connection;
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

/// A database to look at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Check {
    /// The file.
    pub target: PathBuf,
    /// Whether SQLite's `integrity_check` runs besides.
    pub full: bool,
    /// Whether to add up the checksum of all pages.
    pub checksum: bool,
    /// Threads that read; `None`: one a core.
    pub threads: Option<usize>,
}

/// What was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checked {
    /// What our reader found.
    pub report: check::Report,
    /// What was not verified, in the order of its kinds and names.
    pub unverified: Vec<Unverified>,
    /// What SQLite said against the file.
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

    /// Whether no fault was found.
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
    /// Runs SQLite's `integrity_check` besides.
    full(full: bool) = full;
    /// Computes the checksum of all pages.
    checksum(checksum: bool) = checksum;
    /// Sets the number of threads that read; `None`: one for each core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
}

impl Check {
    /// A check of the database `target`, without SQLite's own and without a checksum.
    pub fn new(target: impl Into<PathBuf>) -> Check {
        Check { target: target.into(), full: false, checksum: false, threads: None }
    }

    /// Checks the database, silently.
    ///
    /// # Errors
    /// As [`Check::run_with`].
    pub fn run(&self) -> Result<Checked> {
        self.run_with(&Context::default())
    }

    /// Checks the database, watched and stopped by `context`.
    ///
    /// # Errors
    /// If the file can't be read, or is in use in a way that does not let it be. Whatever is wrong with the database is
    /// in the result.
    pub fn run_with(&self, context: &Context<'_>) -> Result<Checked> {
        let started = Instant::now();
        let target = &self.target;
        if self.threads == Some(0) {
            return Err(Error::usage("no threads can do no work").hint("give at least 1"));
        }
        crate::remote::refuse_url(target, "checked")?;
        // Looked at before it is opened, since opening a named pipe waits for a writer.
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
            // The size may have changed before the lock was taken.
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
        let ((report, checksum), said) = self.beside(connection, || {
            context.progress.phase(Phase::Check.name(), Some(Amount { rows: 0, bytes }));
            self.read(&shared, &options)
        })?;
        let unverified = sqlite::left_unverified(found, said.as_ref());
        sqlite_problems.extend(said.into_iter().flat_map(|said| said.problems));
        let seconds = started.elapsed().as_secs_f64();
        Ok(Checked { report, unverified, sqlite_problems, checksum, bytes, seconds })
    }

    /// Runs SQLite's check, if it is asked for, while `ours` runs. SQLite's read transaction ends after both.
    fn beside<T>(
        &self,
        connection: Option<Connection>,
        ours: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Option<Said>)> {
        let Some(connection) = connection else { return Ok((ours()?, None)) };
        if !self.full {
            let ours = ours();
            drop(connection);
            return Ok((ours?, None));
        }
        std::thread::scope(|scope| {
            let interrupt = connection.get_interrupt_handle();
            let theirs = scope.spawn(move || (sqlite::integrity_check(&connection), connection));
            let ours = ours();
            if ours.is_err() {
                interrupt.interrupt();
            }
            let (theirs, connection) = theirs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            drop(connection);
            let ours = ours?;
            let theirs = theirs.map_err(|error| unreadable(&self.target, error))?;
            Ok((ours, Some(theirs)))
        })
    }

    /// Has our reader read everything.
    fn read(&self, shared: &Shared<'_>, options: &Options<'_>) -> Result<(check::Report, Option<String>)> {
        let mut pages = shared.pages();
        let parts = Parts::new(&mut pages, shared.file_bytes, options)?;
        let (done, mut checksum) = self.parts(&parts, shared)?;
        let report = parts.finish(done, &mut pages)?;
        let Some(header) = report.header.as_ref().filter(|_| self.checksum) else {
            return Ok((report, None));
        };
        // Free pages are not read.
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

    /// Reads all parts, and adds up the checksum of their pages.
    fn parts(&self, parts: &Parts<'_>, shared: &Shared<'_>) -> Result<(Vec<Done>, Checksum)> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.threads.unwrap_or_else(cores).min(parts.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut pages = shared.pages();
            let mut done = Vec::new();
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts.len() {
                    return Ok((done, pages.checksum));
                }
                // No other part needs to begin.
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

/// The header, if the file has one.
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
