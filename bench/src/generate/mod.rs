//! Generated databases: the preset `shop` compared with prepared INSERTs of the same rows, and TPC-H compared with Parquet files.
//!
//! ```text
//!  shop:  shop      -> verified   sqluice generate --preset shop, durable
//!         shop_like -> verified   the same rows by prepared INSERTs in one transaction, indexes after: also durable, foreign keys
//!                                 checked; 200 MB of cache, two sorting threads
//!         shop_sql  -> verified   the same with unsafe PRAGMAs and without foreign key checks; fsync
//!  tpch:  tpch      -> verified   sqluice generate --preset tpch, durable, and sqluice check of the result
//!         parquet   -> verified   tpchgen-cli parquet, not synced
//! ```
//!
//! Ratios are computed within a round, and every second round runs in reverse order. Every database of `shop` must have the same values,
//! in all columns of all rows, and all entries of its indexes. The first TPC-H database must have the values of the CSV files of
//! `tpchgen-cli`, and the others the same.

mod compare;
mod record;
mod sqlite;
mod verify;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use crate::options::{Options, compare, ended};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "Databases from nothing: sqluice beside prepared INSERTs and beside Parquet files")]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// Orders of the shop: with customers, products and items three times as many rows
    #[arg(long, default_value = "10M", value_name = "N", value_parser = crate::count)]
    orders: u64,
    /// Scale of TPC-H: 1 is 8.7 million rows
    #[arg(long, default_value = "1", value_name = "SF", value_parser = crate::options::factor)]
    scale: f64,
    /// Measure this part alone; may be repeated [default: all]
    #[arg(long, value_name = "PART")]
    only: Vec<Section>,
    /// The generator of the Parquet files
    #[arg(long, default_value = "tpchgen-cli", value_name = "FILE")]
    tpchgen: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// The parts of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Section {
    /// Customers, products, orders and items, with foreign keys and indexes
    Shop,
    /// The eight tables of TPC-H with their keys
    Tpch,
}

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Insert the rows of the shop, and make its indexes
    #[command(hide = true)]
    Insert {
        file: PathBuf,
        orders: u64,
        /// As durable and with the same guarantees as what sqluice makes
        #[arg(long)]
        like: bool,
    },
    /// Sum up a database, as JSON
    #[command(hide = true)]
    Verify { file: PathBuf },
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(Lap::Insert { file, orders, like }) => sqlite::insert(file, *orders, *like),
        Some(Lap::Verify { file }) => {
            verify::digests(file).and_then(|digests| Ok(serde_json::to_writer(io::stdout(), &digests)?))
        }
        None => return compare("generate", |runner| compare::run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}
