//! The rounds of the comparison.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Settings;
use super::record::{Input, Record, Round, Way};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::Runner;
use crate::scratch::Scratch;
use crate::sqluice::Sqluice;
use crate::{grouped, sync, warm};

/// The maximum size of a row, in bytes.
const ROW_BYTES_MAX: u64 = 80;

/// The number of rows of all tables of the preset for one order.
const ROWS_PER_ORDER: f64 = 3.11;

/// The required part of a report.
#[derive(Debug, Deserialize)]
struct Counted {
    rows: u64,
}

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

    let orders = |rows: u64| ((rows as f64 / ROWS_PER_ORDER) as u64).max(1000).to_string();
    let (database, profile) = (scratch.file("shop.db"), scratch.file("shop.sql"));
    let (all, made) = (orders(settings.rows), orders(settings.made));
    let preset = ["generate", "--preset", "shop", "--rows"].map(OsStr::new);
    let made_of = sqluice.run(&[&preset[..], &[all.as_ref(), database.as_os_str()]].concat())?;
    let rows = counted(&made_of.stdout)?;
    sync(&database)?;
    let bytes = database.metadata().context("there is a file")?.len();
    say(&format!("input: {} rows in 4 tables, {:.0} MB\n", grouped(rows), bytes as f64 / 1e6))?;
    sqluice.run(&["profile".as_ref(), database.as_os_str(), "--to".as_ref(), profile.as_os_str()])?;

    let track = Track {
        sqluice,
        database,
        profile,
        rows,
        bytes,
        made,
        share: settings.made as f64 / settings.rows as f64,
    };
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        say(&format!("\nround {number} of {}\n", options.rounds))?;
        let mut ways = [Way::Check, Way::Profile, Way::Preset, Way::Like];
        if number % 2 == 0 {
            ways.reverse();
        }
        let laps = ways.into_iter().map(|way| Ok((way, track.lap(way)?)));
        rounds.push(laps.collect::<anyhow::Result<Round>>()?);
    }
    let record = Record::new(taken, version, machine, Input { rows, bytes }, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

fn counted(report: &str) -> anyhow::Result<u64> {
    let Counted { rows } = serde_json::from_str(report).context("a report is JSON")?;
    Ok(rows)
}

/// The data that all laps share.
struct Track<'a> {
    sqluice: Sqluice<'a>,
    database: PathBuf,
    profile: PathBuf,
    rows: u64,
    bytes: u64,
    /// The number of orders in the generated databases.
    made: String,
    /// The size of the generated databases as a share of the database's size.
    share: f64,
}

impl Track<'_> {
    fn lap(&self, way: Way) -> anyhow::Result<Lap> {
        let database = self.database.as_os_str();
        let scale = self.share.to_string();
        let arguments: Vec<&OsStr> = match way {
            Way::Check => vec!["check".as_ref(), database],
            Way::Profile => vec!["profile".as_ref(), database],
            Way::Preset => {
                let preset = ["generate", "--discard", "--preset", "shop", "--rows", &self.made];
                preset.map(OsStr::new).to_vec()
            }
            Way::Like => {
                let like = ["generate", "--discard", "--rows-scale", &scale].map(OsStr::new);
                [&like[..], &[self.profile.as_os_str()]].concat()
            }
        };
        if matches!(way, Way::Check | Way::Profile) {
            warm(&self.database)?;
        }
        let took = self.sqluice.run(&arguments)?;
        let rows = counted(&took.stdout)?;
        let bytes = if matches!(way, Way::Check | Way::Profile) { self.bytes } else { 0 };
        Lap::new(&took, rows, bytes, None).verified(way.name(), || {
            let expected = if bytes > 0 { self.rows as f64 } else { self.rows as f64 * self.share };
            ensure!((rows as f64 / expected - 1.0).abs() < 0.001, "{rows} rows instead of {expected}");
            Ok(())
        })
    }
}
