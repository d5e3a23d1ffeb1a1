//! The arguments of `merge`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ValueEnum};
use sqluice::{merge, options};

use super::Requests;
use crate::numbers;

/// Merge databases into one
///
/// Tables that are declared alike become one table, with the rows of one database after another. Other tables, indexes, views and triggers
/// are copied. Each source is read in one committed state: in WAL mode, other programs can write to it meanwhile; in other journal modes
/// their commits wait, at most as long as --busy-limit.
///
/// Rows whose rowid is not a column get new rowids if databases share some. If databases share values of a PRIMARY KEY or a UNIQUE column,
/// the merge ends with an error, unless --on-conflict chooses a row or --renumber assigns new numbers. Foreign keys are not checked, but
/// rows must not lose the row that they refer to by --on-conflict, unless --orphans keeps them.
///
/// With --renumber, columns that refer to the new numbers follow: foreign keys with --rewrite-references, other columns if --reference
/// says so. If a column seems to refer to them, by its name and its values, the merge ends with an error until --reference or
/// --no-reference decides.
///
/// SOURCE and TARGET may be URLs: s3://bucket/name, gs://bucket/name or az://container/name, and SOURCE also https://host/name. Sources at
/// URLs are fetched to temporary files first. A target in an object store is uploaded as it is written; it must not exist, unless
/// --overwrite replaces it.
///
/// An existing TARGET is the first of the databases: it keeps its rows and gets those of the others, all or none. No other program may use
/// it meanwhile.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice merge all.db shard1.db shard2.db shard3.db
  sqluice merge all.db 'shard*.db' --dry-run
  sqluice merge all.db monday.db tuesday.db --on-conflict replace")]
#[command(after_long_help = "Examples:
  Three databases into one:
    sqluice merge all.db shard1.db shard2.db shard3.db
  All databases that match a pattern; print the plan only:
    sqluice merge all.db 'shard*.db' --dry-run
  If databases share a key, keep the last row:
    sqluice merge all.db monday.db tuesday.db --on-conflict replace
  Renumber customers, and the orders that refer to them:
    sqluice merge all.db berlin.db oslo.db --renumber customer --rewrite-references
  Renumber places, and a column that refers to them without REFERENCES:
    sqluice merge all.db laptop.db phone.db --renumber places --reference visits.place_id=places.id
  Add a column with the source of each row:
    sqluice merge all.db 'shard*.db' --source-column shard")]
pub(crate) struct Merge {
    /// The merged database: a new file, or an existing database that keeps its rows
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// The databases, in the order of their rows; a pattern such as 'shard*.db' means all files that match
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// Pack all pages again: the smallest file, without bytes of deleted rows
    #[arg(long)]
    pub(crate) compact: bool,
    /// What to do with a row whose key another database has already [default: abort]
    #[arg(long, value_name = "WHAT", help_heading = "Keys")]
    pub(crate) on_conflict: Option<OnConflict>,
    /// Keep rowids even if no column holds them; equal rowids are then repeated keys
    #[arg(long, help_heading = "Keys")]
    pub(crate) keep_rowids: bool,
    /// Renumber the INTEGER PRIMARY KEY of this table if databases share values; repeatable
    #[arg(long, value_name = "TABLE", value_parser = NonEmptyStringValueParser::new(), help_heading = "Keys")]
    pub(crate) renumber: Vec<String>,
    /// Change foreign keys along with --renumber
    #[arg(long, help_heading = "Keys")]
    pub(crate) rewrite_references: bool,
    /// Declare a column that refers to a key without REFERENCES, such as visits.place_id=places.id; repeatable
    #[arg(long = "reference", value_name = "COLUMN=KEY", value_parser = NonEmptyStringValueParser::new(), help_heading = "Keys", hide_short_help = true)]
    pub(crate) references: Vec<String>,
    /// Declare that a column refers to no key, such as visits.place_id; repeatable
    #[arg(long = "no-reference", value_name = "COLUMN", value_parser = NonEmptyStringValueParser::new(), help_heading = "Keys", hide_short_help = true)]
    pub(crate) no_references: Vec<String>,
    /// Refuse or keep rows that refer to a row that --on-conflict leaves out [default: refuse]
    #[arg(long, value_name = "WHAT", help_heading = "Keys")]
    pub(crate) orphans: Option<Orphans>,
    /// Add columns that a table lacks in some databases; their rows get the default
    #[arg(long, help_heading = "Tables")]
    pub(crate) add_columns: bool,
    /// Add a column of this name to every table: the database that a row is from
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Tables")]
    pub(crate) source_column: Option<String>,
    /// Leave out this table, with its indexes and triggers; repeatable
    #[arg(long = "exclude-table", value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Tables")]
    pub(crate) exclude_tables: Vec<String>,
    /// Compare no index with its table, and no value with its column; pages and records are always verified
    #[arg(long, help_heading = "Tables", hide_short_help = true)]
    pub(crate) no_verify: bool,
    /// Number of worker threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Resources", hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes, help_heading = "Resources", hide_short_help = true)]
    pub(crate) memory: u64,
    /// Folder for temporary files: data that exceeds --memory [default: the folder of the target]
    #[arg(long, value_name = "DIR", help_heading = "Resources", hide_short_help = true)]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Replace an existing target instead of adding to it; on a terminal, you are asked first
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
    /// How long the commits of other programs may wait; after that, the merge ends with an error [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration, help_heading = "Writing", hide_short_help = true)]
    pub(crate) busy_limit: Option<Duration>,
    /// Run ANALYZE at the end, so that SQLite can choose between indexes [default: the result has no statistics]
    #[arg(long, help_heading = "Writing", hide_short_help = true)]
    pub(crate) analyze: bool,
    /// Print the plan, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) requests: Requests,
}

/// How a row is handled whose key exists already.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnConflict {
    /// End the merge with an error
    Abort,
    /// Keep the first row
    Ignore,
    /// Keep the last row
    Replace,
}

/// The ways to handle rows whose parents are left out.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Orphans {
    /// End the merge with an error that counts them
    Refuse,
    /// Keep them; they refer to nothing
    Keep,
}

impl From<Orphans> for merge::Orphans {
    fn from(what: Orphans) -> merge::Orphans {
        match what {
            Orphans::Refuse => merge::Orphans::Refuse,
            Orphans::Keep => merge::Orphans::Keep,
        }
    }
}

impl From<OnConflict> for options::OnConflict {
    fn from(what: OnConflict) -> options::OnConflict {
        match what {
            OnConflict::Abort => options::OnConflict::Abort,
            OnConflict::Ignore => options::OnConflict::Ignore,
            OnConflict::Replace => options::OnConflict::Replace,
        }
    }
}
