//! What `merge` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ValueEnum};
use sqluice::options;

use crate::numbers;

/// Merge databases into one
///
/// Tables that are declared alike become one table, with the rows of one database after another. Other tables, indexes, views and triggers
/// are copied. Each source is read in one committed state: in WAL mode other programs can write to it meanwhile; in the other
/// journal modes their commits wait, which --busy-limit limits.
///
/// Rows that do not show their rowids get new ones where databases share some. Where databases share values of a PRIMARY KEY or a UNIQUE
/// column, the merge ends with an error, unless --on-conflict says which row is kept, or --renumber gives new numbers. Foreign keys
/// are not checked.
///
/// Sources and TARGET may be URLs: s3://bucket/name, gs://bucket/name, az://container/name, and for sources https://host/name. Sources behind
/// URLs are fetched to temporary files first; a target in a store is uploaded as it is made, and must not exist unless --overwrite
/// replaces it.
///
/// A TARGET that exists is the first of the databases: it keeps its rows and gets those of the others, all of them or none. No other
/// program may use it meanwhile.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice merge all.db shard1.db shard2.db shard3.db
  the same, with a pattern, and what would be done:
    sqluice merge all.db 'shard*.db' --dry-run
  where rows of several databases have the same key, keep the last:
    sqluice merge all.db monday.db tuesday.db --on-conflict replace
  give customers new numbers, which the orders follow:
    sqluice merge all.db berlin.db oslo.db --renumber customer --rewrite-references
  say in each row where it was:
    sqluice merge all.db 'shard*.db' --source-column shard")]
pub(crate) struct Merge {
    /// The database that gets all of it: a new file, or one that exists and is added to
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// The databases, in the order in which their rows are added; a pattern such as 'shard*.db' means all files that match
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// Pack all pages again: the file becomes as small as possible, and no bytes of deleted rows are copied
    #[arg(long)]
    pub(crate) compact: bool,
    /// What to do with a row whose key a row of another database has already [default: abort]
    #[arg(long, value_name = "WHAT", help_heading = "Keys")]
    pub(crate) on_conflict: Option<OnConflict>,
    /// Keep rowids also in tables that do not show them: two rows with the same are a repeated key then
    #[arg(long, help_heading = "Keys")]
    pub(crate) keep_rowids: bool,
    /// Give the INTEGER PRIMARY KEY of this table new numbers where databases share some; several are possible
    #[arg(long, value_name = "TABLE", value_parser = NonEmptyStringValueParser::new(), help_heading = "Keys")]
    pub(crate) renumber: Vec<String>,
    /// Let foreign keys follow the new numbers of --renumber
    #[arg(long, help_heading = "Keys")]
    pub(crate) rewrite_references: bool,
    /// Add columns that a table lacks in some databases: their rows get the default
    #[arg(long, help_heading = "Tables")]
    pub(crate) add_columns: bool,
    /// Add a column of this name to every table, with the name of the database that a row is from
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Tables")]
    pub(crate) source_column: Option<String>,
    /// Leave this table out, with its indexes and triggers; several are possible
    #[arg(long = "exclude-table", value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Tables")]
    pub(crate) exclude_tables: Vec<String>,
    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Writing")]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes, help_heading = "Writing")]
    pub(crate) memory: u64,
    /// Where to keep what does not fit the memory, and tables whose rows SQLite inserts [default: the folder of the target]
    #[arg(long, value_name = "DIR", help_heading = "Writing")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Replace an existing target as a whole, instead of adding to it. On a terminal, its tables are listed and you are asked first
    #[arg(long, help_heading = "Writing")]
    pub(crate) overwrite: bool,
    /// Do not ask before an existing database is replaced
    #[arg(short, long, help_heading = "Writing")]
    pub(crate) yes: bool,
    /// How long to wait for a database that another program writes, in seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Writing")]
    pub(crate) busy_timeout: Duration,
    /// How long the commits of other programs may wait for the merge, in seconds, or such as 500ms or 2min; then it ends and writes
    /// nothing [default: until it is done]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration, help_heading = "Writing")]
    pub(crate) busy_limit: Option<Duration>,
    /// Run ANALYZE at the end, so that SQLite can choose between indexes [default: the result has no statistics]
    #[arg(long, help_heading = "Writing")]
    pub(crate) analyze: bool,
    /// Print what would be done, and do nothing
    #[arg(long, help_heading = "Writing")]
    pub(crate) dry_run: bool,
}

/// What happens to a row whose key another one has.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnConflict {
    /// It ends the merge
    Abort,
    /// It is left out
    Ignore,
    /// The one before it is left out
    Replace,
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
