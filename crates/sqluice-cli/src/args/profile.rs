//! The arguments of `profile`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use sqluice::profile::{Profile as Wanted, ReadOptions};

use super::Requests;
use crate::numbers;

/// Describe a database without its rows, as a schema for `generate`
///
/// Reads every table once, on all cores, and prints the schema with a comment for each column that reproduces its statistics: kinds of
/// values, NULLs, distinct counts, quantiles of numbers, lengths and dates, text patterns, rows per parent, and columns that depend on each
/// other. The file is text to read and edit; `sqluice generate new.db FILE` generates a database like the original.
///
/// A value of the database appears in the file only if its column has few distinct values and does not look personal, and the value
/// occurs in at least --keep-common rows. Integer keys at equal steps show where they begin and end. Literals in the schema itself, such as
/// those of a CHECK, are always part of it. The head of the file lists what it shows.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice profile prod.db > shop.sql
  sqluice profile prod.db --no-values -o shop.sql
  sqluice generate test.db shop.sql --rows-scale 10")]
pub(crate) struct Profile {
    /// The database to describe
    #[arg(value_name = "DB")]
    pub(crate) source: PathBuf,
    /// The file to write [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Replace an existing file [default: an existing file is an error]
    #[arg(long, requires = "to")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) privacy: Privacy,
    /// Describe only this table or view; repeatable
    #[arg(long = "table", value_name = "TABLE", help_heading = "Selection")]
    pub(crate) tables: Vec<String>,
    /// Leave out this table or view; repeatable
    #[arg(long = "exclude-table", value_name = "TABLE", help_heading = "Selection")]
    pub(crate) exclude_tables: Vec<String>,
    /// Number of worker threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Reading", hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// How long to wait for a database that another program has locked: seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Reading", hide_short_help = true)]
    pub(crate) busy_timeout: Duration,
    /// How long the commits of other programs may wait; after that, the run ends with an error [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration, help_heading = "Reading", hide_short_help = true)]
    pub(crate) busy_limit: Option<Duration>,
    #[command(flatten)]
    pub(crate) requests: Requests,
}

/// Which values of a database a description may show.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct Privacy {
    /// In how many rows a value must occur to be shown
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value_t = 20, help_heading = "Privacy")]
    pub(crate) keep_common: u64,
    /// Show no values of the database
    #[arg(long, help_heading = "Privacy")]
    pub(crate) no_values: bool,
}

impl Profile {
    /// What the library is asked for.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut read = ReadOptions::new();
        read.busy_timeout = self.busy_timeout;
        read.busy_limit = self.busy_limit;
        read.requests = self.requests.limits();
        Wanted::new(&self.source)
            .keep_common(self.privacy.keep_common)
            .no_values(self.privacy.no_values)
            .tables(&self.tables)
            .exclude_tables(&self.exclude_tables)
            .threads(self.threads.map(usize::from))
            .read(read)
    }
}
