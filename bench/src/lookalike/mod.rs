//! Describing and regenerating a database: `sqluice profile` compared with `sqluice check`, and a look-alike with the preset.
//!
//! ```text
//!  once:   generate --preset shop                  100M rows in four tables
//!  round:  check     -> must report a sound database
//!          profile   -> must count all rows
//!          preset    generate from the preset, pages discarded
//!          like      generate from the profile, pages discarded
//! ```
//!
//! Before check and profile the file is read once, so it is in the page cache as far as memory allows.

mod compare;
mod record;

use std::process::ExitCode;

use clap::Args;

use crate::options::{Options, compare};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(
    about = "A database described and made again: profile beside check, a look-alike beside its preset, in alternating rounds"
)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// Rows of the four tables together, about
    #[arg(long, default_value = "100M", value_name = "N", value_parser = crate::count)]
    rows: u64,
    /// Rows that are generated, about, when a look-alike is made
    #[arg(long, default_value = "20M", value_name = "N", value_parser = crate::count)]
    made: u64,
    #[command(flatten)]
    options: Options,
}

/// Runs the comparison.
pub fn main(arguments: &Arguments) -> ExitCode {
    compare("lookalike", |runner| compare::run(&arguments.settings, runner))
}
