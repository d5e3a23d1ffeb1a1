//! Exports of a table: `sqluice export` compared with the shell of SQLite, and with ADBC and pyarrow. The rows are TPC-H's `lineitem`.
//!
//! ```text
//!  shell-csv    sqlite3 .mode csv             csv        sqluice export --to lineitem.csv
//!  shell-json   sqlite3 .mode json            ndjson     sqluice export --to lineitem.ndjson
//!  adbc         ADBC fetches, pyarrow writes  parquet    sqluice export --to lineitem.parquet
//! ```
//!
//! Every second round runs in reverse order. Before each lap the database is read into the page cache. sqluice syncs its files, the
//! others do not; the time of Python includes only fetching and writing. Every file is loaded again, and must
//! have the rows and the sums of the table.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::{Options, factor, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared, Ratio};
use crate::rounds;
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{grouped, warm};

/// The program that Python runs.
const FRAMES: &str = include_str!("frames.py");

/// The size of the database at scale 1, with the largest file, in bytes.
const BYTES_AT_SCALE_1: f64 = 1.3e9 + 2.6e9 + 1.3e9;

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Scale of TPC-H; 1 is 6,001,215 rows of lineitem
    #[arg(long, default_value = "1", value_name = "SF", value_parser = factor)]
    scale: f64,
    /// The shell of SQLite
    #[arg(long, default_value = "sqlite3", value_name = "FILE")]
    sqlite3: PathBuf,
    /// A Python with pyarrow and ADBC's driver for SQLite
    #[arg(long, default_value = "python3", value_name = "FILE")]
    python: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// A method to export the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    ShellCsv,
    Csv,
    ShellJson,
    Ndjson,
    Adbc,
    Parquet,
}

impl Way {
    const ALL: [Way; 6] = [Way::ShellCsv, Way::Csv, Way::ShellJson, Way::Ndjson, Way::Adbc, Way::Parquet];

    fn name(self) -> &'static str {
        match self {
            Way::ShellCsv => "shell-csv",
            Way::Csv => "csv",
            Way::ShellJson => "shell-json",
            Way::Ndjson => "ndjson",
            Way::Adbc => "adbc",
            Way::Parquet => "parquet",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Way::ShellCsv => "`sqlite3 -csv`",
            Way::Csv => "`sqluice export`, CSV, durable",
            Way::ShellJson => "`sqlite3 -json`",
            Way::Ndjson => "`sqluice export`, NDJSON, durable",
            Way::Adbc => "ADBC `fetch_arrow_table`, `pyarrow.parquet.write_table`",
            Way::Parquet => "`sqluice export`, Parquet, durable",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Way::ShellCsv | Way::Csv => "csv",
            Way::ShellJson => "json",
            Way::Ndjson => "ndjson",
            Way::Adbc | Way::Parquet => "parquet",
        }
    }
}

type Round = rounds::Round<Way>;

const COMPARED: [Compared<Round>; 3] = [
    Compared {
        what: "time of `sqlite3 -csv` to `export`, CSV",
        ratio: |round| rounds::seconds(round, Way::ShellCsv, Way::Csv),
        claim: Some(("at least 10", 10.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `sqlite3 -json` to `export`, NDJSON",
        ratio: |round| rounds::seconds(round, Way::ShellJson, Way::Ndjson),
        claim: Some(("at least 10", 10.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of ADBC and pyarrow to `export`, Parquet",
        ratio: |round| rounds::seconds(round, Way::Adbc, Way::Parquet),
        claim: Some(("at least 6", 6.0..=f64::INFINITY)),
    },
];

/// The record of a run.
#[derive(Debug, Serialize)]
struct Record {
    benchmark: &'static str,
    taken: String,
    sqluice: String,
    machine: Machine,
    scale: f64,
    rows: u64,
    beside: String,
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
    let python =
        |arguments: &[&str]| runner.run(Command::new(&settings.python).args(["-c", FRAMES]).args(arguments));
    let beside = python(&["versions"]).with_context(|| {
        format!("{} lacks pyarrow or ADBC: tools/setup bench installs them", settings.python.display())
    })?;
    let beside = beside.stdout.trim().to_owned();
    say(&format!("machine: {machine}\nprogram: {sqluice_version}\n"))?;

    let scratch = Scratch::new(&dir, (BYTES_AT_SCALE_1 * settings.scale) as u64)?;
    let source = scratch.file("tpch.db");
    let scale = settings.scale.to_string();
    let generate =
        ["generate".as_ref(), "--preset".as_ref(), "tpch".as_ref(), "--scale".as_ref(), scale.as_ref()];
    sqluice.run(&[&generate[..], &[source.as_os_str()]].concat())?;
    let expected = Sums::of(&source)?;
    say(&format!("input: {} rows\n", grouped(expected.rows)))?;
    let track = Track { settings, runner, sqluice, scratch: &scratch, source, expected };

    let rounds = rounds::rounds(settings.options.rounds, &Way::ALL, |way| track.lap(way))?;
    let mut text = rounds::table(&Way::ALL, Way::title, &rounds);
    let ratios = Ratio::all(&COMPARED, &rounds);
    text += &format!(
        "\n{}\nmachine: {machine}\nprogram: {sqluice_version}\nbeside: {beside}\n",
        ratio::table(&ratios)
    );
    let rows = track.expected.rows;
    let benchmark = "databases-export";
    let (scale, sqluice) = (settings.scale, sqluice_version);
    let record = Record { benchmark, taken, sqluice, machine, scale, rows, beside, rounds, ratios };
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

/// The times of an export that Python reports, in seconds.
#[derive(Debug, Deserialize)]
struct Seconds {
    fetch: f64,
    write: f64,
}

impl Track<'_> {
    fn lap(&self, way: Way) -> anyhow::Result<Lap> {
        warm(&self.source)?;
        let file = self.scratch.file(&format!("lineitem.{}", way.extension()));
        let (took, output) = match way {
            Way::ShellCsv => (self.shell("csv", &file)?, None),
            Way::ShellJson => (self.shell("json", &file)?, None),
            Way::Csv | Way::Ndjson | Way::Parquet => {
                let verb = ["export".as_ref(), self.source.as_os_str(), "lineitem".as_ref()];
                (self.sqluice.run(&[&verb[..], &["--to".as_ref(), file.as_os_str()]].concat())?, None)
            }
            Way::Adbc => {
                let mut command = Command::new(&self.settings.python);
                let took =
                    self.runner.run(command.args(["-c", FRAMES, "export"]).arg(&self.source).arg(&file))?;
                let Seconds { fetch, write } =
                    serde_json::from_str(&took.stdout).context("Python says something else than seconds")?;
                (Took { seconds: fetch + write, ..took }, Some(format!("fetching {fetch:.2} s")))
            }
        };
        let bytes = file.metadata().context("there is a file")?.len();
        Lap::new(&took, self.expected.rows, bytes, output).verified(way.name(), || {
            self.verify(&file).with_context(|| format!("the file of {:?}", way.name()))?;
            Ok(remove(&file)?)
        })
    }

    fn shell(&self, mode: &str, file: &Path) -> anyhow::Result<Took> {
        // The shell parses the words of its own commands with these escapes.
        let file = file.to_str().context("a path is UTF-8")?.replace('\\', r"\\").replace('"', "\\\"");
        let mut command = Command::new(&self.settings.sqlite3);
        // The user's settings must not affect the comparison.
        command.args(["-batch", "-bail", "-init", "/dev/null", "-readonly"]).arg(&self.source);
        command.args([&format!(".mode {mode}"), ".headers on", &format!(".output \"{file}\"")]);
        self.runner.run(command.arg("SELECT * FROM lineitem"))
    }

    /// Checks that a file has all rows, with the sums of the table. The shell writes more digits of floats than they have.
    fn verify(&self, file: &Path) -> anyhow::Result<()> {
        let (target, schema) = (self.scratch.file("loaded.db"), self.scratch.file("lineitem.sql"));
        std::fs::write(&schema, declaration(&self.source)?).context("cannot write the schema")?;
        let load = ["load".as_ref(), target.as_os_str(), file.as_os_str()];
        self.sqluice
            .run(&[&load[..], &["--lossy".as_ref(), "--schema".as_ref(), schema.as_os_str()]].concat())?;
        let found = Sums::of(&target)?;
        ensure!(found == self.expected, "{found:?} instead of {:?}", self.expected);
        Ok(remove(&target)?)
    }
}

/// Returns a declaration of the columns of the table and their types, without keys.
fn declaration(db: &Path) -> anyhow::Result<String> {
    let connection = Connection::open(db)?;
    let sql = "SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('lineitem')";
    let columns: String = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(format!("CREATE TABLE lineitem ({columns});\n"))
}

/// The content of a table: the row count, and for each column the sum of its numbers, or of the lengths and first characters of its texts.
#[derive(Debug, PartialEq)]
struct Sums {
    rows: u64,
    columns: Vec<(String, f64, f64)>,
}

impl Sums {
    fn of(db: &Path) -> anyhow::Result<Sums> {
        let connection = Connection::open(db)?;
        let mut names = connection.prepare("SELECT name FROM pragma_table_info('lineitem') ORDER BY cid")?;
        let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        // The text form of a float may differ, so numbers have no length.
        let columns = names.iter().map(|name| {
            format!(
                "total(iif(typeof({name}) = 'text', unicode({name}), {name})), total(iif(typeof({name}) = 'text', length({name}), 0))"
            )
        });
        let sql =
            format!("SELECT count(*), {} FROM lineitem NOT INDEXED", columns.collect::<Vec<_>>().join(", "));
        Ok(connection.query_row(&sql, [], |row| {
            let sums = |(index, name): (usize, &String)| {
                Ok((name.clone(), row.get(1 + 2 * index)?, row.get(2 + 2 * index)?))
            };
            let columns = names.iter().enumerate().map(sums).collect::<rusqlite::Result<_>>()?;
            Ok(Sums { rows: row.get::<_, i64>(0)?.cast_unsigned(), columns })
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
        let seconds = [20.0, 2.0, 19.0, 2.0, 12.0, 1.0];
        let round: Round = Way::ALL.into_iter().zip(seconds.map(lap)).collect();
        let ratios = Ratio::all(&COMPARED, &[round]);
        let verdicts: Vec<bool> = ratios.iter().map(|ratio| ratio.line().ends_with("| met |")).collect();
        assert_eq!(verdicts, [true, false, true]);
    }

    #[test]
    fn sums_see_a_value_that_differs() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, rows: &str| {
            let file = folder.path().join(name);
            let sql = format!("CREATE TABLE lineitem (a REAL, b TEXT); INSERT INTO lineitem VALUES {rows}");
            Connection::open(&file).unwrap().execute_batch(&sql).unwrap();
            Sums::of(&file).unwrap()
        };
        let all = make("1.db", "(1.5, 'x'), (2, 'abc')");
        assert_eq!(all, make("2.db", "(1.5, 'x'), (2, 'abc')"));
        for (name, rows) in [
            ("3.db", "(1.5, 'x')"),
            ("4.db", "(1.25, 'x'), (2, 'abc')"),
            ("5.db", "(1.5, 'y'), (2, 'abc')"),
            ("6.db", "(1.5, 'x'), (2, 'ab')"),
        ] {
            assert_ne!(all, make(name, rows), "{rows}");
        }
    }
}
