//! A CSV file into a new database: `sqluice load` beside the `.import` of SQLite's shell. The file is TPC-H's `lineitem`.
//!
//! ```text
//!  round:  import    -> verified     sqlite3, its defaults, into the declared table; what people do
//!          unsafe    -> verified     the same with unsafe PRAGMAs, fsync added
//!          declared  -> verified     sqluice load --schema
//!          inferred  -> verified     sqluice load: it finds the columns' types by itself
//!          ten       -> verified     sqluice load --schema of ten times the rows; every second round begins with it
//! ```
//!
//! Every lap finds its input in the page cache, read once right before. What each left must have the same sums, counts
//! and ends as the first import; SQLite's quick_check looks at one database of each kind.

mod compare;
mod data;
mod record;
mod verify;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use sqluice_bench::options::{Options, compare, ended};

#[derive(Debug, Parser)]
#[command(
    name = "load",
    about = "A CSV file into a database: sqluice beside SQLite's .import, in alternating rounds"
)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// Scale of TPC-H; 1 is 6,001,215 rows. The file is kept in the folder of --dir
    #[arg(long, default_value = "1", value_name = "SF", value_parser = scale)]
    scale: f64,
    /// Leave out the file of ten times the rows, which needs most of the time and space
    #[arg(long)]
    no_ten: bool,
    /// The shell of SQLite
    #[arg(long, default_value = "sqlite3", value_name = "FILE")]
    sqlite3: PathBuf,
    /// The generator of the file
    #[arg(long, default_value = "tpchgen-cli", value_name = "FILE")]
    tpchgen: PathBuf,
    #[command(flatten)]
    options: Options,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if scale.is_finite() && scale > 0.0 => Ok(scale),
        _ => Err(format!("{text:?} is no scale such as 0.01, 1 or 10")),
    }
}

/// What this program does as a process of its own when it runs laps.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Sum up a database, as JSON
    #[command(hide = true)]
    Verify {
        file: PathBuf,
        #[arg(long)]
        quick_check: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.lap {
        Some(Lap::Verify { file, quick_check }) => verify::verify(file, *quick_check)
            .and_then(|sums| Ok(serde_json::to_writer(io::stdout(), &sums)?)),
        None => return compare(|runner| compare::run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}
