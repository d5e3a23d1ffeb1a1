//! The rounds of the comparison.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use rusqlite::{Connection, OpenFlags};
use sqluice::generate::Preset;

use super::record::{Record, Round, Way};
use super::verify::Digests;
use super::{Section, Settings};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::scratch::{Scratch, remove};
use crate::sqluice::{Report, Sqluice};
use crate::sync;

/// The maximum disk space of an order in bytes, with its items and the files for sorting them.
const ORDER_BYTES_MAX: f64 = 500.0;

/// The disk space at scale 1 in bytes: a database, CSV files, and a second database.
const BYTES_AT_SCALE_1: f64 = 4.5e9;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let options = &settings.options;
    let wanted = |way: &Way| settings.only.is_empty() || settings.only.contains(&way.part());
    let ways: Vec<Way> = Way::ALL.into_iter().filter(wanted).collect();
    let bytes = |way: &Way| match way.part() {
        Section::Shop => settings.orders as f64 * ORDER_BYTES_MAX,
        Section::Tpch => settings.scale * BYTES_AT_SCALE_1,
    };
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let scratch = Scratch::new(&options.dir(), ways.iter().map(bytes).fold(0.0, f64::max) as u64)?;
    let machine = Machine::here(scratch.folder());
    let (taken, version) = (machine::now(), sqluice.version()?);
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let tpchgen = match ways.contains(&Way::Parquet) {
        true => Some(version_of(runner, &settings.tpchgen)?),
        false => None,
    };
    let mut track = Track { settings, runner, sqluice, scratch: &scratch, found: BTreeMap::new() };
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        say(&format!("\nround {number} of {}\n", options.rounds))?;
        rounds.push(track.round(&ways, number % 2 == 0)?);
    }
    let sizes = (settings.orders, settings.scale);
    let record = Record::new(taken, (version, tpchgen), machine, sizes, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

fn version_of(runner: &Runner, tpchgen: &Path) -> anyhow::Result<String> {
    let missing = || format!("{} does not run: tools/setup bench installs it", tpchgen.display());
    let said = runner.run(Command::new(tpchgen).arg("--version")).with_context(missing)?;
    Ok(said.stdout.trim().to_owned())
}

/// The data that all laps share.
struct Track<'a> {
    settings: &'a Settings,
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
    /// The expected content of all databases of a part.
    found: BTreeMap<Section, Digests>,
}

impl Track<'_> {
    /// Runs one round, in either order, so that no way always follows the same.
    fn round(&mut self, ways: &[Way], backwards: bool) -> anyhow::Result<Round> {
        let mut ways = ways.to_vec();
        if backwards {
            ways.reverse();
        }
        ways.into_iter().map(|way| Ok((way, self.lap(way)?))).collect()
    }

    fn lap(&mut self, way: Way) -> anyhow::Result<Lap> {
        let target = self.scratch.file("generate.db");
        // Waits until the file system has freed the space of removed files, which may take seconds.
        sync(self.scratch.folder())?;
        let lap = match way {
            Way::Shop => self.shop(&target)?,
            Way::ShopLike => self.shop_sql(&target, &["--like".as_ref()])?,
            Way::ShopSql => self.shop_sql(&target, &[])?,
            Way::Tpch => self.tpch(&target)?,
            Way::Parquet => return self.parquet(),
        };
        lap.verified(way.name(), || {
            self.verify(way, &target).with_context(|| format!("the database of {:?}", way.name()))?;
            Ok(remove(&target)?)
        })
    }

    fn rows_of_shop(&self) -> anyhow::Result<u64> {
        let rows = Preset::find("shop")?.rows(&[(None, self.settings.orders)]);
        Ok(rows.iter().map(|(_, rows)| rows).sum())
    }

    fn shop(&self, target: &Path) -> anyhow::Result<Lap> {
        let orders = self.settings.orders.to_string();
        let files = ["generate".as_ref(), target.as_os_str()];
        let flags = ["--preset", "shop", "--rows", &orders].map(OsStr::new);
        let rows = self.rows_of_shop()?;
        let (took, report) = self.sqluice.write(&[&files[..], &flags].concat(), rows)?;
        Ok(Lap::new(&took, rows, report.bytes, Some(report.write_paths())))
    }

    fn shop_sql(&self, target: &Path, how: &[&OsStr]) -> anyhow::Result<Lap> {
        let orders = self.settings.orders.to_string();
        let arguments = ["insert".as_ref(), target.as_os_str(), orders.as_ref()];
        let took = self.runner.own(&[&arguments[..], how].concat(), self.scratch.folder())?;
        Ok(Lap::new(&took, self.rows_of_shop()?, target.metadata()?.len(), None))
    }

    /// Generates a database and checks it: the time includes both.
    fn tpch(&self, target: &Path) -> anyhow::Result<Lap> {
        let scale = self.settings.scale.to_string();
        let files = ["generate".as_ref(), target.as_os_str()];
        let flags = ["--preset", "tpch", "--scale", &scale].map(OsStr::new);
        let made = self.sqluice.run(&[&files[..], &flags].concat())?;
        let report: Report = serde_json::from_str(&made.stdout).context("sqluice reports something else")?;
        let (checked, found) = self.sqluice.check(target)?;
        ensure!(found.rows == report.rows, "{} rows are reported, and {} exist", report.rows, found.rows);
        let took = Took {
            seconds: made.seconds + checked.seconds,
            cpu_seconds: made.cpu_seconds + checked.cpu_seconds,
            memory_bytes: made.memory_bytes.max(checked.memory_bytes),
            stdout: String::new(),
        };
        let output = format!("{}; check {:.2} s", report.output, checked.seconds);
        Ok(Lap::new(&took, report.rows, report.bytes, Some(output)))
    }

    fn parquet(&self) -> anyhow::Result<Lap> {
        let folder = self.scratch.file("parquet");
        let took = self.tpchgen("parquet", &folder)?;
        let mut bytes = 0;
        for entry in fs::read_dir(&folder).context("there are files")? {
            bytes += entry?.metadata()?.len();
        }
        Lap::new(&took, 0, bytes, None).verified(Way::Parquet.name(), || {
            ensure!(bytes > 0, "no Parquet files were made");
            fs::remove_dir_all(&folder).context("cannot remove the Parquet files")
        })
    }

    fn tpchgen(&self, format: &str, folder: &Path) -> anyhow::Result<Took> {
        let scale = self.settings.scale.to_string();
        let mut command = Command::new(&self.settings.tpchgen);
        self.runner.run(command.args([format, "--scale-factor", &scale, "--output-dir"]).arg(folder))
    }

    /// Checks that a database has the same content as the others. The first TPC-H database is compared with CSV files of another generator.
    fn verify(&mut self, way: Way, target: &Path) -> anyhow::Result<()> {
        let mine = self.digests(target)?;
        if way == Way::Tpch && !self.found.contains_key(&Section::Tpch) {
            let loaded = self.of_csv(target)?;
            self.found.insert(Section::Tpch, loaded);
        }
        let expected = self.found.entry(way.part()).or_insert_with(|| mine.clone());
        ensure!(mine == *expected, "it holds {mine:?} instead of {expected:?}");
        Ok(())
    }

    fn digests(&self, file: &Path) -> anyhow::Result<Digests> {
        let took = self.runner.own(&["verify".as_ref(), file.as_os_str()], self.scratch.folder())?;
        serde_json::from_str(&took.stdout).context("digests are JSON")
    }

    /// Returns the digests of the files of `tpchgen-cli csv`, loaded into the columns of the database `like`.
    fn of_csv(&self, like: &Path) -> anyhow::Result<Digests> {
        let (folder, target, schema) =
            (self.scratch.file("csv"), self.scratch.file("loaded.db"), self.scratch.file("plain.sql"));
        self.tpchgen("csv", &folder)?;
        let tables = plain_tables(like)?;
        let sql: Vec<&str> = tables.iter().map(|(_, sql)| &**sql).collect();
        fs::write(&schema, sql.join("\n")).context("cannot write a schema")?;
        let files: Vec<PathBuf> = tables.iter().map(|(name, _)| folder.join(format!("{name}.csv"))).collect();
        let verb = ["load".as_ref(), target.as_os_str(), "--schema".as_ref(), schema.as_os_str()];
        let files: Vec<&OsStr> = files.iter().map(|file| file.as_os_str()).collect();
        self.sqluice.run(&[&verb[..], &files].concat())?;
        let digests = self.digests(&target)?;
        remove(&target)?;
        fs::remove_dir_all(&folder).context("cannot remove the CSV files")?;
        Ok(digests)
    }
}

/// Returns the tables of a database with their columns alone: name and statement.
fn plain_tables(file: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut tables = db.prepare(
        "SELECT t.name, 'CREATE TABLE ' || t.name || ' (' || group_concat(c.name || ' ' || c.type) || ');'
         FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' GROUP BY t.name",
    )?;
    let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(tables.collect::<Result<_, _>>()?)
}
