//! Integrity checks of a database with indexes: `sqluice check` compared with SQLite's `PRAGMA integrity_check`.
//!
//! ```text
//!  once:   generate, CREATE INDEX x 4                20M rows of the preset `user`
//!  round:  integrity -> must report ok                  PRAGMA integrity_check, in the first --theirs rounds only: it takes minutes
//!          check     -> must report a sound database    sqluice check
//! ```
//!
//! Every second round runs in reverse order. Before each lap the file is read once, so it is in the page cache as far as memory allows.

mod sqlite;

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use serde_json::{Value, json};

use crate::house::{House, said};
use crate::lap::{Column, Lap, memory, seconds, spread, throughput};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::rounds::{Round, Way, laps, rounds, table, way};
use crate::words::Words;
use crate::{grouped, size, sync, warm, words};

/// The command line of the comparison of checks.
#[derive(Clone, Debug, Args)]
#[command(
    about = "Compares checking a database with indexes with SQLite's integrity_check, in alternating rounds"
)]
pub struct Settings {
    /// Rows of the database
    #[arg(long, default_value = "20M", value_name = "N", value_parser = crate::count)]
    rows: u64,
    /// Rounds with SQLite's check, which takes minutes
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    theirs: u16,
    #[command(flatten)]
    options: Options,
}

/// The maximum size of a row and of its entries in the four indexes, in bytes.
const ROW_BYTES_MAX: u64 = 150;

/// The claimed ratio: the median seconds of `integrity_check` are at least this many times the median seconds of `check`.
const CLAIM: f64 = 10.0;

const COLUMNS: [Column<'static>; 3] =
    [("seconds: median (min..max)", &seconds), ("GB/s", &throughput), ("peak memory", &memory)];

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    match name {
        "index" => said(sqlite::index(&words.path()?)?),
        _ => said(sqlite::integrity_check(&words.path()?)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or a check finds an error.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let rows = settings.rows;
    let house = House::open(&settings.options, runner, rows * ROW_BYTES_MAX)?;
    let mut track = Track { house: &house, database: house.file("check.db"), rows };
    house.preset("user", rows, &track.database)?;
    let took = house.own(&words!["index", track.database])?;
    sync(&track.database)?;
    let bytes = size(&track.database)?;
    let input = format!("{} rows with 4 indexes, {:.0} MB", grouped(rows), bytes as f64 / 1e6);
    say(&format!("input: {input}; CREATE INDEX took {:.1} s\n", took.seconds))?;
    let ways: [Way<Track<'_>, anyhow::Result<Took>>; 2] = [
        way("", "integrity", "`PRAGMA integrity_check`", Track::integrity_check),
        way("", "check", "`sqluice check`", Track::check),
    ];
    let rounds = rounds(settings.options.rounds, &ways, |way, number| {
        if way.name == "integrity" && number > settings.theirs {
            return Ok(None);
        }
        warm(&track.database)?;
        let took = (way.run)(&mut track)?;
        Lap::new(&took, rows, bytes, None).verified(way.name, || Ok(())).map(Some)
    })?;
    // Medians over all rounds, not ratios within a round: SQLite's check runs in fewer rounds.
    let ratio = median(&rounds, "integrity") / median(&rounds, "check");
    let verdict = if ratio >= CLAIM { "met" } else { "short" };
    let text = table(&input, &COLUMNS, &ways, &rounds)
        + &format!("\nratio of the medians: {ratio:.1} (at least {CLAIM:.0}: {verdict})\n");
    let facts = json!({ "rows": rows, "bytes": bytes, "ratio": ratio, "met": ratio >= CLAIM });
    house.finish("check", facts, &ways, &rounds, &[], &text)
}

/// Returns the median seconds of a way over the rounds in which it ran.
fn median(rounds: &[Round], way: &str) -> f64 {
    spread(&laps(rounds, way), |lap| lap.seconds).median
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    database: PathBuf,
    rows: u64,
}

impl Track<'_> {
    fn check(&mut self) -> anyhow::Result<Took> {
        let (took, checked) = self.house.sqluice.check(&self.database)?;
        ensure!(checked.rows == self.rows, "sqluice says: {}", took.stdout);
        Ok(took)
    }

    fn integrity_check(&mut self) -> anyhow::Result<Took> {
        let (took, said): (Took, String) = self.house.asked(&words!["integrity", self.database])?;
        ensure!(said == "ok", "integrity_check says: {said}");
        Ok(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_ignore_rounds_in_which_the_program_did_not_run() {
        let lap = |seconds| Lap { seconds, ..Lap::default() };
        let rounds = [
            Round::from([("check", lap(2.0)), ("integrity", lap(40.0))]),
            Round::from([("check", lap(3.0))]),
            Round::from([("check", lap(4.0))]),
        ];
        assert_eq!((median(&rounds, "check"), median(&rounds, "integrity")), (3.0, 40.0));
    }
}
