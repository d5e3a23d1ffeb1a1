//! Entities written by the thousand: `EntityStore` beside a prepared statement for each.

mod entities;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sqluice_bench::options::{Options, compare, ended};

use crate::entities::{Size, Way};

#[derive(Debug, Parser)]
#[command(
    name = "entities",
    about = "Entities written by the thousand beside a statement for each, in alternating rounds"
)]
struct Arguments {
    /// All numbers of entities times this: 0.02 for a try
    #[arg(long, default_value = "1", value_name = "FACTOR", value_parser = sqluice_bench::options::factor)]
    rows_scale: f64,
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    lap: Option<Lap>,
}

/// What this program does as a process of its own when it runs laps.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Write entities, the same again, others with the same keys; print the time of each
    #[command(hide = true)]
    Entities {
        file: PathBuf,
        #[arg(value_enum)]
        way: Way,
        #[arg(value_enum)]
        size: Size,
        entities: u64,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.lap {
        Some(Lap::Entities { file, way, size, entities }) => entities::lap(file, *way, *size, *entities),
        None => {
            return compare(|runner| entities::compare(&arguments.options, arguments.rows_scale, runner));
        }
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}
