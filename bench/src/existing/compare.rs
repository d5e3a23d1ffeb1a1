//! The parts of the comparison, each in rounds.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use rusqlite::Connection;

use super::lookup::{LookedUp, TIMES};
use super::record::{Record, Round, Way};
use super::sqlite::BY_AREA;
use super::verify::Content;
use super::{Section, Settings, data};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{copy, sync, warm};

const USER2: &str = include_str!("user2.sql");
const ITEM: &str = include_str!("item.sql");
const PRODUCT: &str = include_str!("product.sql");

/// The files of each part: the existing database, a database to copy from, rows to load.
const BASE: &str = "base.db";
const SOURCE: &str = "source.db";
const ROWS: &str = "rows.csv";

/// The maximum row count for SQLite's integrity_check; larger databases get its quick_check, once for each way.
const CHECKED_ROWS_MAX: u64 = 1_000_000;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let options = &settings.options;
    let wanted = |part: &Section| settings.only.is_empty() || settings.only.contains(part);
    let parts =
        [Section::Table, Section::Insert, Section::In, Section::Append, Section::Computed, Section::Index];
    let parts: Vec<Section> = parts.into_iter().filter(wanted).collect();
    let bytes_max = parts.iter().map(|part| part.bytes_max()).fold(0.0, f64::max) * settings.rows_scale;
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let scratch = Scratch::new(&options.dir(), bytes_max as u64)?;
    let machine = Machine::here(scratch.folder());
    let (taken, version) = (machine::now(), sqluice.version()?);
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let mut rounds = vec![Round::new(); usize::from(options.rounds)];
    for part in parts {
        let (scale, sqlite3) = (settings.rows_scale, &*settings.sqlite3);
        let track = Track { scale, part, runner, sqluice: &sqluice, sqlite3, scratch: &scratch };
        track.prepare()?;
        let (mut found, mut checked) = (BTreeMap::new(), BTreeSet::new());
        for (round, number) in rounds.iter_mut().zip(1..) {
            say(&format!("\n{}: round {number} of {}\n", part.name(), options.rounds))?;
            track.round(number % 2 == 0, round, &mut found, &mut checked)?;
        }
        for name in [BASE, SOURCE, ROWS] {
            remove(&scratch.file(name))?;
        }
    }
    let record = Record::new(taken, version, machine, settings.rows_scale, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// The data that all laps of a part share.
struct Track<'a> {
    scale: f64,
    part: Section,
    runner: &'a Runner,
    sqluice: &'a Sqluice<'a>,
    sqlite3: &'a Path,
    scratch: &'a Scratch,
}

/// The results of the first ways: of those that change the table `plain`, and of the others.
type FirstFound = BTreeMap<bool, Found>;

/// The result of the first way, which the other ways must reproduce.
#[derive(Debug, PartialEq)]
enum Found {
    Tables(BTreeMap<String, crate::found::Found>),
    LookedUp(i64, i64),
}

impl Track<'_> {
    fn scaled(&self, rows: f64) -> u64 {
        (rows * self.scale).max(1.0) as u64
    }

    fn rows(&self) -> u64 {
        self.scaled(self.part.rows())
    }

    fn rows_there(&self) -> u64 {
        self.scaled(self.part.rows_there())
    }

    fn prepare(&self) -> anyhow::Result<()> {
        let file = |name: &str| self.scratch.file(name);
        for (name, sql) in [("user2.sql", USER2), ("item.sql", ITEM)] {
            std::fs::write(file(name), sql).context("cannot write a schema")?;
        }
        let (there, rows) = (self.rows_there(), self.rows());
        match self.part {
            Section::Table => {
                self.preset(there)?;
                self.generate(&file(SOURCE), "user2.sql", rows)?;
                data::users(&file(SOURCE), &file(ROWS))
            }
            Section::Insert => {
                let number = rows.to_string();
                let source = file(SOURCE);
                self.own(&["unrolled".as_ref(), source.as_os_str(), number.as_ref(), "50".as_ref()])?;
                Ok(())
            }
            Section::In | Section::Index => self.preset(there),
            Section::Append => {
                self.generate(&file(BASE), "item.sql", there)?;
                data::items(there, rows, &file(ROWS))
            }
            Section::Computed => {
                data::with_products(PRODUCT, there, &file(BASE))?;
                data::products(there, rows, &file(ROWS))
            }
        }
    }

    /// Generates the existing database, with the table `user`.
    fn preset(&self, rows: u64) -> anyhow::Result<()> {
        let (base, number) = (self.scratch.file(BASE), rows.to_string());
        let flags = ["--preset", "user", "--rows", &number].map(OsStr::new);
        self.sqluice.write(&[&["generate".as_ref(), base.as_os_str()], &flags[..]].concat(), rows)?;
        Ok(())
    }

    /// Runs one round, in either order, so that no way always follows the same.
    fn round(
        &self,
        backwards: bool,
        round: &mut Round,
        found: &mut FirstFound,
        checked: &mut BTreeSet<Way>,
    ) -> anyhow::Result<()> {
        let mut ways: Vec<Way> = Way::ALL.into_iter().filter(|way| way.part() == self.part).collect();
        if backwards {
            ways.reverse();
        }
        for way in ways {
            let lap = if self.part == Section::In {
                self.look_up(way, found)
            } else {
                self.write(way, found, checked.insert(way))
            };
            round.insert(way, lap.with_context(|| format!("the way {:?}", way.name()))?);
        }
        Ok(())
    }

    /// Runs a lap that changes a fresh copy of the database.
    fn write(&self, way: Way, found: &mut FirstFound, check: bool) -> anyhow::Result<Lap> {
        let target = self.scratch.file("lap.db");
        self.fresh(way, &target)?;
        let (took, output) = self.change(way, &target)?;
        let bytes = target.metadata().context("there is a file")?.len();
        Lap::new(&took, self.rows(), bytes, output).verified(way.name(), || {
            let tables = self.verify(way, &target, check)?;
            same(Found::Tables(tables), way, found)?;
            Ok(remove(&target)?)
        })
    }

    /// Prepares a lap: syncs the copies, and reads all inputs into the page cache.
    fn fresh(&self, way: Way, target: &Path) -> anyhow::Result<()> {
        for name in [SOURCE, ROWS] {
            let file = self.scratch.file(name);
            if file.exists() {
                warm(&file)?;
            }
        }
        if self.part == Section::Insert {
            return Ok(());
        }
        copy(&self.scratch.file(BASE), target)?;
        if way.is_wal() {
            let db = Connection::open(target)?;
            let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            ensure!(mode == "wal", "the journal mode is {mode}");
            db.close().map_err(|(_, error)| error)?;
            sync(target)?;
        }
        Ok(())
    }

    fn change(&self, way: Way, target: &Path) -> anyhow::Result<(Took, Option<String>)> {
        let (rows, there) = (self.rows().to_string(), self.rows_there().to_string());
        let (source, csv) = (self.scratch.file(SOURCE), self.scratch.file(ROWS));
        let own = |name: &str, rest: &[&OsStr]| {
            let took = self.own(&[&[OsStr::new(name), target.as_os_str()], rest].concat())?;
            Ok((took, None))
        };
        let (count, first) = (OsStr::new(&rows), OsStr::new(&there));
        match way {
            Way::Attach | Way::AttachWal => own("attach", &[source.as_os_str(), "user2".as_ref()]),
            Way::Attach5M => own("attach", &[source.as_os_str(), "user".as_ref()]),
            Way::Generate | Way::GenerateWal => self.generate(target, "user2.sql", self.rows()),
            Way::Load | Way::LoadWal => {
                let schema = self.scratch.file("user2.sql");
                let flags = ["--table".as_ref(), "user2".as_ref(), "--schema".as_ref(), schema.as_os_str()];
                self.load(target, &csv, &flags)
            }
            Way::Append => {
                self.load(target, &csv, &["--table".as_ref(), "item".as_ref(), "--append".as_ref()])
            }
            Way::AppendPlain | Way::AppendComputed => {
                let table = if way.is_plain() { "plain" } else { "product" };
                self.load(target, &csv, &["--table".as_ref(), table.as_ref(), "--append".as_ref()])
            }
            Way::ImportComputed => Ok((self.import(target, &csv)?, None)),
            Way::AppendSql => own("append", &[first, count]),
            Way::AppendDrop => own("append", &[first, count, "--drop-index".as_ref()]),
            Way::Index => {
                Ok((self.sqluice.run(&["index".as_ref(), target.as_os_str(), BY_AREA.as_ref()])?, None))
            }
            Way::Create => own("create", &[]),
            Way::Create2 => own("create", &["--tuned".as_ref()]),
            Way::Insert => own("insert", &[count]),
            Way::Rows => own("rows", &[count]),
            _ => {
                let degree = Way::UNROLLED.into_iter().find(|(unrolled, _)| *unrolled == way);
                let (_, degree) = degree.context("a way that writes")?;
                own("unrolled", &[count, degree.to_string().as_ref()])
            }
        }
    }

    fn generate(&self, target: &Path, schema: &str, rows: u64) -> anyhow::Result<(Took, Option<String>)> {
        let (schema, number) = (self.scratch.file(schema), rows.to_string());
        let files = ["generate".as_ref(), target.as_os_str(), schema.as_os_str()];
        let flags = ["--rows", &number].map(OsStr::new);
        let (took, report) = self.sqluice.write(&[&files[..], &flags].concat(), rows)?;
        Ok((took, Some(report.write_paths())))
    }

    fn load(&self, target: &Path, csv: &Path, flags: &[&OsStr]) -> anyhow::Result<(Took, Option<String>)> {
        let files = ["load".as_ref(), target.as_os_str(), csv.as_os_str()];
        let (took, report) = self.sqluice.write(&[&files[..], flags].concat(), self.rows())?;
        Ok((took, Some(report.write_paths())))
    }

    /// Appends a CSV file by SQLite's shell. `.import` itself gives a value to each column, also to a generated one, which SQLite refuses.
    fn import(&self, target: &Path, csv: &Path) -> anyhow::Result<Took> {
        // The shell parses the words of its own commands with these escapes.
        let csv = csv.to_str().context("a path is UTF-8")?.replace('\\', r"\\").replace('"', "\\\"");
        let mut command = Command::new(self.sqlite3);
        // The user's settings must not affect the comparison.
        command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(target);
        command.args([
            "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE staged (id INTEGER, name TEXT, price REAL, stock INTEGER)",
            ".mode csv",
            &format!(".import --schema temp --skip 1 \"{csv}\" staged"),
            "INSERT INTO product (id, name, price, stock) SELECT id, name, price, stock FROM staged",
        ]);
        self.runner.run(&mut command)
    }

    /// Runs a lap that only reads, and reports its own time, without the time of reading the whole table first.
    fn look_up(&self, way: Way, found: &mut FirstFound) -> anyhow::Result<Lap> {
        let base = self.scratch.file(BASE);
        warm(&base)?;
        let ids = match way {
            Way::InRows => "rows",
            Way::InJoin => "join",
            Way::InCarray => "carray",
            Way::InCarraySorted => "carray-sorted",
            Way::InTemp => "temp",
            _ => "temp-key",
        };
        let numbers = [self.rows_there(), self.rows()].map(|number| number.to_string());
        let [there, count] = numbers.each_ref().map(OsStr::new);
        let mut took = self.own(&["in".as_ref(), base.as_os_str(), there, count, ids.as_ref()])?;
        let looked_up: LookedUp = serde_json::from_str(&took.stdout).context("what was found is JSON")?;
        took.seconds = looked_up.seconds;
        let bytes = base.metadata().context("there is a file")?.len();
        Lap::new(&took, self.rows() * TIMES, bytes, None)
            .verified(way.name(), || same(Found::LookedUp(looked_up.found, looked_up.sum), way, found))
    }

    fn own(&self, arguments: &[&OsStr]) -> anyhow::Result<Took> {
        self.runner.own(arguments, self.scratch.folder())
    }

    /// Checks the integrity, the journal mode and the rows of a database, that each index has all entries, and that no sidecar files exist.
    fn verify(
        &self,
        way: Way,
        target: &Path,
        check: bool,
    ) -> anyhow::Result<BTreeMap<String, crate::found::Found>> {
        for suffix in ["-journal", "-wal", "-shm"] {
            let mut beside = target.as_os_str().to_owned();
            beside.push(suffix);
            let beside = PathBuf::from(beside);
            ensure!(!beside.exists(), "{} is left", beside.display());
        }
        // This check runs first: a reader of a database in WAL mode leaves sidecar files, which the next writer removes.
        self.sqluice.check(target)?;
        let mut arguments = vec!["verify".as_ref(), target.as_os_str()];
        let all = self.rows() + self.rows_there();
        if check {
            let pragma = if all <= CHECKED_ROWS_MAX { "integrity_check" } else { "quick_check" };
            arguments.extend(["--check", pragma].map(OsStr::new));
        }
        let took = self.own(&arguments)?;
        let content: Content = serde_json::from_str(&took.stdout).context("what was found is JSON")?;
        let (mode, wanted) = (&content.journal_mode, if way.is_wal() { "wal" } else { "delete" });
        ensure!(mode == wanted, "the journal mode is {mode} instead of {wanted}");
        let wanted = self.wanted(way);
        let rows = content.tables.iter().map(|(name, table)| (&**name, table.rows, &table.indexes));
        let wanted_rows = wanted.iter().map(|(name, rows, indexes)| (*name, *rows, indexes));
        ensure!(
            rows.clone().eq(wanted_rows),
            "rows and entries {:?} instead of {wanted:?}",
            rows.collect::<Vec<_>>()
        );
        Ok(content.tables)
    }

    /// Returns the expected tables in the order of their names, with their row counts and the entry counts of their indexes.
    fn wanted(&self, way: Way) -> Vec<(&'static str, i64, BTreeMap<String, i64>)> {
        let (rows, there) = (self.rows() as i64, self.rows_there() as i64);
        let none = BTreeMap::new;
        match self.part {
            Section::Table => vec![("user", there, none()), ("user2", rows, none())],
            Section::Append => {
                let all = there + rows;
                vec![("item", all, [("by_key".to_owned(), all)].into())]
            }
            Section::Computed => {
                let all = there + rows;
                let (plain, product) = if way.is_plain() { (all, there) } else { (there, all) };
                let in_stock = (0..product as u64).filter(|row| data::product(*row).2 >= 50).count() as i64;
                let entries = |of: [(&str, i64); 2]| of.map(|(name, count)| (name.to_owned(), count)).into();
                vec![
                    ("plain", plain, entries([("plain_by_name", plain), ("plain_by_stock", plain)])),
                    (
                        "product",
                        product,
                        entries([("product_by_name", product), ("product_by_stock", in_stock)]),
                    ),
                ]
            }
            Section::Index => vec![("user", there, [("by_area".to_owned(), there)].into())],
            Section::Insert | Section::In => vec![("user", rows, none())],
        }
    }
}

/// Checks that a way has found the same as the first one that changes the same table.
fn same(mine: Found, way: Way, found: &mut FirstFound) -> anyhow::Result<()> {
    match found.entry(way.is_plain()) {
        Entry::Occupied(first) => {
            ensure!(mine == *first.get(), "{mine:?}, where another way has {:?}", first.get());
        }
        Entry::Vacant(first) => {
            first.insert(mine);
        }
    }
    Ok(())
}
