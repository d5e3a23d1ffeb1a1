//! Loading a file into a new database: `sqluice load` compared with other loaders. The rows are TPC-H's `lineitem`.
//!
//! ```text
//!  csv:      import    -> verified     sqlite3, its defaults, into the declared table: the usual way
//!            unsafe    -> verified     the same with unsafe PRAGMAs, fsync added
//!            declared  -> verified     sqluice load --schema
//!            inferred  -> verified     sqluice load, which infers the columns' types
//!            ten       -> verified     sqluice load --schema of ten times the rows
//!  parquet:  adbc      -> verified     pyarrow reads, ADBC ingests; without Python's start and imports
//!            parquet   -> verified     sqluice load
//!  json:     utils     -> verified     sqlite-utils insert --nl; a tenth of the rows, like the following ways
//!            serde     -> verified     serde_json into a struct, 50 rows in each prepared INSERT, unsafe PRAGMAs, fsync
//!            json      -> verified     sqluice load
//!  files:    import    -> counted      sqlite3, .import of each of 1,500 small files into its own table, one transaction
//!            older     -> counted      an older sqluice, if given
//!            files     -> counted      sqluice load of all of them, a table for each
//!            table     -> verified     sqluice load --table, and the same with the older one
//!  dump:     shell     -> verified     sqlite3, .read of what its .dump wrote of a million rows with an index
//!            dump      -> verified     sqluice load of the same
//!            mysqldump -> verified     sqluice load of the same rows as mysqldump writes them, and as pg_dump does
//!  archives: unzip     -> counted      unzip of a ZIP archive with 20 CSV files, and sqluice load of the folder
//!            archive   -> counted      sqluice load of the archive
//!            import    -> counted      sqlite3, .import of each of 1,000 CSV files in a folder
//!            folder    -> counted      sqluice load of the folder
//!  spreadsheets:
//!            pandas    -> verified     pandas.read_excel and to_sql of a million cells; without Python's start and imports
//!            sheet     -> verified     sqluice load of the same workbook
//!  expressions:
//!            whole     -> verified     sqluice load of the CSV file
//!            filtered  -> verified     the same with --where on a number that keeps all rows
//!            added     -> verified     the same with three columns that --set adds
//!            half      -> verified     the same with the three columns, and half of the rows
//!            duckdb    -> verified     DuckDB, CREATE TABLE ... AS SELECT of these in an attached SQLite file; without Python's start
//! ```
//!
//! Every second round runs in reverse order. Before each lap the input is read into the page cache. Every way must store
//! the same values of the same rows as the first way, in all columns; SQLite's quick_check checks one database of each kind.

mod archives;
mod compare;
mod data;
mod dumps;
mod expressions;
mod files;
mod frames;
mod ndjson;
mod record;
mod sheets;
mod verify;
mod way;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::way::Section;
use crate::options::{Options, compare, ended, factor};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(
    about = "CSV, Parquet, NDJSON, SQL and XLSX files into a database: sqluice beside what else loads them, in alternating rounds"
)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// Scale of TPC-H; 1 is 6,001,215 rows. The file is kept in the folder of --dir
    #[arg(long, default_value = "1", value_name = "SF", value_parser = factor)]
    scale: f64,
    /// Measure this part alone; may be repeated [default: all]
    #[arg(long, value_name = "PART")]
    only: Vec<Section>,
    /// Leave out the CSV file of ten times the rows, which needs most of the time and space
    #[arg(long)]
    no_ten: bool,
    /// The shell of SQLite
    #[arg(long, default_value = "sqlite3", value_name = "FILE")]
    sqlite3: PathBuf,
    /// A Python with pyarrow and ADBC's driver for SQLite, openpyxl and pandas for spreadsheets, and DuckDB for expressions
    #[arg(long, default_value = "python3", value_name = "FILE")]
    python: PathBuf,
    /// The command of sqlite-utils
    #[arg(long, default_value = "sqlite-utils", value_name = "FILE")]
    sqlite_utils: PathBuf,
    /// An older sqluice, to load the many files with it, too [default: none]
    #[arg(long, value_name = "FILE")]
    older: Option<PathBuf>,
    /// The generator of the rows
    #[arg(long, default_value = "tpchgen-cli", value_name = "FILE")]
    tpchgen: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Insert the rows of an NDJSON file by serde_json and a prepared INSERT
    #[command(hide = true)]
    Insert { file: PathBuf, target: PathBuf },
    /// Sum up a database, as JSON
    #[command(hide = true)]
    Verify {
        file: PathBuf,
        #[arg(long)]
        quick_check: bool,
    },
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(Lap::Insert { file, target }) => ndjson::insert(file, target),
        Some(Lap::Verify { file, quick_check }) => verify::verify(file, *quick_check)
            .and_then(|sums| Ok(serde_json::to_writer(io::stdout(), &sums)?)),
        None => return compare("load", |runner| compare::run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}
