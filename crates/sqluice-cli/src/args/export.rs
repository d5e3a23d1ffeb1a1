//! The arguments of `export`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use sqluice::export::{Mixed as MixedValues, OutputFormat};

use super::Requests;
use crate::formats;
use crate::numbers;

/// Export tables, views or a query to CSV, JSON, Parquet or Arrow files
///
/// Tables are read page by page and encoded on all cores. SQLite reads views, virtual tables, computed columns and queries. All files show
/// one committed state of the database, and each file appears only once complete. In WAL mode, other programs can write to the database
/// meanwhile; in other journal modes their commits wait, at most as long as --busy-limit.
///
/// The database may be a URL: s3://bucket/name, gs://bucket/name, az://container/name or https://host/name. It is fetched to a temporary file
/// first.
///
/// `sqluice load` reads exported files back as the same values. In CSV and TSV, NULL is an empty field and empty text is "". Numbers keep all
/// digits. CSV and JSON cannot hold blobs and infinities: these are errors that name table, row and column, unless --mixed null writes
/// NULL instead.
///
/// Columns of Parquet and Arrow files have types. Columns declared INTEGER become 64-bit integers, REAL doubles, TEXT strings, BLOB binary;
/// other columns get the type of their values. A value of another type is an error, unless --mixed says how to write it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice export shop.db orders --to orders.csv
  sqluice export shop.db --to backup/ --format parquet
  sqluice export shop.db orders --to large.csv --columns id,total --where 'total > 1000' --limit 100
  sqluice export shop.db orders --to - --format csv | head")]
#[command(after_long_help = "Examples:
  A table, in the format that the file name says:
    sqluice export shop.db orders --to orders.csv
    sqluice export shop.db orders --to orders.ndjson.gz
    sqluice export shop.db orders --to orders.parquet
  All tables, one file each:
    sqluice export shop.db --to backup/ --format parquet
  Some columns and rows:
    sqluice export shop.db orders --to large.csv --columns id,total --where 'total > 1000' --limit 100
  A query:
    sqluice export shop.db --query 'SELECT day, sum(total) AS total FROM orders GROUP BY day' --to days.csv
  Into another program:
    sqluice export shop.db orders --to - --format csv | head")]
pub(crate) struct Export {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) source: PathBuf,
    /// Tables and views to export [default: the only table, or all tables if --to is a folder]
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    /// The file, a folder that gets one file per table, or - for standard output
    #[arg(short, long, value_name = "FILE|FOLDER|-")]
    pub(crate) to: PathBuf,
    #[arg(
        help = "The format, such as csv or parquet [default: by the file name]",
        long_help = format!(
            "The format: {} [default: by the extension of the file name; .gz and .zst after it compress]",
            sqluice::export::formats::names()
        ),
        short,
        long,
        value_name = "FORMAT",
        value_parser = formats::output(),
        hide_possible_values = true
    )]
    pub(crate) format: Option<&'static OutputFormat>,
    /// Replace existing files [default: an existing file is an error]
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Export only these columns, in this order [default: all]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Rows")]
    pub(crate) columns: Option<Vec<String>>,
    /// Export only rows that match this SQL condition
    #[arg(long = "where", value_name = "SQL", help_heading = "Rows")]
    pub(crate) filter: Option<String>,
    /// Export at most N rows of each table
    #[arg(long, value_name = "N", value_parser = numbers::count, help_heading = "Rows")]
    pub(crate) limit: Option<u64>,
    /// Export the result of a SELECT
    #[arg(long, value_name = "SQL", conflicts_with_all = ["tables", "columns", "filter"], help_heading = "Rows")]
    pub(crate) query: Option<String>,
    /// How to write values that do not fit the type of their column or the format [default: such a value is an error]
    #[arg(long, value_name = "HOW", help_heading = "Values")]
    pub(crate) mixed: Option<Mixed>,
    /// In Parquet and Arrow files, write ISO text of columns declared DATE, DATETIME or TIMESTAMP as dates and timestamps
    #[arg(long, help_heading = "Values")]
    pub(crate) dates: bool,
    /// Number of worker threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Reading", hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// How long to wait for a database that another program has locked: seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Reading", hide_short_help = true)]
    pub(crate) busy_timeout: Duration,
    /// How long the commits of other programs may wait; after that, the export ends with an error [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration, help_heading = "Reading", hide_short_help = true)]
    pub(crate) busy_limit: Option<Duration>,
    /// Print the plan, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) requests: Requests,
}

/// How values of another type are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mixed {
    /// Write the whole column as text
    Text,
    /// Write NULL, and count such values
    Null,
}

impl From<Mixed> for MixedValues {
    fn from(mixed: Mixed) -> MixedValues {
        match mixed {
            Mixed::Text => MixedValues::Text,
            Mixed::Null => MixedValues::Null,
        }
    }
}
