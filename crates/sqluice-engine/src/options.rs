//! How a database is written, and the ways that rows take into it.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use sqluice_format::page::{PENDING_BYTE, PageSize};

/// Chunks that each worker has at least: one to fill, one that is being written, one in between.
pub const CHUNKS_PER_WORKER_MIN: usize = 3;

/// Chunks that each worker has at most: more would not make the disk any busier.
pub const CHUNKS_PER_WORKER_MAX: usize = 6;

/// How a database is written, whatever its rows come from.
#[derive(Clone, Debug)]
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
    /// Where to keep what does not fit the memory; `None`: in the folder of the target.
    pub temp_dir: Option<PathBuf>,
    /// How rows with the same key are handled. ON CONFLICT clauses of the schema are not followed.
    pub on_conflict: OnConflict,
    /// Whether to run ANALYZE.
    pub analyze: bool,
    /// Whether a FOREIGN KEY without the row that it refers to ends the run; `None`: foreign keys are checked in a new database,
    /// and not in an existing one, as SQLite itself does by default.
    pub foreign_keys: Option<bool>,
    /// How a table that exists in the database is handled.
    pub if_exists: IfExists,
    /// How long to wait for a database that is in use.
    pub busy_timeout: Duration,
    /// From this number of rows on, the indexes of an existing table are rebuilt: with fewer, SQLite has inserted them before
    /// the indexes are read. Tests make it small.
    #[doc(hidden)]
    pub many_rows: u64,
    /// Bytes of pages that go to the writer at a time. The bytes of the file depend on it, so only tests change it.
    #[doc(hidden)]
    pub chunk_bytes: usize,
    /// Where SQLite's lock byte is: tests move it to where small files reach it.
    #[doc(hidden)]
    pub pending_byte: u32,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            threads: None,
            memory_bytes: 256 << 20,
            page_size: PageSize::DEFAULT,
            overwrite: false,
            temp_dir: None,
            on_conflict: OnConflict::Abort,
            analyze: false,
            foreign_keys: None,
            if_exists: IfExists::Refuse,
            busy_timeout: Duration::from_secs(5),
            many_rows: 10_000,
            chunk_bytes: 8 << 20,
            pending_byte: PENDING_BYTE,
        }
    }
}

/// How a row is handled whose PRIMARY KEY or UNIQUE key an earlier row has
/// ([ON CONFLICT](https://www.sqlite.org/lang_conflict.html)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// It ends the run.
    #[default]
    Abort,
    /// It is left out.
    Ignore,
    /// Those before it are left out.
    Replace,
}

/// How a table that exists in the database is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfExists {
    /// It ends the run.
    #[default]
    Refuse,
    /// It gets the new rows besides its own.
    Append,
    /// It gets the new rows instead of its own. Its columns, indexes and triggers stay, and these fire.
    Replace,
    /// Existing rows with the same values in these columns, which are a key of the table, are updated in the columns that are
    /// given; other rows are added.
    Upsert(Vec<String>),
}

/// What is done to a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is made.
    #[default]
    Make,
    /// It gets rows besides its own.
    Append,
    /// It gets rows instead of its own.
    Replace,
    /// Some of its rows are changed, and others added.
    Upsert,
}

/// The way that rows or index entries take into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WritePath {
    /// Encoded into pages as they come.
    Pages,
    /// Sorted, and then encoded into pages.
    Sorted,
    /// By SQLite, when the pages of the rest are in place.
    Sqlite,
    /// By INSERT, a batch of rows at a time; entries of indexes come with the rows.
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
