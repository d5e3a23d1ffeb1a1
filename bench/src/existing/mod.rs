//! Existing databases: adding rows, looking up rows and creating indexes, compared with SQLite.
//!
//! ```text
//!  table:   a new table of 20M rows into a database of 50M (1 GB), journal mode DELETE, then WAL
//!           attach, attach_wal       ATTACH of a database with the rows, INSERT INTO ... SELECT *
//!           generate, generate_wal   the same rows by `sqluice generate`
//!           load, load_wal           the same rows by `sqluice load` of a CSV file
//!  insert:  5M rows in memory into a new file
//!           insert                   sqluice::insert, which leaves rowids to SQLite that SQLite would assign itself
//!           rows                     INSERT ... SELECT FROM sqluice_rows(?1)
//!           unrolled_1 ... _200      the prepared INSERT of 1, 10, 50, 100 and 200 rows
//!           attach_5m                ATTACH copy of the same
//!  in:      sum over 100,000 of 1M rows by id IN (...), 20 times
//!           in_rows                  SELECT c1 FROM sqluice_rows(?1), the ids as Rows::keys puts them in order
//!           in_join                  sqluice_rows(?1) JOIN user ON id = c1, the same ids
//!           in_carray, ..._sorted    SELECT value FROM carray(?1), the ids unsorted, or sorted first
//!           in_temp, in_temp_key     a temporary table that is filled first: without a key, and with a key
//!  append:  5M rows to a table of 20M, with an index on a column of random numbers
//!           append                   `sqluice load --append` of a CSV file
//!           append_sql               a prepared INSERT of the same rows from memory
//!           append_drop              DROP INDEX, INSERT, CREATE INDEX
//!  computed: 1M rows to two tables of 100,000, each with two indexes
//!           append_plain             `sqluice load --append` to a table with indexes on columns
//!           append_computed          the same to one with two CHECKs, a STORED column, a partial index, and an index on an expression
//!           import_computed          `sqlite3`, `.import` into a temporary table, and INSERT INTO ... SELECT
//!  index:   an index on 20M rows of text
//!           index                    `sqluice index`
//!           create, create_2         CREATE INDEX; with 200 MB of cache and two threads
//! ```
//!
//! No settings risk the database: each way is one transaction with a journal and synchronous = FULL, and the default cache unless another
//! is named. A lap has a fresh, synced copy of the database in the page cache, and ends when its
//! process ends: after the COMMIT is synced and, in WAL mode, the pages are in the database. Parts run one after the other; ratios are
//! computed within a round, and every second round runs in reverse order. All choices favour SQLite: of several
//! equivalent ways the fastest counts, and rows of its INSERTs come from memory where a load reads a file.

mod compare;
mod data;
mod lookup;
mod record;
mod sqlite;
mod verify;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use self::lookup::Ids;
use self::verify::Check;
use crate::options::{Options, compare, ended};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "Existing databases: sqluice beside SQLite, in alternating rounds")]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// All numbers of rows times this: 0.02 for a try
    #[arg(long, default_value = "1", value_name = "FACTOR", value_parser = crate::options::factor)]
    rows_scale: f64,
    /// Measure this part alone; may be repeated [default: all]
    #[arg(long, value_name = "PART")]
    only: Vec<Section>,
    /// The shell of SQLite
    #[arg(long, default_value = "sqlite3", value_name = "FILE")]
    sqlite3: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// The parts of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Section {
    /// A new table of 20 million rows in a database of 1 GB
    Table,
    /// 5 million rows from memory through SQL
    Insert,
    /// 100,000 ids looked up in a million rows
    In,
    /// 5 million rows appended to an indexed table of 20 million
    Append,
    /// A million rows appended to a table with expressions
    Computed,
    /// An index on 20 million rows
    Index,
}

impl Section {
    fn name(self) -> &'static str {
        match self {
            Section::Table => "table",
            Section::Insert => "insert",
            Section::In => "in",
            Section::Append => "append",
            Section::Computed => "computed",
            Section::Index => "index",
        }
    }
}

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Copy a table of another database, into a new table
    #[command(hide = true)]
    Attach { file: PathBuf, source: PathBuf, table: String },
    /// Insert rows from memory, by sqluice::insert
    #[command(hide = true)]
    Insert { file: PathBuf, rows: u64 },
    /// Insert rows from memory, through sqluice_rows
    #[command(hide = true)]
    Rows { file: PathBuf, rows: u64 },
    /// Insert rows from memory, this number by a statement
    #[command(hide = true)]
    Unrolled { file: PathBuf, rows: u64, degree: usize },
    /// Look up rows by many ids, and print the sum and the time that it took
    #[command(hide = true)]
    In {
        file: PathBuf,
        rows: u64,
        count: u64,
        #[arg(value_enum)]
        ids: Ids,
    },
    /// Append rows to an indexed table that has this number
    #[command(hide = true)]
    Append {
        file: PathBuf,
        first: u64,
        rows: u64,
        #[arg(long)]
        drop_index: bool,
    },
    /// Make an index on area
    #[command(hide = true)]
    Create {
        file: PathBuf,
        #[arg(long)]
        tuned: bool,
    },
    /// Sum up a database, as JSON
    #[command(hide = true)]
    Verify {
        file: PathBuf,
        #[arg(long, value_name = "PRAGMA")]
        check: Option<Check>,
    },
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(lap) => run(lap),
        None => return compare("existing", |runner| compare::run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}

fn run(lap: &Lap) -> anyhow::Result<()> {
    match lap {
        Lap::Attach { file, source, table } => sqlite::attach(file, source, table),
        Lap::Insert { file, rows } => sqlite::insert(file, *rows),
        Lap::Rows { file, rows } => sqlite::insert_rows(file, *rows),
        Lap::Unrolled { file, rows, degree } => sqlite::insert_unrolled(file, *rows, *degree),
        Lap::In { file, rows, count, ids } => {
            Ok(serde_json::to_writer(io::stdout(), &lookup::look_up(file, *rows, *count, *ids)?)?)
        }
        Lap::Append { file, first, rows, drop_index } => sqlite::append(file, *first, *rows, *drop_index),
        Lap::Create { file, tuned } => sqlite::create_index(file, *tuned),
        Lap::Verify { file, check } => {
            Ok(serde_json::to_writer(io::stdout(), &verify::verify(file, *check)?)?)
        }
    }
}
