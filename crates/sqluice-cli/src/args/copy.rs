//! The arguments of `copy`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use sqluice::copy;
use sqluice::r#gen::MASK_FUNCTIONS;
use sqluice::options::PageSize;

use super::{Requests, page_size};
use crate::numbers;

/// Copy a database, or some of its tables, without free pages
///
/// The copy has every table, index, view and trigger of the source, with the same SQL text, order and rowids, and no free pages. It is one
/// committed state: in WAL mode, other programs can write to the source meanwhile; in other journal modes their commits wait, at most as
/// long as --busy-limit.
///
/// Full pages are copied as they are; other pages are packed again. Every page and record is verified, and every index is compared with its
/// table. An index that is out of order is sorted and reported.
///
/// SOURCE and TARGET may be URLs: s3://bucket/name, gs://bucket/name or az://container/name, and SOURCE also https://host/name. A source at
/// a URL is fetched to a temporary file first. A target in an object store is uploaded as it is written and appears only once complete.
///
/// With --mask, columns that a file names get other values, by a secret key: a person gets the same new name in every table, and keys,
/// joins and constraints hold. No byte of an old value of these columns is in the copy.
///
/// If TARGET is SOURCE, the copy replaces it, as VACUUM does; no other program may use the database meanwhile.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice copy app.db backup.db
  sqluice copy app.db app.db
  sqluice copy app.db shared.db --exclude-table users
  sqluice copy app.db safe.db --mask mask.sql
  sqluice copy app.db s3://bucket/site.db --for http")]
#[command(after_long_help = long_help())]
pub(crate) struct Copy {
    /// The database to copy
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// The new file; with --for d1, a new folder
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// Choose settings for: http, datasette, turso, d1 or mobile
    #[arg(
        long_help = "Choose the settings for a purpose, and report each. Settings that you give are kept if the purpose allows them",
        long = "for",
        value_name = "PURPOSE",
        hide_possible_values = true
    )]
    pub(crate) purpose: Option<Purpose>,
    /// Pack all pages again: the smallest file, without bytes of deleted rows
    #[arg(long)]
    pub(crate) compact: bool,
    /// Copy only this table or view, with its indexes and triggers; repeatable
    #[arg(long = "table", value_name = "TABLE", help_heading = "Selection")]
    pub(crate) tables: Vec<String>,
    /// Leave out this table or view, with its indexes and triggers; repeatable
    #[arg(long = "exclude-table", value_name = "TABLE", help_heading = "Selection")]
    pub(crate) exclude_tables: Vec<String>,
    /// Leave out indexes that are not unique
    #[arg(long, help_heading = "Selection")]
    pub(crate) no_indexes: bool,
    /// Copy even if views, triggers or foreign keys refer to objects that are left out
    #[arg(long, help_heading = "Selection")]
    pub(crate) force: bool,
    /// Compare no index with its table, and no value with its column; pages and records are always verified
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    pub(crate) no_verify: bool,
    /// Give columns other values: a schema file whose gen: comments say which, and how
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Masks",
        long_help = "Give columns other values. FILE is a schema file with the tables and columns to mask, each with a comment \
                     such as -- gen: name() or -- gen: shape(): the functions below, or those of generate that name no rows and no other columns. Columns that refer to a masked key get its mask"
    )]
    pub(crate) mask: Option<PathBuf>,
    /// File of the secret key, at least 16 bytes: the same key gives the same values [default: a random key, which is forgotten]
    #[arg(long, value_name = "FILE", requires = "mask", help_heading = "Masks", hide_short_help = true)]
    pub(crate) key_file: Option<PathBuf>,
    /// Refuse the copy if a column without a mask looks personal
    #[arg(long, requires = "mask", help_heading = "Masks", hide_short_help = true)]
    pub(crate) strict_mask: bool,
    /// Print the first N rows of each masked table with their new values, and write nothing
    #[arg(long, value_name = "N", value_parser = numbers::count, requires = "mask", help_heading = "Masks", hide_short_help = true)]
    pub(crate) preview: Option<u64>,
    /// Page size of the copy in bytes: a power of two from 512 to 65536 [default: as in the source]
    #[arg(long, value_name = "BYTES", value_parser = page_size, help_heading = "The new file")]
    pub(crate) page_size: Option<PageSize>,
    /// Journal mode of the copy [default: delete; unchanged if TARGET is SOURCE]
    #[arg(long, value_name = "MODE", help_heading = "The new file", hide_short_help = true)]
    pub(crate) journal_mode: Option<JournalMode>,
    /// auto_vacuum mode of the copy; for full and incremental, SQLite writes the file [default: as in the source]
    #[arg(long, value_name = "MODE", help_heading = "The new file", hide_short_help = true)]
    pub(crate) auto_vacuum: Option<AutoVacuum>,
    /// PRAGMA user_version of the copy [default: as in the source]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "The new file",
        hide_short_help = true
    )]
    pub(crate) user_version: Option<i32>,
    /// PRAGMA application_id of the copy [default: as in the source]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "The new file",
        hide_short_help = true
    )]
    pub(crate) application_id: Option<i32>,
    /// Place all interior pages after the first page, for readers that fetch ranges; the source is read twice. Not possible with
    /// auto_vacuum
    #[arg(long, help_heading = "The new file", hide_short_help = true)]
    pub(crate) interior_first: bool,
    /// Number of worker threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Resources", hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes, help_heading = "Resources", hide_short_help = true)]
    pub(crate) memory: u64,
    /// Folder for temporary files: data that exceeds --memory [default: the folder of the new file]
    #[arg(long, value_name = "DIR", help_heading = "Resources", hide_short_help = true)]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Replace an existing database; on a terminal, you are asked first
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Replace an existing database without asking
    #[arg(short, long, help_heading = "Writing", hide_short_help = true)]
    pub(crate) yes: bool,
    /// How long to wait for a database that another program has locked: seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Writing", hide_short_help = true)]
    pub(crate) busy_timeout: Duration,
    /// Replace a database by a rename even if others could have it open unseen [default: write its pages in one transaction then]
    #[arg(long, help_heading = "Writing", hide_short_help = true)]
    pub(crate) assume_unused: bool,
    /// How long the commits of other programs may wait; after that, the copy ends with an error [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration, help_heading = "Writing", hide_short_help = true)]
    pub(crate) busy_limit: Option<Duration>,
    /// Print the plan, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) requests: Requests,
}

/// All examples, and the functions that masks have besides.
fn long_help() -> String {
    let mut help = "Examples:
  A backup:
    sqluice copy app.db backup.db
  Without the bytes of deleted rows, with larger pages:
    sqluice copy app.db small.db --compact --page-size 16384
  In place, as VACUUM does:
    sqluice copy app.db app.db
  Without a table:
    sqluice copy app.db shared.db --exclude-table users
  Without the people in it, as comments in mask.sql say (-- gen: email()):
    sqluice copy app.db safe.db --mask mask.sql --preview 5
    sqluice copy app.db safe.db --mask mask.sql --strict-mask
  For readers that fetch ranges over a network:
    sqluice copy app.db s3://bucket/site.db --for http
  As SQL for Cloudflare D1, in a folder:
    sqluice copy app.db app-d1 --for d1\n\n"
        .to_owned();
    help += "Functions of masks:\n";
    for function in MASK_FUNCTIONS {
        let _ = writeln!(help, "  {:32} {}", function.signature, function.about);
    }
    help
}

/// What a copy is for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Purpose {
    /// For readers that fetch ranges over HTTP: packed pages of 4096 bytes, interior pages first
    Http,
    /// For Datasette: packed pages, and a file for --inspect-file beside the copy
    Datasette,
    /// For an import into Turso: pages of 4096 bytes, journal mode wal, no auto_vacuum
    Turso,
    /// For an import into Cloudflare D1: a folder of SQL files within its limits
    D1,
    /// For an app that ships the database: packed pages of 4096 bytes
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
    /// Every commit returns free pages to the file system
    Full,
    /// PRAGMA incremental_vacuum returns free pages to the file system
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
