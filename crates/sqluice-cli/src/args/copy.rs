//! What `copy` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use sqluice::copy;
use sqluice_format::page::PageSize;

use super::page_size;
use crate::numbers;

/// Copy a database, or some of its tables, to a new file without free pages
///
/// The copy has every table, index, view and trigger of the source, in its order and with its text, the same rowids, and no free pages.
/// It is one committed state: in WAL mode other programs can write to the source meanwhile; in the other journal modes their commits
/// wait, which --busy-limit limits.
///
/// Full pages are copied as they are, others are packed again. The order of every index is verified: an index that is out of order is
/// sorted and reported.
///
/// SOURCE and TARGET may be URLs: s3://bucket/name, gs://bucket/name, az://container/name, and for SOURCE https://host/name. A source behind a
/// URL is fetched to a temporary file first; a target in a store is uploaded as it is made, and is complete or absent.
///
/// With SOURCE itself as TARGET, the copy replaces it, as with VACUUM: no other program may use the database meanwhile.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice copy app.db backup.db
  without the bytes of deleted rows, with larger pages:
    sqluice copy app.db small.db --compact --page-size 16384
  in place, as VACUUM does:
    sqluice copy app.db app.db
  without a table:
    sqluice copy app.db shared.db --exclude-table users
  for readers that fetch ranges over a network:
    sqluice copy app.db s3://bucket/site.db --for http
  as SQL for Cloudflare D1, in a folder:
    sqluice copy app.db app-d1 --for d1")]
pub(crate) struct Copy {
    /// The database
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// The new file; with --for d1, a new folder
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// Choose the settings for a purpose; each is reported. Settings that you give are kept where the purpose allows it
    #[arg(long = "for", value_name = "PURPOSE")]
    pub(crate) purpose: Option<Purpose>,
    /// Pack all pages again: the file becomes as small as possible, and no bytes of deleted rows are copied
    #[arg(long)]
    pub(crate) compact: bool,
    /// Copy only this table or view, with its indexes and triggers; several are possible
    #[arg(long = "table", value_name = "TABLE", help_heading = "Selection")]
    pub(crate) tables: Vec<String>,
    /// Leave this table or view out, with its indexes and triggers; several are possible
    #[arg(long = "exclude-table", value_name = "TABLE", help_heading = "Selection")]
    pub(crate) exclude_tables: Vec<String>,
    /// Leave out all indexes that are not unique
    #[arg(long, help_heading = "Selection")]
    pub(crate) no_indexes: bool,
    /// Copy even if views, triggers or foreign keys need what is left out
    #[arg(long, help_heading = "Selection")]
    pub(crate) force: bool,
    /// Bytes of a page of the copy: a power of two from 512 to 65536 [default: as in the source]
    #[arg(long, value_name = "BYTES", value_parser = page_size, help_heading = "The new file")]
    pub(crate) page_size: Option<PageSize>,
    /// The journal mode of the copy [default: delete, or as before if TARGET is SOURCE]
    #[arg(long, value_name = "MODE", help_heading = "The new file")]
    pub(crate) journal_mode: Option<JournalMode>,
    /// The auto_vacuum mode of the copy; with full and incremental, SQLite writes the file, in the order of VACUUM INTO
    /// [default: as in the source]
    #[arg(long, value_name = "MODE", help_heading = "The new file")]
    pub(crate) auto_vacuum: Option<AutoVacuum>,
    /// PRAGMA user_version of the copy [default: as in the source]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "The new file")]
    pub(crate) user_version: Option<i32>,
    /// PRAGMA application_id of the copy [default: as in the source]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "The new file")]
    pub(crate) application_id: Option<i32>,
    /// Place all interior pages after the first page: readers that fetch ranges get them at once. Reads the source twice; not possible
    /// with auto_vacuum
    #[arg(long, help_heading = "The new file")]
    pub(crate) interior_first: bool,
    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Writing")]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes, help_heading = "Writing")]
    pub(crate) memory: u64,
    /// Where to keep what does not fit the memory [default: the folder of the new file]
    #[arg(long, value_name = "DIR", help_heading = "Writing")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Replace an existing database as a whole. On a terminal, its tables are listed and you are asked first
    #[arg(long, help_heading = "Writing")]
    pub(crate) overwrite: bool,
    /// Do not ask before an existing database is replaced
    #[arg(short, long, help_heading = "Writing")]
    pub(crate) yes: bool,
    /// How long to wait for a database that another program writes, in seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Writing")]
    pub(crate) busy_timeout: Duration,
    /// How long the commits of other programs may wait for the copy, in seconds, or such as 500ms or 2min; then it ends without a file
    /// [default: until it is done]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration, help_heading = "Writing")]
    pub(crate) busy_limit: Option<Duration>,
    /// Print what would be done, and do nothing
    #[arg(long, help_heading = "Writing")]
    pub(crate) dry_run: bool,
}

/// What a copy is for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Purpose {
    /// Readers that fetch ranges over HTTP: packed pages of 4096 bytes, interior pages first
    Http,
    /// Datasette: packed; writes a file for --inspect-file beside it
    Datasette,
    /// An import into Turso: pages of 4096 bytes, journal mode wal, no auto_vacuum
    Turso,
    /// An import into Cloudflare D1: a folder of SQL files within its limits
    D1,
    /// An app that ships with the database: packed pages of 4096 bytes
    Mobile,
}

/// A journal mode.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum JournalMode {
    /// A rollback journal
    Delete,
    /// A write-ahead log
    Wal,
}

/// A mode of auto_vacuum.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AutoVacuum {
    /// Free pages stay in the file
    None,
    /// Every commit gives them back
    Full,
    /// PRAGMA incremental_vacuum gives them back
    Incremental,
}

impl From<Purpose> for copy::Purpose {
    fn from(purpose: Purpose) -> copy::Purpose {
        match purpose {
            Purpose::Http => copy::Purpose::Http,
            Purpose::Datasette => copy::Purpose::Datasette,
            Purpose::Turso => copy::Purpose::Turso,
            Purpose::D1 => copy::Purpose::D1,
            Purpose::Mobile => copy::Purpose::Mobile,
        }
    }
}

impl From<JournalMode> for copy::JournalMode {
    fn from(mode: JournalMode) -> copy::JournalMode {
        match mode {
            JournalMode::Delete => copy::JournalMode::Delete,
            JournalMode::Wal => copy::JournalMode::Wal,
        }
    }
}

impl From<AutoVacuum> for copy::AutoVacuum {
    fn from(mode: AutoVacuum) -> copy::AutoVacuum {
        match mode {
            AutoVacuum::None => copy::AutoVacuum::None,
            AutoVacuum::Full => copy::AutoVacuum::Full,
            AutoVacuum::Incremental => copy::AutoVacuum::Incremental,
        }
    }
}
