//! Merging eight databases: `sqluice merge` compared with ATTACH and INSERT ... SELECT in SQLite, and with `cat` of the files and a sync.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
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
use crate::{UNSAFE_PRAGMAS, count, grouped, size, warm, words};

/// The number of merged databases.
const PARTS: usize = 8;

/// The size of a row of the table, and of its entry in the index, in bytes.
const ROW_BYTES: u64 = 20;
const ENTRY_BYTES: u64 = 18;

/// The index on text.
const INDEX: &str = "CREATE INDEX by_area ON user (area)";

#[derive(Debug, Args)]
pub struct Settings {
    /// Rows of all databases
    #[arg(long, default_value = "100M", value_name = "N", value_parser = count)]
    rows: u64,
    /// The kind of databases to merge
    #[arg(long, value_enum, default_value_t = Case::Index)]
    case: Case,
    #[command(flatten)]
    options: Options,
}

/// The databases that are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Case {
    /// A table with an index on text, and rowids that no two databases share
    Index,
    /// A table without an index, and rowids that no two databases share
    Disjoint,
    /// A table without an index, whose rowids interleave
    Interleaved,
}

fn ways<'a>() -> Vec<Way<Track<'a>, anyhow::Result<Took>>> {
    vec![
        way("", "bytes", "`cat`, synced", |track| {
            let mut command = Command::new("sh");
            command.args(["-c", "to=\"$1\"; shift; cat \"$@\" > \"$to\" && sync \"$to\"", "sh"]);
            track.house.runner.run(command.arg(&track.target).args(&track.sources))
        }),
        way("", "insert", "ATTACH, `INSERT ... SELECT`, `CREATE INDEX`, unsafe PRAGMAs", |track| {
            let mut command = track.house.options.programs.shell(&track.target);
            track.house.runner.run(command.arg(track.inserts()?))
        }),
        way("", "merge", "`sqluice merge`, durable", |track| {
            let sources = track.sources.iter().map(|source| source.clone().into_os_string());
            let words = words!["merge", track.target].into_iter().chain(sources);
            track.house.sqluice.run(&words.collect::<Vec<_>>())
        }),
    ]
}

impl Case {
    fn compared(self) -> [Compared; 2] {
        [
            (
                "time of `merge` to `cat` and sync",
                |round| ratio::time(round, "merge", "bytes"),
                if self == Case::Disjoint { "at most 1.3" } else { "" },
            ),
            (
                "time of `INSERT ... SELECT` to `merge`",
                |round| ratio::time(round, "insert", "merge"),
                if self == Case::Index { "at least 15" } else { "" },
            ),
        ]
    }
}

/// The query for the content of a database: its row count, and sums of columns.
const SUMS: &str =
    "SELECT count(*), total(id), total(age), (SELECT total(area) FROM user) FROM user NOT INDEXED";

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let Settings { rows, case, options } = settings;
    let entries = if *case == Case::Index { ENTRY_BYTES } else { 0 };
    let start = Start::new(options, runner)?.with_shell()?;
    start.introduce()?;
    let house = start.house(3 * rows * (ROW_BYTES + entries))?;
    let mut sources: Vec<PathBuf> = Vec::new();
    let mut expected = vec![0; 4];
    for part in 1..=PARTS {
        let source = house.file(&format!("part-{part}.db"));
        let of = format!("{part}/{PARTS}");
        house.sqluice.run(&words!["generate", source, "--preset", "user", "--rows", rows, "--part", of])?;
        match case {
            Case::Index => {
                house.sqluice.run(&words!["index", source, INDEX])?;
            }
            Case::Disjoint => {}
            Case::Interleaved => interleave(&source, sources.len())?,
        }
        let sums = numbers(&open(&source, "")?, SUMS)?;
        expected.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        sources.push(source);
    }
    let rows = expected[0] as u64;
    let mut sums = First::default();
    sums.same((), expected)?;
    say(&format!("input: {} rows\n", grouped(rows)))?;
    let target = house.file("all.db");
    let mut track = Track { house: &house, indexed: *case == Case::Index, sources, target: target.clone() };
    let ways = ways();
    let rounds = rounds(options.rounds, &ways, |way, _| {
        track.sources.iter().try_for_each(|source| warm(source))?;
        let took = (way.run)(&mut track)?;
        let lap = Lap::new(&took, rows, size(&target)?, None).verified(way.name, || {
            if way.name != "bytes" {
                sums.same((), numbers(&open(&target, "")?, SUMS)?)?;
            }
            house.remove("all.db")
        });
        lap.map(Some)
    })?;
    let facts = json!({ "case": case, "rows": rows });
    let text = table("", &USUAL, &ways, &rounds);
    house.finish("databases-merge", facts, &ways, &rounds, &case.compared(), &text)
}

/// Numbers the rows of one of the eight databases anew: `place + 1`, `place + 9` and so on, so that the rowids of all databases interleave.
fn interleave(source: &Path, place: usize) -> anyhow::Result<()> {
    let sql = format!(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         ALTER TABLE user RENAME TO before;
         CREATE TABLE user (id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL);
         INSERT INTO user SELECT (id - (SELECT min(id) FROM before)) * {PARTS} + {place} + 1, area, age, active FROM before;
         DROP TABLE before; VACUUM"
    );
    open(source, &sql).map(drop)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    indexed: bool,
    sources: Vec<PathBuf>,
    target: PathBuf,
}

impl Track<'_> {
    /// Returns the statements that insert the rows of all databases.
    fn inserts(&self) -> anyhow::Result<String> {
        let first = open(&self.sources[0], "")?;
        let table: String =
            first.query_row("SELECT sql FROM sqlite_schema WHERE name = 'user'", [], |row| row.get(0))?;
        let mut sql = format!("{UNSAFE_PRAGMAS} PRAGMA threads = 2; {table};");
        for source in &self.sources {
            let name = source.to_str().context("a path is UTF-8")?.replace('\'', "''");
            write!(sql, "ATTACH '{name}' AS part; INSERT INTO user SELECT * FROM part.user; DETACH part;")?;
        }
        if self.indexed {
            sql += INDEX;
        }
        Ok(sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::lines;

    #[test]
    fn the_ratios_of_a_round_decide_which_claims_about_merges_are_met() {
        let laps = [("bytes", 1.0), ("insert", 21.0), ("merge", 1.4)];
        let met = |case: Case| {
            lines(&case.compared(), laps).iter().map(|line| line.ends_with("| met |")).collect::<Vec<bool>>()
        };
        assert_eq!(met(Case::Index), [false, true]);
        assert_eq!(met(Case::Disjoint), [false, false]);
    }
}
