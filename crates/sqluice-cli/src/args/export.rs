//! What `export` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use sqluice::export::Mixed as MixedValues;

use crate::formats::Format;
use crate::numbers;

/// Export tables, views or a query to CSV, TSV, JSON, Parquet or Arrow files
///
/// Tables are read by pages and encoded on all cores; SQLite reads views, virtual tables, computed columns and queries. All files
/// are of one committed state of the database, and each appears complete or not at all. In WAL mode others can write to the
/// database meanwhile; in the other journal modes their commits wait, which --busy-limit limits.
///
/// The database may be a URL, s3://bucket/name, gs://bucket/name, az://container/name or https://host/name: it is fetched to a temporary file
/// first.
///
/// What is written is what `sqluice load` reads back. In CSV and TSV, NULL is an empty field and empty text is "". Numbers have all
/// digits. CSV and JSON have no place for blobs and infinities: these are errors that name table, row and column, unless --mixed
/// null writes NULL instead.
///
/// The columns of Parquet and Arrow files have types: those that are declared INTEGER hold 64-bit integers, REAL doubles, TEXT text,
/// BLOB bytes, and others what their values are. A value of another kind is an error, unless --mixed says how to write it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  a table, in the format that the name of the file says:
    sqluice export shop.db orders --to orders.csv
    sqluice export shop.db orders --to orders.ndjson.gz
    sqluice export shop.db orders --to orders.parquet
  all tables, a file each:
    sqluice export shop.db --to backup/ --format parquet
  some columns and rows:
    sqluice export shop.db orders --to large.csv --columns id,total --where 'total > 1000' --limit 100
  a query:
    sqluice export shop.db --query 'SELECT day, sum(total) AS total FROM orders GROUP BY day' --to days.csv
  to another program:
    sqluice export shop.db orders --to - --format csv | head")]
pub(crate) struct Export {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) source: PathBuf,
    /// Tables and views [default: the only table, or all tables if --to is a folder]
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    /// The file, a folder for a file of each table, or - for standard output
    #[arg(short, long, value_name = "FILE|FOLDER|-")]
    pub(crate) to: PathBuf,
    /// The format [default: as the name of the file ends, also before .gz and .zst]
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Replace existing files [default: they are an error]
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Export these columns, in this order [default: all]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Rows")]
    pub(crate) columns: Option<Vec<String>>,
    /// Export the rows for which this is true: a condition in SQL
    #[arg(long = "where", value_name = "SQL", help_heading = "Rows")]
    pub(crate) filter: Option<String>,
    /// Export at most N rows of each table
    #[arg(long, value_name = "N", value_parser = numbers::count, help_heading = "Rows")]
    pub(crate) limit: Option<u64>,
    /// Export what a SELECT returns
    #[arg(long, value_name = "SQL", conflicts_with_all = ["tables", "columns", "filter"], help_heading = "Rows")]
    pub(crate) query: Option<String>,
    /// How to write values that do not fit the type of their column, or the format [default: they are an error]
    #[arg(long, value_name = "HOW", help_heading = "Values")]
    pub(crate) mixed: Option<Mixed>,
    /// In Parquet and Arrow files, make dates and timestamps of ISO text in columns declared DATE, DATETIME or TIMESTAMP
    #[arg(long, help_heading = "Values")]
    pub(crate) dates: bool,
    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// How long to wait for a database that another program is writing, in seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration)]
    pub(crate) busy_timeout: Duration,
    /// End with an error when reading takes longer and keeps others from committing [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration)]
    pub(crate) busy_limit: Option<Duration>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How values of another kind are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mixed {
    /// A column with values of several kinds becomes text
    Text,
    /// They become NULL, and are counted
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
