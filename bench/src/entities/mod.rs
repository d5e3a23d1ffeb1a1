//! Writing thousands of entities: `EntityStore` compared with a prepared statement for each entity.

mod compare;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::compare::{Size, Way};
use crate::options::{Options, compare, ended};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "Entities written by the thousand beside a statement for each, in alternating rounds")]
pub struct Arguments {
    /// All numbers of entities times this: 0.02 for a try
    #[arg(long, default_value = "1", value_name = "FACTOR", value_parser = crate::options::factor)]
    rows_scale: f64,
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    lap: Option<Lap>,
}

/// A lap that the program runs as a process of its own.
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

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(Lap::Entities { file, way, size, entities }) => compare::lap(file, *way, *size, *entities),
        None => {
            return compare("entities", |runner| {
                compare::run(&arguments.options, arguments.rows_scale, runner)
            });
        }
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}
