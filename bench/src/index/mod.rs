//! Keys and indexes: their cost compared with SQLite, and their scaling to data larger than memory.
//!
//! ```text
//!  area:    plain      -> verified   generate `user` without an index
//!           indexed    -> verified   the same with an index on area: the difference is the cost of the index
//!           create     -> verified   CREATE INDEX on a copy of the plain file, 200 MB of cache, unsafe PRAGMAs, fsync
//!           threads    -> verified   the same with PRAGMA threads = 2
//!  number:  number_plain, number_indexed, number_create, number_threads    the same with a random integer in the place of area
//!  computed:  lower_indexed, lower_create, lower_threads    the same as area with an index on lower(area)
//!             half_indexed, half_create, half_threads       ... and with a partial index, on the area of half of the rows
//!  memory:  two        -> verified   generate `user` with two indexes, 512 MiB of memory
//!           two_ten    -> verified   ten times the rows
//!  keys:    uuid       -> verified   load a CSV file of random UUIDs into a WITHOUT ROWID table
//!           uuid_sql   -> verified   the same rows by a prepared INSERT, one transaction, unsafe PRAGMAs, 200 MB of cache, fsync
//!           uuid_def   -> verified   the same with SQLite's defaults: a rollback journal, 2 MB of cache
//!           shuffled, shuffled_sql   a CSV file in shuffled order of its INTEGER PRIMARY KEY, likewise
//! ```
//!
//! Ratios are computed within a round, and every second round runs in reverse order. All choices favour SQLite:
//! the faster of two ways to CREATE INDEX counts, the table is in the page cache, and the rows of its INSERTs come from
//! memory where the loads read a file.

mod compare;
mod data;
mod laps;
mod record;
mod verify;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use self::data::{Column, Keys};
use crate::options::{Options, compare, ended};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "Keys and indexes: sqluice beside SQLite, in alternating rounds")]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// All numbers of rows times this: 0.01 for a try
    #[arg(long, default_value = "1", value_name = "FACTOR", value_parser = crate::options::factor)]
    rows_scale: f64,
    /// Measure this part alone; may be repeated [default: all]
    #[arg(long, value_name = "PART")]
    only: Vec<Section>,
    #[command(flatten)]
    options: Options,
}

/// The parts of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Section {
    /// An index on text of 20 million rows
    Area,
    /// An index on integers of 20 million rows
    Number,
    /// An index on an expression, and a partial index, of 20 million rows
    Computed,
    /// Two indexes on 100 million rows in 512 MiB
    Memory,
    /// 10 million rows in any order of their keys
    Keys,
}

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Make an index on a column
    #[command(hide = true)]
    CreateIndex {
        column: Column,
        file: PathBuf,
        #[arg(long, default_value_t = 0)]
        threads: u8,
    },
    /// Insert rows in any order of their keys
    #[command(hide = true)]
    Insert {
        keys: Keys,
        file: PathBuf,
        rows: u64,
        /// Durable, with the cache that SQLite has by default
        #[arg(long)]
        defaults: bool,
    },
    /// Sum up a database, as JSON
    #[command(hide = true)]
    Verify {
        file: PathBuf,
        #[arg(long)]
        integrity_check: bool,
    },
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(Lap::CreateIndex { column, file, threads }) => laps::create_index(*column, file, *threads),
        Some(Lap::Insert { keys, file, rows, defaults }) => laps::insert(*keys, file, *rows, *defaults),
        Some(Lap::Verify { file, integrity_check }) => verify::verify(file, *integrity_check)
            .and_then(|found| Ok(serde_json::to_writer(io::stdout(), &found)?)),
        None => return compare("index", |runner| compare::run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}
