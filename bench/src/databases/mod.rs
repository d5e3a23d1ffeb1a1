//! Compares the commands that read databases (copy, merge, masked copy, recover and export) with other programs or with runs of sqluice
//! itself. `tables` compares the time per table of databases with many and few tables. Each part is a subcommand.

mod copy;
mod export;
mod mask;
mod merge;
mod recover;
mod tables;

use clap::Subcommand;

use crate::process::Runner;

/// The parts of the comparison.
#[derive(Debug, Subcommand)]
#[command(
    about = "Compares exports, copies, merges and recoveries of databases with other programs or other runs of sqluice, in alternating rounds"
)]
pub enum Part {
    /// A database to a new file
    Copy(copy::Settings),
    /// Eight databases into one
    Merge(merge::Settings),
    /// A shop to a masked copy
    Mask(mask::Settings),
    /// A database with damaged pages to a new file
    Recover(recover::Settings),
    /// Databases of 1,000 to 100,000 tables, by each verb that lists them
    Tables(tables::Settings),
    /// TPC-H's lineitem to CSV, NDJSON and Parquet files
    Export(export::Settings),
}

impl Part {
    /// Runs the part, prints the results and saves the record.
    ///
    /// # Errors
    /// When a lap fails, or leaves other rows than another.
    pub fn run(&self, runner: &Runner) -> anyhow::Result<()> {
        match self {
            Part::Copy(settings) => copy::run(settings, runner),
            Part::Mask(settings) => mask::run(settings, runner),
            Part::Merge(settings) => merge::run(settings, runner),
            Part::Recover(settings) => recover::run(settings, runner),
            Part::Tables(settings) => tables::run(settings, runner),
            Part::Export(settings) => export::run(settings, runner),
        }
    }
}
