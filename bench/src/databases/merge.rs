//! Merging eight databases: `sqluice merge` compared with ATTACH and INSERT ... SELECT by SQLite, and with a copy of the bytes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use rusqlite::Connection;
use serde::Serialize;

use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::{Options, say};
use crate::process::Runner;
use crate::ratio::{self, Compared, Ratio};
use crate::rounds;
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{UNSAFE_PRAGMAS, count, grouped, warm};

/// The number of merged databases.
const PARTS: usize = 8;

/// The size of a row of the table, and of its entry in the index, in bytes.
const ROW_BYTES: u64 = 20;
const ENTRY_BYTES: u64 = 18;

/// The index on text.
const INDEX: &str = "CREATE INDEX by_area ON user (area)";

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Rows of all databases
    #[arg(long, default_value = "100M", value_name = "N", value_parser = count)]
    rows: u64,
    /// The shell of SQLite
    #[arg(long, default_value = "sqlite3", value_name = "FILE")]
    sqlite3: PathBuf,
    /// What is merged
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

/// A method to merge the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    Bytes,
    Insert,
    Merge,
}

impl Way {
    const ALL: [Way; 3] = [Way::Bytes, Way::Insert, Way::Merge];

    fn name(self) -> &'static str {
        match self {
            Way::Bytes => "bytes",
            Way::Insert => "insert",
            Way::Merge => "merge",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Way::Bytes => "`cat`, synced",
            Way::Insert => "ATTACH, `INSERT ... SELECT`, `CREATE INDEX`, unsafe PRAGMAs",
            Way::Merge => "`sqluice merge`, durable",
        }
    }
}

type Round = rounds::Round<Way>;

impl Case {
    fn compared(self) -> Vec<Compared<Round>> {
        let bytes = Compared {
            what: "time of `merge` to `cat` and sync",
            ratio: |round| rounds::seconds(round, Way::Merge, Way::Bytes),
            claim: (self == Case::Disjoint).then_some(("at most 1.3", 0.0..=1.3)),
        };
        let insert = Compared {
            what: "time of `INSERT ... SELECT` to `merge`",
            ratio: |round| rounds::seconds(round, Way::Insert, Way::Merge),
            claim: (self == Case::Index).then_some(("at least 15", 15.0..=f64::INFINITY)),
        };
        vec![bytes, insert]
    }
}

/// The record of a run.
#[derive(Debug, Serialize)]
struct Record {
    benchmark: &'static str,
    taken: String,
    sqluice: String,
    machine: Machine,
    case: Case,
    rows: u64,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
}

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let dir = settings.options.dir();
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let sqluice = Sqluice::new(runner, settings.options.sqluice()?);
    let (sqluice_version, taken) = (sqluice.version()?, machine::now());
    let mut machine = Machine::here(&dir);
    let said = runner.run(Command::new(&settings.sqlite3).arg("--version"))?.stdout;
    machine.facts.sqlite = said.split_whitespace().next().unwrap_or("unknown").to_owned();
    say(&format!("machine: {machine}\nprogram: {sqluice_version}\n"))?;

    let entries = if settings.case == Case::Index { ENTRY_BYTES } else { 0 };
    let scratch = Scratch::new(&dir, 3 * settings.rows * (ROW_BYTES + entries))?;
    let mut sources = Vec::new();
    let mut expected = Sums::default();
    for part in 1..=PARTS {
        let source = scratch.file(&format!("part-{part}.db"));
        let (rows, part) = (settings.rows.to_string(), format!("{part}/{PARTS}"));
        let generate = ["generate", "--preset", "user", "--rows", &rows, "--part", &part].map(AsRef::as_ref);
        sqluice.run(&[&generate[..], &[source.as_os_str()]].concat())?;
        match settings.case {
            Case::Index => {
                sqluice.run(&["index".as_ref(), source.as_os_str(), INDEX.as_ref()])?;
            }
            Case::Disjoint => {}
            Case::Interleaved => interleave(&source, sources.len())?,
        }
        expected.add(&Sums::of(&source)?);
        sources.push(source);
    }
    say(&format!("input: {} rows\n", grouped(expected.rows)))?;
    let track = Track { settings, runner, sqluice, scratch: &scratch, sources, expected };

    let rounds = rounds::rounds(settings.options.rounds, &Way::ALL, |way| track.lap(way))?;
    let mut text = rounds::table(&Way::ALL, Way::title, &rounds);
    let ratios = Ratio::all(&settings.case.compared(), &rounds);
    text += &format!("\n{}\nmachine: {machine}\nprogram: {sqluice_version}\n", ratio::table(&ratios));
    let rows = track.expected.rows;
    let benchmark = "databases-merge";
    let (case, sqluice) = (settings.case, sqluice_version);
    let record = Record { benchmark, taken, sqluice, machine, case, rows, rounds, ratios };
    let saved = save(&record, benchmark, &record.taken, &settings.options.results())?;
    say(&format!("\n{text}record: {}\n", saved.display()))
}

/// Changes the rowids of a database to every eighth number, beginning with its own.
fn interleave(source: &Path, place: usize) -> anyhow::Result<()> {
    let connection = Connection::open(source)?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         ALTER TABLE user RENAME TO before;
         CREATE TABLE user (id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL);
         INSERT INTO user SELECT (id - (SELECT min(id) FROM before)) * {PARTS} + {place} + 1, area, age, active FROM before;
         DROP TABLE before; VACUUM"
    ))?;
    Ok(())
}

/// The data that all laps share.
struct Track<'a> {
    settings: &'a Settings,
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
    sources: Vec<PathBuf>,
    expected: Sums,
}

impl Track<'_> {
    fn lap(&self, way: Way) -> anyhow::Result<Lap> {
        self.sources.iter().try_for_each(|source| warm(source))?;
        let file = self.scratch.file("all.db");
        let took = match way {
            Way::Bytes => {
                let mut command = Command::new("sh");
                command.args(["-c", "to=\"$1\"; shift; cat \"$@\" > \"$to\" && sync \"$to\"", "sh"]);
                self.runner.run(command.arg(&file).args(&self.sources))?
            }
            Way::Insert => {
                let mut command = Command::new(&self.settings.sqlite3);
                command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(&file);
                self.runner.run(command.arg(self.inserts()?))?
            }
            Way::Merge => {
                let mut arguments = vec!["merge".as_ref(), file.as_os_str()];
                arguments.extend(self.sources.iter().map(|source| source.as_os_str()));
                self.sqluice.run(&arguments)?
            }
        };
        let bytes = file.metadata().context("the result exists")?.len();
        Lap::new(&took, self.expected.rows, bytes, None).verified(way.name(), || {
            if way != Way::Bytes {
                let found = Sums::of(&file)?;
                ensure!(found == self.expected, "{found:?} instead of {:?}", self.expected);
            }
            Ok(remove(&file)?)
        })
    }

    /// Returns the statements for SQLite.
    fn inserts(&self) -> anyhow::Result<String> {
        let first = Connection::open(&self.sources[0])?;
        let table: String =
            first.query_row("SELECT sql FROM sqlite_schema WHERE name = 'user'", [], |row| row.get(0))?;
        let mut sql = format!("{UNSAFE_PRAGMAS} PRAGMA threads = 2; {table};");
        for source in &self.sources {
            let name = source.to_str().context("a path is UTF-8")?.replace('\'', "''");
            write!(sql, "ATTACH '{name}' AS part; INSERT INTO user SELECT * FROM part.user; DETACH part;")?;
        }
        if self.settings.case == Case::Index {
            sql += INDEX;
        }
        Ok(sql)
    }
}

/// The content of a database: the row count, sums of numbers, and the entries of its index.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    rows: u64,
    ids: i64,
    ages: i64,
    areas: i64,
}

impl Sums {
    fn of(db: &Path) -> anyhow::Result<Sums> {
        let connection = Connection::open(db)?;
        let sql =
            "SELECT count(*), total(id), total(age), (SELECT total(area) FROM user) FROM user NOT INDEXED";
        Ok(connection.query_row(sql, [], |row| {
            let total = |column| row.get::<_, f64>(column).map(|total| total as i64);
            let rows = row.get::<_, i64>(0)?.cast_unsigned();
            Ok(Sums { rows, ids: total(1)?, ages: total(2)?, areas: total(3)? })
        })?)
    }

    fn add(&mut self, other: &Sums) {
        self.rows += other.rows;
        self.ids += other.ids;
        self.ages += other.ages;
        self.areas += other.areas;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_about_ratios_within_a_round() {
        let lap = |seconds: f64| Lap {
            rows: 1,
            bytes: 1,
            seconds,
            cpu_seconds: seconds,
            memory_bytes: 1,
            output: None,
        };
        let round: Round = Way::ALL.into_iter().zip([1.0, 21.0, 1.4].map(lap)).collect();
        let met = |case: Case| {
            let ratios = Ratio::all(&case.compared(), std::slice::from_ref(&round));
            ratios.iter().map(|ratio| ratio.line().ends_with("| met |")).collect::<Vec<bool>>()
        };
        assert_eq!(met(Case::Index), [false, true]);
        assert_eq!(met(Case::Disjoint), [false, false]);
    }
}
