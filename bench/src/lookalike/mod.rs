//! Describing and regenerating a database: `sqluice profile` compared with `sqluice check`, and `sqluice generate` from the profile (a
//! look-alike of the database) with `sqluice generate` from the preset.
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

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::house::House;
use crate::lap::{Lap, USUAL, mib};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Way, rounds, table, way};
use crate::{grouped, size, sync, warm, words};

/// The command line of the comparison of look-alikes.
#[derive(Clone, Debug, Args)]
#[command(
    about = "Compares `sqluice profile` with check, and generating a lookalike with generating its preset, in alternating rounds"
)]
pub struct Settings {
    /// Rows of the database that is described
    #[arg(long, default_value = "100M", value_name = "N", value_parser = crate::count)]
    rows: u64,
    /// Rows that are made of its profile
    #[arg(long, default_value = "20M", value_name = "N", value_parser = crate::count)]
    made: u64,
    #[command(flatten)]
    options: Options,
}

/// The maximum disk space for each row of the preset, with its index entries, in bytes.
const ROW_BYTES_MAX: u64 = 80;

/// The number of rows in all tables of the preset for each order.
const ROWS_PER_ORDER: f64 = 3.11;

const MEMORY_MAX: f64 = (256 << 20) as f64;

const RATIOS: &[Compared] = &[
    ("time of profile to that of check", |round| ratio::time(round, "profile", "check"), "at most 1"),
    (
        "memory of profile to 256 MiB",
        |round| Some(round.get("profile")?.memory_bytes as f64 / MEMORY_MAX),
        "at most 1",
    ),
    (
        "rate of the look-alike to that of the preset",
        |round| ratio::rate(round, "like", "preset"),
        "at least 0.5",
    ),
];

/// The fields of a report of sqluice that are read.
#[derive(Debug, Deserialize)]
struct Counted {
    rows: u64,
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a verb fails, or counts other rows than expected.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let house = House::open(&settings.options, runner, settings.rows * ROW_BYTES_MAX)?;
    let orders = |rows: u64| ((rows as f64 / ROWS_PER_ORDER) as u64).max(1000);
    let (database, profile) = (house.file("shop.db"), house.file("shop.sql"));
    let rows = counted(&house.preset("shop", orders(settings.rows), &database)?)?;
    sync(&database)?;
    let bytes = size(&database)?;
    let mb = bytes as f64 / 1e6;
    say(&format!("input: {} rows in 4 tables, {mb:.0} MB\n", grouped(rows)))?;
    house.sqluice.run(&words!["profile", database, "--to", profile])?;
    let share = settings.made as f64 / settings.rows as f64;
    let mut track = Track { house: &house, database, profile, made: orders(settings.made), share };
    let ways: [Way<Track<'_>, anyhow::Result<Took>>; 4] = [
        way("read", "check", "`sqluice check`", |track| track.read("check")),
        way("read", "profile", "`sqluice profile`", |track| track.read("profile")),
        way("made", "preset", "`sqluice generate --preset shop`", |track| {
            let words = words!["generate", "--discard", "--preset", "shop", "--rows", track.made];
            track.house.sqluice.run(&words)
        }),
        way("made", "like", "`sqluice generate` of the profile", |track| {
            let words = words!["generate", "--discard", "--rows-scale", track.share, track.profile];
            track.house.sqluice.run(&words)
        }),
    ];
    let rounds = rounds(settings.options.rounds, &ways, |way, _| {
        let took = (way.run)(&mut track)?;
        let found = counted(&took)?;
        let (expected, bytes) =
            if way.part == "read" { (rows as f64, bytes) } else { (rows as f64 * share, 0) };
        let lap = Lap::new(&took, found, bytes, None).verified(way.name, || {
            ensure!((found as f64 / expected - 1.0).abs() < 0.001, "{found} rows instead of {expected}");
            Ok(())
        });
        lap.map(Some)
    })?;
    let text = format!("{} rows in 4 tables, {:.0} MiB\n\n", grouped(rows), mib(bytes as f64))
        + &table("", &USUAL, &ways, &rounds);
    let facts = json!({ "rows": rows, "bytes": bytes });
    house.finish("lookalike", facts, &ways, &rounds, RATIOS, &text)
}

fn counted(took: &Took) -> anyhow::Result<u64> {
    let Counted { rows } = serde_json::from_str(&took.stdout).context("a report is JSON")?;
    Ok(rows)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    database: PathBuf,
    profile: PathBuf,
    made: u64,
    share: f64,
}

impl Track<'_> {
    fn read(&self, verb: &str) -> anyhow::Result<Took> {
        warm(&self.database)?;
        self.house.sqluice.run(&words![verb, self.database])
    }
}
