//! Whether a database with indexes is sound: `sqluice check` beside SQLite's `PRAGMA integrity_check`.
//!
//! ```text
//!  once:   generate, CREATE INDEX x 4                20M rows of the preset `user`
//!  round:  check     -> must say that it is sound    the first rounds begin with, the even ones end with SQLite
//!          theirs    -> must say ok                  in as many rounds as --theirs says: it takes minutes
//! ```
//!
//! Every lap finds the file in the page cache, as far as memory allows: it is read once right before.

mod compare;
mod record;
mod sqlite;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::options::{Options, compare, ended};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(
    about = "Is a database with indexes sound? sqluice beside SQLite's integrity_check, in alternating rounds"
)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// Rows of the table
    #[arg(long, default_value = "20M", value_name = "N", value_parser = crate::count)]
    rows: u64,
    /// Rounds in which SQLite checks, too
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    theirs: u16,
    #[command(flatten)]
    options: Options,
}

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Make the indexes
    #[command(hide = true)]
    Index { file: PathBuf },
    /// Have SQLite check, and print what it says
    #[command(hide = true)]
    Integrity { file: PathBuf },
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(Lap::Index { file }) => sqlite::index(file),
        Some(Lap::Integrity { file }) => {
            sqlite::integrity_check(file).and_then(|said| Ok(io::stdout().write_all(said.as_bytes())?))
        }
        None => return compare("check", |runner| compare::run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}
