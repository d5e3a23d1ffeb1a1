//! Integrity checks of a database with indexes: `sqluice check` compared with SQLite's `PRAGMA integrity_check`.
//!
//! ```text
//!  once:   generate, CREATE INDEX x 4                20M rows of the preset `user`
//!  round:  check     -> must report a sound database    odd rounds begin with SQLite, even rounds end with it
//!          theirs    -> must report ok                  in as many rounds as --theirs says, since it takes minutes
//! ```
//!
//! Before each lap the file is read once, so it is in the page cache as far as memory allows.

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
