//! Databases as sources: `sqluice` compared with other programs that read them, a subcommand for each part.

mod copy;
mod export;
mod mask;
mod merge;
mod tables;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::options::compare;

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "Databases as sources: sqluice beside what else reads them, in alternating rounds")]
pub struct Arguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// A database to a new file
    Copy(copy::Settings),
    /// Eight databases into one
    Merge(merge::Settings),
    /// A shop to a masked copy
    Mask(mask::Settings),
    /// Databases of 1,000 to 100,000 tables, by each verb that lists them
    Tables(tables::Settings),
    /// TPC-H's lineitem to CSV, NDJSON and Parquet files
    Export(export::Settings),
}

/// Runs a part of the comparison.
pub fn main(arguments: &Arguments) -> ExitCode {
    compare("databases", |runner| match &arguments.part {
        Part::Copy(settings) => copy::run(settings, runner),
        Part::Mask(settings) => mask::run(settings, runner),
        Part::Merge(settings) => merge::run(settings, runner),
        Part::Tables(settings) => tables::run(settings, runner),
        Part::Export(settings) => export::run(settings, runner),
    })
}
