//! The rounds.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use sqluice_bench::lap::{Lap, save};
use sqluice_bench::machine::{self, Machine};
use sqluice_bench::options::{say, this};
use sqluice_bench::process::{Runner, Took};
use sqluice_bench::scratch::{Scratch, remove};
use sqluice_bench::sqluice::Sqluice;
use sqluice_bench::{UNSAFE_PRAGMAS, grouped, sync};

use crate::Settings;
use crate::data::{Csv, lineitem};
use crate::record::{Input, Record, Round, Way};
use crate::verify::Sums;

/// The table, with SQLite's type for each column.
pub(crate) const SCHEMA: &str = include_str!("lineitem.sql");

/// How often the rows are in the long file.
const TIMES: u64 = 10;

/// Bytes of a database for two bytes of its CSV, at most: as text they take about as many.
const DATABASE_BYTES_FOR_TWO: u64 = 3;

/// Measures, tells and records.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let options = &settings.options;
    let dir = options.dir();
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let version = sqluice.version()?;
    let mut machine = Machine::here(&dir);
    machine.facts.sqlite = shell_version(runner, &settings.sqlite3)?;
    let taken = machine::now();
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let (once, made_by) = lineitem(runner, &settings.tpchgen, &dir, settings.scale)?;
    say(&format!("input: {} rows, made by {made_by}\n", grouped(once.rows)))?;
    let database_bytes = once.bytes * DATABASE_BYTES_FOR_TWO / 2;
    let ten_bytes = TIMES * (once.bytes + database_bytes);
    let scratch = Scratch::new(&dir, if settings.no_ten { database_bytes } else { ten_bytes })?;
    let schema = scratch.file("lineitem.sql");
    std::fs::write(&schema, SCHEMA).context("cannot write the schema")?;
    let ten = match settings.no_ten {
        true => None,
        false => Some(once.repeated(TIMES, scratch.file("lineitem.csv"))?),
    };
    let (sqlite3, checked) = (&settings.sqlite3, BTreeSet::new());
    let mut track = Track {
        runner,
        this: this()?,
        sqluice,
        sqlite3,
        scratch: &scratch,
        schema,
        once,
        ten,
        sums: None,
        checked,
    };

    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        say(&format!("\nround {number} of {}\n", options.rounds))?;
        rounds.push(track.round(number % 2 == 0)?);
    }
    let input = Input { scale: settings.scale, made_by, rows: track.once.rows, bytes: track.once.bytes };
    let record = Record::new(taken, version, machine, input, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// What stays the same from lap to lap.
struct Track<'a> {
    runner: &'a Runner,
    /// This program, which verifies.
    this: PathBuf,
    sqluice: Sqluice<'a>,
    sqlite3: &'a Path,
    scratch: &'a Scratch,
    schema: PathBuf,
    once: Csv,
    ten: Option<Csv>,
    /// What the first import made of the rows.
    sums: Option<Sums>,
    /// Those of which SQLite has looked at a database.
    checked: BTreeSet<Way>,
}

impl Track<'_> {
    /// One round, in one direction or the other, so that nobody always follows the same.
    fn round(&mut self, backwards: bool) -> anyhow::Result<Round> {
        let mut ways: Vec<Way> =
            Way::ALL.into_iter().filter(|way| *way != Way::Ten || self.ten.is_some()).collect();
        if backwards {
            ways.reverse();
        }
        ways.into_iter().map(|way| Ok((way, self.lap(way)?))).collect()
    }

    fn lap(&mut self, way: Way) -> anyhow::Result<Lap> {
        let csv = match way {
            Way::Ten => self.ten.clone().context("a file of ten times the rows")?,
            _ => self.once.clone(),
        };
        csv.warm()?;
        let target = self.scratch.file("load.db");
        let (took, output) = match way {
            Way::Import => (self.import(&csv, &target, "")?, None),
            Way::Unsafe => (self.import_unsafe(&csv, &target)?, None),
            Way::Inferred => self.load(&csv, &target, &[])?,
            Way::Declared | Way::Ten => {
                self.load(&csv, &target, &["--schema".as_ref(), self.schema.as_os_str()])?
            }
        };
        let bytes = target.metadata().context("there is a file")?.len();
        Lap::new(&took, csv.rows, bytes, output).verified(way.name(), || {
            self.verify(way, &csv, &target).with_context(|| format!("the database of {:?}", way.name()))?;
            Ok(remove(&target)?)
        })
    }

    fn import(&self, csv: &Csv, target: &Path, pragmas: &str) -> anyhow::Result<Took> {
        // As the shell reads the words of its own commands.
        let file = csv.file.to_str().context("a path is UTF-8")?.replace('\\', r"\\").replace('"', "\\\"");
        let mut command = Command::new(self.sqlite3);
        // The settings of whoever runs this are no part of the comparison.
        command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(target);
        command.args([pragmas, SCHEMA, ".mode csv", &format!(".import --skip 1 \"{file}\" lineitem")]);
        self.runner.run(&mut command)
    }

    /// What these PRAGMAs leave out counts, too: the others are on the disk when they end.
    fn import_unsafe(&self, csv: &Csv, target: &Path) -> anyhow::Result<Took> {
        let mut took = self.import(csv, target, UNSAFE_PRAGMAS)?;
        let start = Instant::now();
        sync(target)?;
        took.seconds += start.elapsed().as_secs_f64();
        Ok(took)
    }

    fn load(&self, csv: &Csv, target: &Path, flags: &[&OsStr]) -> anyhow::Result<(Took, Option<String>)> {
        let files = ["load".as_ref(), target.as_os_str(), csv.file.as_os_str()];
        let (took, report) = self.sqluice.write(&[&files, flags].concat(), csv.rows)?;
        Ok((took, Some(report.output)))
    }

    /// Sees that a database has all rows, and the sums that the first import had.
    fn verify(&mut self, way: Way, csv: &Csv, target: &Path) -> anyhow::Result<()> {
        let mut command = Command::new(&self.this);
        command.arg("verify").arg(target);
        if self.checked.insert(way) {
            command.arg("--quick-check");
        }
        let took = self.runner.run(&mut command)?;
        let sums: Sums = serde_json::from_str(&took.stdout).context("the sums are JSON")?;
        ensure!(sums.rows == i64::try_from(csv.rows)?, "{} rows instead of {}", sums.rows, csv.rows);
        let times = if way == Way::Ten { i64::try_from(TIMES)? } else { 1 };
        let expected = self.sums.get_or_insert_with(|| sums.clone()).times(times);
        ensure!(sums == expected, "{sums:?}, where the first import has {expected:?}");
        Ok(())
    }
}

/// Of the shell: its first word is the number.
fn shell_version(runner: &Runner, sqlite3: &Path) -> anyhow::Result<String> {
    let said = runner.run(Command::new(sqlite3).arg("--version"))?.stdout;
    Ok(said.split_whitespace().next().unwrap_or("unknown").to_owned())
}
