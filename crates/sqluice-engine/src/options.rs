//! The options of a write, and the write paths of rows.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::remote::RequestLimits;
use sqluice_core::setters;
use sqluice_core::source::PART_BYTES;
use sqluice_format::page::PENDING_BYTE;
pub use sqluice_format::page::PageSize;

use crate::destination::Destination;

/// The fewest chunks of a worker: one to fill, one that is being written, one in between.
pub const CHUNKS_PER_WORKER_MIN: usize = 3;

/// The most chunks of a worker: more would not make the disk any busier.
pub const CHUNKS_PER_WORKER_MAX: usize = 6;

/// Options of a write, for any source of rows.
///
/// ```
/// use sqluice_engine::options::{IfExists, WriteOptions};
///
/// let options = WriteOptions::new().threads(4).if_exists(IfExists::Append);
/// assert_eq!(options.threads, Some(4));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Worker threads; `None`: one a core.
    pub threads: Option<usize>,
    /// Bytes that the run may take, besides the largest single row: at least 24 MiB.
    pub memory_bytes: u64,
    /// The page size of a new file; an existing one keeps its own.
    pub page_size: PageSize,
    /// Whether an existing database with the target's name is replaced. No connection of this process may have it open, not
    /// even an idle one: it would lose its locks.
    pub overwrite: bool,
    /// The folder for temporary files; `None`: the folder of the target.
    pub temp_dir: Option<PathBuf>,
    /// Where the database is made, if not in a file; the target is its name, then.
    pub destination: Option<Arc<dyn Destination>>,
    /// How rows with the same key are handled. ON CONFLICT clauses of the schema are not followed.
    pub on_conflict: OnConflict,
    /// Whether to run ANALYZE.
    pub analyze: bool,
    /// Whether a row without the parent that its FOREIGN KEY requires ends the run; `None`: foreign keys are checked in a new database,
    /// and not in an existing one, as SQLite itself does by default.
    pub foreign_keys: Option<bool>,
    /// How a table that exists in the database is handled.
    pub if_exists: IfExists,
    /// The rowid of the first row of a new table whose rows have no numbers of their own; those of the others follow it. Rows that SQLite
    /// inserts count from 1.
    pub first_rowid: i64,
    /// How long to wait for a database that is in use.
    pub busy_timeout: Duration,
    /// `true` if a database that is replaced has no users except those that are seen. Such a database is
    /// replaced by a rename, even if others could have it open unseen: an unseen user would keep reading the
    /// old content.
    pub assume_unused: bool,
    /// The limits of requests for files and databases behind URLs.
    pub requests: RequestLimits,
    /// Sizes and limits that only tests change.
    #[doc(hidden)]
    pub tuning: Tuning,
}

/// Sizes and limits that only tests change: the bytes of a file may depend on them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// From this number of rows on, the indexes of an existing table are rebuilt: with fewer, SQLite has inserted them before
    /// the indexes are read.
    pub many_rows: u64,
    /// Bytes of pages that go to the writer at a time.
    pub chunk_bytes: usize,
    /// The position of SQLite's lock byte: tests move it to where small files reach it.
    pub pending_byte: u32,
    /// How much of each file a load reads before it decides anything, in bytes of text.
    pub sample_bytes: usize,
    /// How much of a file one part is, in bytes of text.
    pub part_bytes: usize,
}

impl Tuning {
    /// The values outside of tests.
    pub const DEFAULT: Tuning = Tuning {
        many_rows: 10_000,
        chunk_bytes: 8 << 20,
        pending_byte: PENDING_BYTE,
        sample_bytes: 2 << 20,
        part_bytes: PART_BYTES,
    };
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning::DEFAULT
    }
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            threads: None,
            memory_bytes: 256 << 20,
            page_size: PageSize::DEFAULT,
            overwrite: false,
            temp_dir: None,
            destination: None,
            on_conflict: OnConflict::Abort,
            analyze: false,
            foreign_keys: None,
            if_exists: IfExists::Fail,
            first_rowid: 1,
            busy_timeout: Duration::from_secs(5),
            assume_unused: false,
            requests: RequestLimits::default(),
            tuning: Tuning::DEFAULT,
        }
    }
}

impl WriteOptions {
    /// The default options: a new file, one thread for each core, 256 MiB of buffers.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Changes the sizes and limits that only tests change.
    #[doc(hidden)]
    #[must_use]
    pub fn tune(mut self, tune: impl FnOnce(&mut Tuning)) -> WriteOptions {
        tune(&mut self.tuning);
        self
    }
}

setters! { WriteOptions:
    /// Sets the number of worker threads; `None`: one for each core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
    /// Sets how much memory the run may use, in bytes: at least 24 MiB.
    memory_bytes(bytes: u64) = bytes;
    /// Sets the page size of a new file. An existing file keeps its own.
    page_size(size: PageSize) = size;
    /// Replaces an existing database at the target. No connection of this process may have that database open.
    overwrite(overwrite: bool) = overwrite;
    /// Sets the folder of temporary files. The default is the target's folder.
    temp_dir(folder: impl Into<PathBuf>) = Some(folder.into());
    /// Makes the database somewhere else than in a file.
    destination(destination: impl Into<Option<Arc<dyn Destination>>>) = destination.into();
    /// Sets how rows with the same key are handled.
    on_conflict(on_conflict: OnConflict) = on_conflict;
    /// Runs ANALYZE at the end.
    analyze(analyze: bool) = analyze;
    /// Checks foreign keys, or does not check them; `None`: checks them in a new database only.
    foreign_keys(check: impl Into<Option<bool>>) = check.into();
    /// Sets how a table that already exists is handled.
    if_exists(if_exists: IfExists) = if_exists;
    /// Sets the rowid of the first row of a new table whose rows have no numbers of their own.
    first_rowid(rowid: i64) = rowid;
    /// Sets how long to wait for a database that is in use.
    busy_timeout(timeout: Duration) = timeout;
    /// Replaces a database by a rename even where others could have it open unseen.
    assume_unused(assume: bool) = assume;
    /// Sets the limits of requests for files and databases behind URLs.
    requests(limits: RequestLimits) = limits;
}

impl TakesSettings for WriteOptions {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Threads => self.threads = Some(value.to()?),
            Setting::Memory => self.memory_bytes = value.to()?,
            Setting::PageSize => self.page_size = given_page_size(value)?,
            Setting::Overwrite => self.overwrite = value.to()?,
            Setting::TempDir => self.temp_dir = Some(value.to()?),
            Setting::OnConflict => self.on_conflict = value.word(setting, &OnConflict::WORDS)?,
            Setting::Analyze => self.analyze = value.to()?,
            Setting::ForeignKeys => self.foreign_keys = Some(value.to()?),
            Setting::Append => self.if_exists = IfExists::Append,
            Setting::ReplaceTable => self.if_exists = IfExists::Replace,
            Setting::Upsert => self.if_exists = IfExists::Upsert(value.to()?),
            Setting::FirstRowid => self.first_rowid = value.to()?,
            Setting::BusyTimeout => self.busy_timeout = value.to()?,
            Setting::AssumeUnused => self.assume_unused = value.to()?,
            _ => return self.requests.set(setting, value),
        }
        Ok(true)
    }
}

/// Reads a page size that is given.
///
/// # Errors
/// If there is no such page size.
pub fn given_page_size(value: &Value) -> Result<PageSize> {
    let bytes: u64 = value.to()?;
    u32::try_from(bytes).ok().and_then(PageSize::new).ok_or_else(|| {
        let message =
            message![Setting::PageSize.to(bytes.to_string()), " is not a power of two from 512 to 65536"];
        Error::usage(message)
    })
}

/// How a row is handled whose PRIMARY KEY or UNIQUE key an earlier row has
/// ([ON CONFLICT](https://www.sqlite.org/lang_conflict.html)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// The row ends the run.
    #[default]
    Abort,
    /// The row is left out.
    Ignore,
    /// Earlier rows with its key are left out.
    Replace,
}

impl OnConflict {
    const WORDS: [(&str, OnConflict); 3] =
        [("abort", OnConflict::Abort), ("ignore", OnConflict::Ignore), ("replace", OnConflict::Replace)];
}

/// How a table that exists in the database is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfExists {
    /// An existing table ends the run.
    #[default]
    Fail,
    /// The table keeps its rows and gets the new ones.
    Append,
    /// The table gets the new rows instead of its own. Its columns, indexes and triggers stay, and these fire.
    Replace,
    /// Existing rows with the same values in these columns, which are a key of the table, are updated in the columns that are
    /// given; other rows are added.
    Upsert(Vec<String>),
}

/// What is done to a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Action {
    /// The table is created.
    #[default]
    Make,
    /// The table keeps its rows and gets new ones.
    Append,
    /// The table gets new rows instead of its own.
    Replace,
    /// Rows with existing keys are updated, and others added.
    Upsert,
}

/// The way by which rows or index entries are written to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WritePath {
    /// Encoded into pages in the order of arrival.
    Pages,
    /// Sorted, and then encoded into pages.
    Sorted,
    /// By SQLite, when the pages of the rest are in place.
    Sqlite,
    /// By INSERT, a batch of rows at a time; entries of indexes are inserted with the rows.
    Insert,
}

impl WritePath {
    /// Its name in plans and reports.
    pub fn name(self) -> &'static str {
        match self {
            WritePath::Pages => "pages",
            WritePath::Sorted => "sorted",
            WritePath::Sqlite => "sqlite",
            WritePath::Insert => "insert",
        }
    }
}
