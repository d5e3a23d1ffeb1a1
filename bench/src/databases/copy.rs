//! Copying a database: `sqluice copy` compared with VACUUM INTO, and with `cp` and a sync. The rows are those of the preset `user`.
//!
//! ```text
//!  case       source                               page size of the copies
//!  plain      a table                              that of the source
//!  pages      a table                              16,384 bytes by VACUUM INTO and sqluice copy; that of the source by cp
//!  indexes    a table with two indexes             that of the source
//!  deleted    a table, every second row deleted    that of the source
//! ```
//!
//! Every second round runs in reverse order. Before each lap the source is read into the page cache. sqluice and the way `cp` sync their
//! files, VACUUM INTO does not. Every copy must have the row count and the column sums of its source.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::db::{First, numbers, open};
use crate::house::{House, Start};
use crate::lap::{Lap, USUAL};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Way, rounds, table, way};
use crate::{count, grouped, size, warm, words};

/// The size of a row of the table, and of its entries in two indexes, in bytes.
const ROW_BYTES: u64 = 20;
const ENTRY_BYTES: u64 = 30;

/// The page size of the copies in the case `pages`.
const PAGE_BYTES: &str = "16384";

#[derive(Debug, Args)]
pub struct Settings {
    /// Rows of the table
    #[arg(long, default_value = "100M", value_name = "N", value_parser = count)]
    rows: u64,
    /// What is copied
    #[arg(long, value_enum, default_value_t = Case::Plain)]
    case: Case,
    #[command(flatten)]
    options: Options,
}

/// The database that is copied, and the form of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Case {
    /// A table
    Plain,
    /// A table, to larger pages
    Pages,
    /// A table with two indexes
    Indexes,
    /// A table of which every second row was deleted
    Deleted,
}

fn ways<'a>() -> Vec<Way<Track<'a>, anyhow::Result<Took>>> {
    vec![
        way("", "bytes", "`cp`, synced", |track| {
            let mut command = Command::new("sh");
            command
                .args(["-c", "cp \"$1\" \"$2\" && sync \"$2\"", "sh"])
                .arg(&track.source)
                .arg(&track.target);
            track.house.runner.run(&mut command)
        }),
        way("", "vacuum-into", "`VACUUM INTO`", |track| {
            let to = track.target.to_str().context("a path is UTF-8")?.replace('\'', "''");
            let size = if track.larger { format!("PRAGMA page_size = {PAGE_BYTES};") } else { String::new() };
            let mut command = track.house.options.programs.shell(&track.source);
            track.house.runner.run(command.arg(format!("{size} VACUUM INTO '{to}'")))
        }),
        way("", "copy", "`sqluice copy`, durable", |track| {
            let words = words!["copy", track.source, track.target, "--page-size", PAGE_BYTES];
            track.house.sqluice.run(if track.larger { &words[..] } else { &words[..3] })
        }),
    ]
}

impl Case {
    fn compared(self) -> Vec<Compared> {
        let bytes: Compared = (
            "time of `copy` to `cp` and sync",
            |round| ratio::time(round, "copy", "bytes"),
            if self == Case::Plain { "at most 1.25" } else { "" },
        );
        let vacuum: Compared = (
            "time of `VACUUM INTO` to `copy`",
            |round| ratio::time(round, "vacuum-into", "copy"),
            if self == Case::Deleted { "at least 6" } else { "at least 10" },
        );
        let size: Compared = (
            "bytes of `copy` to those of `VACUUM INTO`",
            |round| ratio::ratio(round, "copy", "vacuum-into", |lap| lap.bytes as f64),
            "at most 1.05",
        );
        if self == Case::Deleted { vec![vacuum, size] } else { vec![bytes, vacuum, size] }
    }
}

/// The query for the content of a database: its row count, sums of columns, and the number of indexes.
const SUMS: &str =
    "SELECT count(*), total(id), total(age), (SELECT count(*) FROM sqlite_schema WHERE type = 'index')
    FROM user NOT INDEXED";

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let Settings { rows, case, options } = settings;
    let entries = if *case == Case::Indexes { ENTRY_BYTES } else { 0 };
    let start = Start::new(options, runner)?.with_shell()?;
    start.introduce()?;
    let house = start.house(3 * rows * (ROW_BYTES + entries))?;
    let source = house.file("source.db");
    house.preset("user", *rows, &source)?;
    match case {
        Case::Indexes => {
            let indexes =
                ["CREATE INDEX by_area ON user (area)", "CREATE INDEX by_age ON user (age, active)"];
            house.sqluice.run(&words!["index", source, indexes[0], indexes[1]])?;
        }
        Case::Deleted => {
            let delete =
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; DELETE FROM user WHERE id % 2 = 0";
            open(&source, delete)?;
        }
        Case::Plain | Case::Pages => {}
    }
    let mut sums = First::default();
    let expected = numbers(&open(&source, "")?, SUMS)?;
    let rows = expected[0] as u64;
    sums.same((), expected)?;
    say(&format!("input: {} rows\n", grouped(rows)))?;
    let target = house.file("copy.db");
    let mut track = Track { house: &house, source, target: target.clone(), larger: *case == Case::Pages };
    let ways = ways();
    let rounds = rounds(options.rounds, &ways, |way, _| {
        warm(&track.source)?;
        let took = (way.run)(&mut track)?;
        let lap = Lap::new(&took, rows, size(&target)?, None).verified(way.name, || {
            sums.same((), numbers(&open(&target, "")?, SUMS)?)?;
            house.remove("copy.db")
        });
        lap.map(Some)
    })?;
    let facts = json!({ "case": case, "rows": rows });
    let text = table("", &USUAL, &ways, &rounds);
    house.finish("databases-copy", facts, &ways, &rounds, &case.compared(), &text)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    source: PathBuf,
    target: PathBuf,
    /// `true` if the pages of the copies are larger than those of the source.
    larger: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::lines;

    #[test]
    fn the_ratios_of_a_round_decide_which_claims_about_copies_are_met() {
        let laps = [("bytes", 1.0), ("vacuum-into", 9.0), ("copy", 1.2)];
        let met = |case: Case| {
            lines(&case.compared(), laps).iter().map(|line| line.ends_with("| met |")).collect::<Vec<bool>>()
        };
        assert_eq!(met(Case::Plain), [true, false, true]);
        assert_eq!(met(Case::Deleted), [true, true]);
    }
}
