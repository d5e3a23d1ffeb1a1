//! The rounds of the comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::data::{Column, Keys, csv};
use super::record::{MEMORY_BYTES, Record, Round, Way};
use super::{Section, Settings};
use crate::found::Found;
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{copy, grouped, warm};

const PLAIN: &str = include_str!("plain.sql");
const AREA: &str = include_str!("area.sql");
const TWO: &str = include_str!("two.sql");
const NUMBER_PLAIN: &str = include_str!("number_plain.sql");
const NUMBER: &str = include_str!("number.sql");
const LOWER: &str = include_str!("lower.sql");
const HALF: &str = include_str!("half.sql");

/// The maximum size of a row in bytes, in all files of a part at a time: tables, indexes, input and files for sorting.
const ROW_BYTES_MAX: f64 = 160.0;

/// The maximum row count of databases that get SQLite's integrity_check, once for each way.
const CHECKED_ROWS_MAX: u64 = 1_000_000;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let options = &settings.options;
    let wanted = |way: &Way| settings.only.is_empty() || settings.only.contains(&way.part());
    // The cost of an index is the difference to the table without one.
    let is_base = |way: &Way| *way == Way::Plain && settings.only.contains(&Section::Computed);
    let ways: Vec<Way> = Way::ALL.into_iter().filter(|way| wanted(way) || is_base(way)).collect();
    let rows_max = ways.iter().map(|way| way.rows()).fold(0.0, f64::max) * settings.rows_scale;
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let scratch = Scratch::new(&options.dir(), (rows_max * ROW_BYTES_MAX) as u64)?;
    let machine = Machine::here(scratch.folder());
    let (taken, version) = (machine::now(), sqluice.version()?);
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let (found, checked) = (BTreeMap::new(), BTreeSet::new());
    let mut track = Track { settings, runner, sqluice, scratch: &scratch, found, checked };
    track.prepare(&ways)?;
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        say(&format!("\nround {number} of {}\n", options.rounds))?;
        rounds.push(track.round(&ways, number % 2 == 0)?);
    }
    let record = Record::new(taken, version, machine, settings.rows_scale, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// The data that all laps share.
struct Track<'a> {
    settings: &'a Settings,
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
    /// The content that the first way produced, by table and number of rows.
    found: BTreeMap<(RowOrder, u64), Found>,
    /// The ways whose databases SQLite has checked.
    checked: BTreeSet<Way>,
}

/// The rows of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowOrder {
    User,
    Number,
    Uuid,
    Shuffled,
}

fn rows_of(way: Way) -> RowOrder {
    match way {
        Way::Uuid | Way::UuidSql | Way::UuidDefault => RowOrder::Uuid,
        Way::Shuffled | Way::ShuffledSql => RowOrder::Shuffled,
        _ if way.part() == Section::Number => RowOrder::Number,
        _ => RowOrder::User,
    }
}

/// Returns the indexes that a way creates.
fn indexes(way: Way) -> &'static [&'static str] {
    match way {
        Way::Indexed | Way::Create | Way::Threads => &["by_area"],
        Way::NumberIndexed | Way::NumberCreate | Way::NumberThreads => &["by_number"],
        Way::LowerIndexed | Way::LowerCreate | Way::LowerThreads => &["by_lower"],
        Way::HalfIndexed | Way::HalfCreate | Way::HalfThreads => &["by_half"],
        Way::Two | Way::TwoTen => &["by_age", "by_area"],
        _ => &[],
    }
}

impl Track<'_> {
    /// Writes the schemas and the input.
    fn prepare(&self, ways: &[Way]) -> anyhow::Result<()> {
        let schemas = [
            ("plain.sql", PLAIN),
            ("area.sql", AREA),
            ("two.sql", TWO),
            ("number_plain.sql", NUMBER_PLAIN),
            ("number.sql", NUMBER),
            ("lower.sql", LOWER),
            ("half.sql", HALF),
        ];
        for (name, sql) in schemas {
            std::fs::write(self.scratch.file(name), sql).context("cannot write a schema")?;
        }
        for (way, keys) in [(Way::Uuid, Keys::Uuid), (Way::Shuffled, Keys::Shuffled)] {
            if ways.contains(&way) {
                csv(keys, self.rows(way), &self.csv(keys))?;
            }
        }
        Ok(())
    }

    fn rows(&self, way: Way) -> u64 {
        (way.rows() * self.settings.rows_scale).max(1.0) as u64
    }

    fn csv(&self, keys: Keys) -> PathBuf {
        self.scratch.file(&format!("{}.csv", keys.name()))
    }

    /// Runs one round, in either order, so that no way always follows the same.
    fn round(&mut self, ways: &[Way], backwards: bool) -> anyhow::Result<Round> {
        let mut ways = ways.to_vec();
        if backwards {
            ways.reverse();
        }
        let round = ways.into_iter().map(|way| Ok((way, self.lap(way)?))).collect();
        for column in [Column::Area, Column::Number] {
            remove(&self.scratch.file(column.table()))?;
        }
        round
    }

    fn lap(&mut self, way: Way) -> anyhow::Result<Lap> {
        let (target, rows) = (self.scratch.file("index.db"), self.rows(way));
        let (took, output) = match way {
            Way::Plain => self.generate(&target, "plain.sql", rows, &[])?,
            Way::Indexed => self.generate(&target, "area.sql", rows, &[])?,
            Way::Two | Way::TwoTen => {
                let memory = MEMORY_BYTES.to_string();
                self.generate(&target, "two.sql", rows, &["--memory", &memory])?
            }
            Way::NumberPlain => self.generate(&target, "number_plain.sql", rows, &[])?,
            Way::NumberIndexed => self.generate(&target, "number.sql", rows, &[])?,
            Way::Create => (self.create_index(Column::Area, &target, rows, "0")?, None),
            Way::Threads => (self.create_index(Column::Area, &target, rows, "2")?, None),
            Way::NumberCreate => (self.create_index(Column::Number, &target, rows, "0")?, None),
            Way::NumberThreads => (self.create_index(Column::Number, &target, rows, "2")?, None),
            Way::LowerIndexed => self.generate(&target, "lower.sql", rows, &[])?,
            Way::LowerCreate => (self.create_index(Column::Lower, &target, rows, "0")?, None),
            Way::LowerThreads => (self.create_index(Column::Lower, &target, rows, "2")?, None),
            Way::HalfIndexed => self.generate(&target, "half.sql", rows, &[])?,
            Way::HalfCreate => (self.create_index(Column::Half, &target, rows, "0")?, None),
            Way::HalfThreads => (self.create_index(Column::Half, &target, rows, "2")?, None),
            Way::Uuid => self.load(Keys::Uuid, &target, rows, &["--without-rowid"])?,
            Way::Shuffled => self.load(Keys::Shuffled, &target, rows, &[])?,
            Way::UuidSql => (self.insert(Keys::Uuid, &target, rows, false)?, None),
            Way::UuidDefault => (self.insert(Keys::Uuid, &target, rows, true)?, None),
            Way::ShuffledSql => (self.insert(Keys::Shuffled, &target, rows, false)?, None),
        };
        let bytes = target.metadata().context("there is a file")?.len();
        Lap::new(&took, rows, bytes, output).verified(way.name(), || {
            self.verify(way, &target, rows).with_context(|| format!("the database of {:?}", way.name()))?;
            Ok(remove(&target)?)
        })
    }

    fn generate(
        &self,
        target: &Path,
        schema: &str,
        rows: u64,
        flags: &[&str],
    ) -> anyhow::Result<(Took, Option<String>)> {
        let (schema, number) = (self.scratch.file(schema), rows.to_string());
        let files = ["generate".as_ref(), target.as_os_str(), schema.as_os_str()];
        let flags: Vec<&OsStr> =
            ["--rows", &number].into_iter().chain(flags.iter().copied()).map(OsStr::new).collect();
        let (took, report) = self.sqluice.write(&[&files[..], &flags].concat(), rows)?;
        Ok((took, Some(report.output)))
    }

    /// Creates an index on a copy of the table without indexes.
    fn create_index(&self, column: Column, target: &Path, rows: u64, threads: &str) -> anyhow::Result<Took> {
        let table = self.scratch.file(column.table());
        if !table.exists() {
            self.generate(&table, column.schema(), rows, &[])?;
        }
        copy(&table, target)?;
        let arguments = ["create-index".as_ref(), column.name().as_ref(), target.as_os_str()];
        self.own(&[&arguments[..], &["--threads".as_ref(), threads.as_ref()]].concat())
    }

    fn load(
        &self,
        keys: Keys,
        target: &Path,
        rows: u64,
        flags: &[&str],
    ) -> anyhow::Result<(Took, Option<String>)> {
        let file = self.csv(keys);
        warm(&file)?;
        let files = ["load".as_ref(), target.as_os_str(), file.as_os_str()];
        let table = ["--table", "item", "--primary-key", keys.column()];
        let flags: Vec<&OsStr> = table.into_iter().chain(flags.iter().copied()).map(OsStr::new).collect();
        let (took, report) = self.sqluice.write(&[&files[..], &flags].concat(), rows)?;
        Ok((took, Some(report.output)))
    }

    fn insert(&self, keys: Keys, target: &Path, rows: u64, defaults: bool) -> anyhow::Result<Took> {
        let number = rows.to_string();
        let arguments = ["insert".as_ref(), keys.name().as_ref(), target.as_os_str(), number.as_ref()];
        let defaults = if defaults { &["--defaults".as_ref()][..] } else { &[] };
        self.own(&[&arguments[..], defaults].concat())
    }

    fn own(&self, arguments: &[&OsStr]) -> anyhow::Result<Took> {
        self.runner.own(arguments, self.scratch.folder())
    }

    /// Checks that a database has the same rows as the others, and that each index has an entry for each row.
    fn verify(&mut self, way: Way, target: &Path, rows: u64) -> anyhow::Result<()> {
        let mut arguments = vec!["verify".as_ref(), target.as_os_str()];
        if rows <= CHECKED_ROWS_MAX && self.checked.insert(way) {
            arguments.push("--integrity-check".as_ref());
        }
        let took = self.own(&arguments)?;
        let found: Found = serde_json::from_str(&took.stdout).context("what was found is JSON")?;
        ensure!(found.rows == i64::try_from(rows)?, "{} rows instead of {}", found.rows, grouped(rows));
        let of_rows = |name: &str| if name == "by_half" { found.kept } else { found.rows };
        let wanted: BTreeMap<String, i64> =
            indexes(way).iter().map(|name| ((*name).to_owned(), of_rows(name))).collect();
        ensure!(found.indexes == wanted, "entries {:?} instead of {wanted:?}", found.indexes);
        let mine = found.without_indexes();
        let first = self.found.entry((rows_of(way), rows)).or_insert_with(|| mine.clone());
        ensure!(mine == *first, "{mine:?}, where another way has {first:?}");
        Ok(())
    }
}
