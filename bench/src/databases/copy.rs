//! Copies of a database: `sqluice copy` compared with VACUUM INTO, and with a synced copy of the bytes. The rows are those of the
//! preset `user`.
//!
//! ```text
//!  case       source                               copy
//!  plain      a table                              unchanged
//!  pages      a table                              VACUUM INTO and sqluice copy: pages of 16,384 bytes
//!  indexes    a table with two indexes             unchanged
//!  deleted    a table, every second row deleted    unchanged
//! ```
//!
//! Every second round runs in reverse order. Before each lap the source is read into the page cache. sqluice and the copy of the bytes
//! sync their files, VACUUM INTO does not. Every copy must have the rows and sums of its source.

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
use crate::{count, grouped, warm};

/// The size of a row of the table, and of its entries in two indexes, in bytes.
const ROW_BYTES: u64 = 20;
const ENTRY_BYTES: u64 = 30;

/// The page size of the copy if it is to be larger.
const PAGE_BYTES: &str = "16384";

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Rows of the table
    #[arg(long, default_value = "100M", value_name = "N", value_parser = count)]
    rows: u64,
    /// The shell of SQLite
    #[arg(long, default_value = "sqlite3", value_name = "FILE")]
    sqlite3: PathBuf,
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

/// A method to copy the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    Bytes,
    VacuumInto,
    Copy,
}

impl Way {
    const ALL: [Way; 3] = [Way::Bytes, Way::VacuumInto, Way::Copy];

    fn name(self) -> &'static str {
        match self {
            Way::Bytes => "bytes",
            Way::VacuumInto => "vacuum",
            Way::Copy => "copy",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Way::Bytes => "`cp`, synced",
            Way::VacuumInto => "`VACUUM INTO`",
            Way::Copy => "`sqluice copy`, durable",
        }
    }
}

type Round = rounds::Round<Way>;

const BESIDE_VACUUM: Compared<Round> = Compared {
    what: "time of `VACUUM INTO` to `copy`",
    ratio: |round| rounds::seconds(round, Way::VacuumInto, Way::Copy),
    claim: Some(("at least 10", 10.0..=f64::INFINITY)),
};

impl Case {
    fn compared(self) -> Vec<Compared<Round>> {
        let bytes = Compared {
            what: "time of `copy` to `cp` and sync",
            ratio: |round| rounds::seconds(round, Way::Copy, Way::Bytes),
            claim: (self == Case::Plain).then_some(("at most 1.25", 0.0..=1.25)),
        };
        let size = Compared {
            what: "bytes of `copy` to those of `VACUUM INTO`",
            ratio: |round| rounds::ratio(round, Way::Copy, Way::VacuumInto, |lap| lap.bytes as f64),
            claim: Some(("at most 1.05", 0.0..=1.05)),
        };
        match self {
            Case::Deleted => {
                let claim = Some(("at least 6", 6.0..=f64::INFINITY));
                vec![Compared { claim, ..BESIDE_VACUUM }, size]
            }
            _ => vec![bytes, BESIDE_VACUUM, size],
        }
    }

    /// Returns SQL that prepares the table.
    fn prepare(self) -> &'static str {
        match self {
            Case::Plain | Case::Pages | Case::Indexes => "",
            Case::Deleted => {
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; DELETE FROM user WHERE id % 2 = 0"
            }
        }
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

    let entries = if settings.case == Case::Indexes { ENTRY_BYTES } else { 0 };
    let scratch = Scratch::new(&dir, 3 * settings.rows * (ROW_BYTES + entries))?;
    let source = scratch.file("source.db");
    let rows = settings.rows.to_string();
    let generate = ["generate", "--preset", "user", "--rows", &rows].map(AsRef::as_ref);
    sqluice.run(&[&generate[..], &[source.as_os_str()]].concat())?;
    if settings.case == Case::Indexes {
        let indexes = ["CREATE INDEX by_area ON user (area)", "CREATE INDEX by_age ON user (age, active)"];
        let indexes = indexes.map(AsRef::as_ref);
        sqluice.run(&[&["index".as_ref(), source.as_os_str()][..], &indexes].concat())?;
    }
    Connection::open(&source)?.execute_batch(settings.case.prepare())?;
    let expected = Sums::of(&source)?;
    say(&format!("input: {} rows\n", grouped(expected.rows)))?;
    let track = Track { settings, runner, sqluice, scratch: &scratch, source, expected };

    let rounds = rounds::rounds(settings.options.rounds, &Way::ALL, |way| track.lap(way))?;
    let mut text = rounds::table(&Way::ALL, Way::title, &rounds);
    let ratios = Ratio::all(&settings.case.compared(), &rounds);
    text += &format!("\n{}\nmachine: {machine}\nprogram: {sqluice_version}\n", ratio::table(&ratios));
    let rows = track.expected.rows;
    let benchmark = "databases-copy";
    let (case, sqluice) = (settings.case, sqluice_version);
    let record = Record { benchmark, taken, sqluice, machine, case, rows, rounds, ratios };
    let saved = save(&record, benchmark, &record.taken, &settings.options.results())?;
    say(&format!("\n{text}record: {}\n", saved.display()))
}

/// The data that all laps share.
struct Track<'a> {
    settings: &'a Settings,
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
    source: PathBuf,
    expected: Sums,
}

impl Track<'_> {
    fn lap(&self, way: Way) -> anyhow::Result<Lap> {
        warm(&self.source)?;
        let file = self.scratch.file("copy.db");
        let larger = self.settings.case == Case::Pages;
        let took = match way {
            Way::Bytes => {
                let mut command = Command::new("sh");
                command.args(["-c", "cp \"$1\" \"$2\" && sync \"$2\"", "sh"]).arg(&self.source).arg(&file);
                self.runner.run(&mut command)?
            }
            Way::VacuumInto => {
                let to = file.to_str().context("a path is UTF-8")?.replace('\'', "''");
                let size = if larger { format!("PRAGMA page_size = {PAGE_BYTES};") } else { String::new() };
                let mut command = Command::new(&self.settings.sqlite3);
                command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(&self.source);
                self.runner.run(command.arg(format!("{size} VACUUM INTO '{to}'")))?
            }
            Way::Copy => {
                let verb = ["copy".as_ref(), self.source.as_os_str(), file.as_os_str()];
                let size = ["--page-size".as_ref(), PAGE_BYTES.as_ref()];
                self.sqluice.run(&[&verb[..], if larger { &size } else { &[] }].concat())?
            }
        };
        let bytes = file.metadata().context("the copy exists")?.len();
        Lap::new(&took, self.expected.rows, bytes, None).verified(way.name(), || {
            let found = Sums::of(&file)?;
            ensure!(found == self.expected, "{found:?} instead of {:?}", self.expected);
            Ok(remove(&file)?)
        })
    }
}

/// The content of a database: the row count, sums of numbers, and the entries of its indexes.
#[derive(Debug, PartialEq)]
struct Sums {
    rows: u64,
    ids: i64,
    ages: i64,
    indexes: u64,
}

impl Sums {
    fn of(db: &Path) -> anyhow::Result<Sums> {
        let connection = Connection::open(db)?;
        let sql = "SELECT count(*), total(id), total(age), (SELECT count(*) FROM sqlite_schema WHERE type = 'index')
            FROM user NOT INDEXED";
        Ok(connection.query_row(sql, [], |row| {
            let total = |column| row.get::<_, f64>(column).map(|total| total as i64);
            let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            Ok(Sums { rows: number(0)?, ids: total(1)?, ages: total(2)?, indexes: number(3)? })
        })?)
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
        let round: Round = Way::ALL.into_iter().zip([1.0, 9.0, 1.2].map(lap)).collect();
        let met = |case: Case| {
            let ratios = Ratio::all(&case.compared(), std::slice::from_ref(&round));
            ratios.iter().map(|ratio| ratio.line().ends_with("| met |")).collect::<Vec<bool>>()
        };
        assert_eq!(met(Case::Plain), [true, false, true]);
        assert_eq!(met(Case::Deleted), [true, true]);
    }
}
