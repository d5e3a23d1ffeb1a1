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

/// The smallest number of chunks (buffers of finished pages) of a worker thread: while one chunk is written, the thread fills another, and
/// a third one waits to be written.
pub const CHUNKS_PER_WORKER_MIN: usize = 3;

/// The largest number of chunks (buffers of finished pages) of a worker thread. More chunks would not keep the disk busier.
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
    /// The largest number of worker threads; `None` for one per core. A run has fewer threads if the memory does not suffice for the
    /// buffers of so many.
    pub threads: Option<usize>,
    /// The memory of the run in bytes, without the largest single row: at least 24 MiB; 32 MiB if rows or indexes are sorted; more if the
    /// database is an object in an object store.
    pub memory_bytes: u64,
    /// The page size of a new file. An existing file keeps its page size.
    pub page_size: PageSize,
    /// `true` if an existing database at the target is replaced. No connection of this process may have that database open, not even an
    /// idle connection: it would lose its locks.
    pub overwrite: bool,
    /// The folder for temporary files; `None` for the folder of the target, or for the folder of the system if the target is no file.
    pub temp_dir: Option<PathBuf>,
    /// The destination of the database, if it is not a file. The target is then the name of the object.
    pub destination: Option<Arc<dyn Destination>>,
    /// The treatment of rows with the same key. ON CONFLICT clauses of the schema are ignored.
    pub on_conflict: OnConflict,
    /// `true` if ANALYZE is run.
    pub analyze: bool,
    /// `true` if a row without the parent that its FOREIGN KEY requires ends the run; `None` to check foreign keys in a new database but
    /// not in an existing one, like SQLite's default.
    pub foreign_keys: Option<bool>,
    /// The treatment of a table that exists in the database.
    pub if_exists: IfExists,
    /// The full-text tables with text in other tables (FTS5 option `content`) that get the new rows of those tables, although no trigger
    /// adds the rows.
    pub full_text: Vec<String>,
    /// The rowid of the first row of a new table whose rows have no rowids of their own. The rowids of the other rows follow. If SQLite
    /// inserts the rows, their rowids begin at 1 instead.
    pub first_rowid: i64,
    /// The time to wait for a database that is in use.
    pub busy_timeout: Duration,
    /// `true` if the run may assume that only visible processes have a replaced database open. Such a database is replaced by a rename: an
    /// unseen user would keep reading the old content.
    pub assume_unused: bool,
    /// The limits of requests for files and databases behind URLs.
    pub requests: RequestLimits,
    /// The sizes and limits that only tests change.
    #[doc(hidden)]
    pub tuning: Tuning,
}

/// Sizes and limits that only tests change. The bytes of a file may depend on them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// The number of new rows from which the indexes of an existing table are rebuilt. Below it, SQLite inserts the rows faster than a
    /// rebuild reads the indexes.
    pub many_rows: u64,
    /// The size in bytes of a chunk, a buffer of finished pages that goes to the writer as a whole.
    pub chunk_bytes: usize,
    /// The offset in the file of the first byte that SQLite locks. Tests move it so that small files reach it.
    pub pending_byte: u32,
    /// The number of bytes of text at the start of each file that a load reads before it plans.
    pub sample_bytes: usize,
    /// The approximate number of bytes of text in a part of a file, which one thread decodes.
    pub part_bytes: usize,
}

impl Tuning {
    /// The sizes and limits that programs use.
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
            full_text: Vec::new(),
            first_rowid: 1,
            busy_timeout: Duration::from_secs(5),
            assume_unused: false,
            requests: RequestLimits::default(),
            tuning: Tuning::DEFAULT,
        }
    }
}

impl WriteOptions {
    /// Returns the default options: a new file, at most one thread per core, 256 MiB of buffers.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Changes sizes and limits for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn tune(mut self, tune: impl FnOnce(&mut Tuning)) -> WriteOptions {
        tune(&mut self.tuning);
        self
    }
}

setters! { WriteOptions:
    /// Sets the largest number of worker threads; `None` for one per core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
    /// Sets the memory of the run in bytes: at least 24 MiB; 32 MiB if rows or indexes are sorted; more if the database is an object in an
    /// object store.
    memory_bytes(bytes: u64) = bytes;
    /// Sets the page size of a new file. An existing file keeps its page size.
    page_size(size: PageSize) = size;
    /// Replaces an existing database at the target. No connection of this process may have that database open.
    overwrite(overwrite: bool) = overwrite;
    /// Sets the folder of temporary files. The default is the folder of the target, or the folder of the system if the target is no file.
    temp_dir(folder: impl Into<PathBuf>) = Some(folder.into());
    /// Sets a destination for the database that is not a file.
    destination(destination: impl Into<Option<Arc<dyn Destination>>>) = destination.into();
    /// Sets the treatment of rows with the same key.
    on_conflict(on_conflict: OnConflict) = on_conflict;
    /// Runs ANALYZE at the end.
    analyze(analyze: bool) = analyze;
    /// Sets whether foreign keys are checked; `None` to check them only in a new database.
    foreign_keys(check: impl Into<Option<bool>>) = check.into();
    /// Sets the treatment of an existing table.
    if_exists(if_exists: IfExists) = if_exists;
    /// Sets the full-text tables with text in other tables (FTS5 option `content`) that get the new rows of those tables, although no
    /// trigger adds the rows.
    full_text(tables: impl IntoIterator<Item = impl Into<String>>) = tables.into_iter().map(Into::into).collect();
    /// Sets the rowid of the first row of a new table whose rows have no rowids of their own.
    first_rowid(rowid: i64) = rowid;
    /// Sets the time to wait for a database that is in use.
    busy_timeout(timeout: Duration) = timeout;
    /// Replaces a database by a rename even if unseen processes could have it open.
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
            Setting::Fts => self.full_text = value.to()?,
            Setting::FirstRowid => self.first_rowid = value.to()?,
            Setting::BusyTimeout => self.busy_timeout = value.to()?,
            Setting::AssumeUnused => self.assume_unused = value.to()?,
            _ => return self.requests.set(setting, value),
        }
        Ok(true)
    }
}

/// Parses a page size.
///
/// # Errors
/// If the value is no valid page size.
pub fn given_page_size(value: &Value) -> Result<PageSize> {
    let bytes: u64 = value.to()?;
    u32::try_from(bytes).ok().and_then(PageSize::new).ok_or_else(|| {
        let message =
            message![Setting::PageSize.to(bytes.to_string()), " is not a power of two from 512 to 65536"];
        Error::usage(message)
    })
}

/// The treatment of a row whose PRIMARY KEY or UNIQUE key an earlier row has ([ON CONFLICT](https://www.sqlite.org/lang_conflict.html)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// The row ends the run.
    #[default]
    Abort,
    /// The row is left out.
    Ignore,
    /// Earlier rows with the key are left out.
    Replace,
}

impl OnConflict {
    const WORDS: [(&str, OnConflict); 3] =
        [("abort", OnConflict::Abort), ("ignore", OnConflict::Ignore), ("replace", OnConflict::Replace)];
}

/// The treatment of a table that exists in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfExists {
    /// An existing table ends the run.
    #[default]
    Fail,
    /// The table keeps its rows and gets the new rows.
    Append,
    /// The new rows replace the old rows. The columns, indexes and triggers of the table stay, and the triggers fire.
    Replace,
    /// Existing rows with the same values in these columns, which are a key of the table, are updated in the given columns. Other rows are
    /// added.
    Upsert(Vec<String>),
}

/// The effect of a run on a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Action {
    /// The table is created.
    #[default]
    Make,
    /// The table keeps its rows and gets new rows.
    Append,
    /// New rows replace the rows of the table.
    Replace,
    /// Rows with existing keys are updated, and other rows are added.
    Upsert,
}

/// The method by which rows or index entries are written to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WritePath {
    /// Rows or entries are encoded into pages in the order of their arrival.
    Pages,
    /// Rows or entries are sorted, and then encoded into pages.
    Sorted,
    /// SQLite writes rows or entries, after all pages of the file are written.
    Sqlite,
    /// SQLite inserts the rows in batches, and with them the entries of the indexes.
    Insert,
}

impl WritePath {
    /// Returns the name in plans and reports.
    pub fn name(self) -> &'static str {
        match self {
            WritePath::Pages => "pages",
            WritePath::Sorted => "sorted",
            WritePath::Sqlite => "sqlite",
            WritePath::Insert => "insert",
        }
    }
}
