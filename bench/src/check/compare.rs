//! The rounds of the comparison.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context, ensure};

use super::Settings;
use super::record::{Input, Record, Round, Way};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::scratch::Scratch;
use crate::sqluice::Sqluice;
use crate::{grouped, sync, warm};

/// The maximum size of a row in the table and in all indexes, in bytes.
const ROW_BYTES_MAX: u64 = 150;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let options = &settings.options;
    let dir = options.dir();
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let version = sqluice.version()?;
    let scratch = Scratch::new(&dir, settings.rows * ROW_BYTES_MAX)?;
    let machine = Machine::here(&dir);
    let taken = machine::now();
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let database = scratch.file("check.db");
    let rows = settings.rows.to_string();
    let flags = ["--preset", "user", "--rows", &rows].map(AsRef::as_ref);
    sqluice.write(&[&["generate".as_ref(), database.as_os_str()], &flags[..]].concat(), settings.rows)?;
    let track = Track { runner, sqluice, folder: scratch.folder().to_owned(), database, rows: settings.rows };
    let took = track.own("index")?;
    sync(&track.database)?;
    let bytes = track.database.metadata().context("there is a file")?.len();
    say(&format!(
        "input: {} rows with 4 indexes, {:.0} MB; CREATE INDEX took {:.1} s\n",
        grouped(track.rows),
        bytes as f64 / 1e6,
        took.seconds
    ))?;

    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        say(&format!("\nround {number} of {}\n", options.rounds))?;
        let mut ways = vec![Way::Check];
        if number <= settings.theirs {
            ways.insert(usize::from(number % 2 == 0), Way::Integrity);
        }
        let laps = ways.into_iter().map(|way| Ok((way, track.lap(way, bytes)?)));
        rounds.push(laps.collect::<anyhow::Result<Round>>()?);
    }
    let input = Input { rows: track.rows, bytes };
    let record = Record::new(taken, version, machine, input, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// The data that all laps share.
struct Track<'a> {
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    folder: PathBuf,
    database: PathBuf,
    rows: u64,
}

impl Track<'_> {
    fn lap(&self, way: Way, bytes: u64) -> anyhow::Result<Lap> {
        warm(&self.database)?;
        let took = match way {
            Way::Check => self.check()?,
            Way::Integrity => self.integrity_check()?,
        };
        Lap::new(&took, self.rows, bytes, None).verified(way.name(), || Ok(()))
    }

    fn check(&self) -> anyhow::Result<Took> {
        let (took, checked) = self.sqluice.check(&self.database)?;
        ensure!(checked.rows == self.rows, "sqluice says: {}", took.stdout);
        Ok(took)
    }

    fn integrity_check(&self) -> anyhow::Result<Took> {
        let took = self.own("integrity")?;
        ensure!(took.stdout == "ok", "integrity_check says: {}", took.stdout);
        Ok(took)
    }

    /// Runs a lap of this program with SQLite.
    fn own(&self, lap: &str) -> anyhow::Result<Took> {
        self.runner.own(&[OsStr::new(lap), self.database.as_os_str()], &self.folder)
    }
}
