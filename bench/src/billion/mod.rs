//! A billion rows of the published `user` table: `sqluice generate` compared with the bare disk and SQLite's fastest methods.
//!
//! ```text
//!  round:  generate -> verified      a process of the release binary, synced at its end
//!          raw      -> its length    as many bytes, O_DIRECT, one thread, fsync; first in every second round
//!          insert   -> verified      50 rows in each prepared INSERT, unsafe PRAGMAs, fsync
//!          attach   -> verified      INSERT INTO main.user SELECT * FROM a.user, unsafe PRAGMAs, fsync
//!          discard  -> its report    all pages encoded, none written
//! ```
//!
//! Ratios are computed within a round, since measurements minutes apart are not comparable on a shared machine. Rows are compared
//! by rate, since SQL gets fewer of them. All choices favour SQLite: its source is in the page
//! cache, it copies raw records (the SELECT has no LIMIT), and it syncs once, at the end.

mod compare;
mod laps;
mod record;
mod verify;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::count;
use crate::options::{Options, compare, ended};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "One billion rows: sqluice beside the bare disk and SQLite, in alternating rounds")]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// Rows that sqluice generates; the raw write has as many bytes
    #[arg(long, default_value = "1e9", value_name = "N", value_parser = count)]
    rows: u64,
    /// Rows that each of the two ways through SQL writes
    #[arg(long, default_value = "10M", value_name = "N", value_parser = count)]
    sql_rows: u64,
    /// Rows that sqluice generates with --discard
    #[arg(long, default_value = "500M", value_name = "N", value_parser = count)]
    discard_rows: u64,
    #[command(flatten)]
    options: Options,
}

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Write bytes past the page cache
    #[command(hide = true)]
    Raw { file: PathBuf, bytes: u64 },
    /// Insert rows, 50 a statement
    #[command(hide = true)]
    Insert { file: PathBuf, rows: u64 },
    /// Copy the table of another database
    #[command(hide = true)]
    Attach { file: PathBuf, source: PathBuf },
    /// See that a database has these rows
    #[command(hide = true)]
    Verify { file: PathBuf, rows: u64 },
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(Lap::Raw { file, bytes }) => {
            laps::raw(file, *bytes).and_then(|how| Ok(write!(io::stdout(), "{how}")?))
        }
        Some(Lap::Insert { file, rows }) => laps::insert(file, *rows),
        Some(Lap::Attach { file, source }) => laps::attach(file, source),
        Some(Lap::Verify { file, rows }) => verify::verify(file, *rows),
        None => return compare("billion", |runner| compare::run(&arguments.settings, runner)),
    };
    ended(done, false)
}
