//! Generated databases: the preset `shop` compared with prepared INSERTs of the same rows, and TPC-H compared with Parquet files.
//!
//! ```text
//!  shop:  shop      -> verified   sqluice generate --preset shop, durable
//!         shop_like -> verified   the same rows by prepared INSERTs in one transaction, then indexes; as safe as sqluice: durable, and
//!                                 foreign keys checked; 200 MB of cache, two sorting threads
//!         shop_sql  -> verified   shop_like with unsafe PRAGMAs and without foreign key checks; fsync
//!  tpch:  tpch      -> verified   sqluice generate --preset tpch, durable, and sqluice check of the result
//!         parquet   -> verified   tpchgen-cli parquet, not synced
//! ```
//!
//! Ratios are computed within a round, and every second round runs in reverse order. All databases of `shop` must have the same values in
//! all columns of all rows, and all entries of their indexes. All TPC-H databases must have the values of the CSV files that `tpchgen-cli`
//! writes.

mod sqlite;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};
use sqluice::generate::Preset;

use self::verify::Digests;
use crate::db::{First, read};
use crate::house::{House, Start, said};
use crate::lap::{Lap, USUAL};
use crate::options::Options;
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Way, only, rounds, table, way};
use crate::shell::version_of;
use crate::sqluice::Report;
use crate::words::{Word, Words};
use crate::{size, sync, words};

/// The command line of the comparison of generated databases.
#[derive(Clone, Debug, Args)]
#[command(
    about = "Compares generated databases with prepared INSERTs, and with Parquet files that tpchgen-cli writes"
)]
pub struct Settings {
    /// Orders of the shop
    #[arg(long, default_value = "10M", value_name = "N", value_parser = crate::count)]
    orders: u64,
    /// Scale of TPC-H
    #[arg(long, default_value = "1", value_name = "SF", value_parser = crate::options::factor)]
    scale: f64,
    /// Runs a part only: shop, tpch; can be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    #[command(flatten)]
    options: Options,
}

/// The maximum disk space for each order, in bytes: its items and its customer, their index entries, and SQLite's temporary files for
/// sorting.
const ORDER_BYTES_MAX: f64 = 500.0;

/// The maximum disk space for TPC-H at scale 1, in bytes: a database, the CSV files, and a database loaded from them.
const BYTES_AT_SCALE_1: f64 = 4.5e9;

fn ways<'a>() -> Vec<Way<Track<'a>, anyhow::Result<Lap>>> {
    vec![
        way("shop", "shop", "`sqluice generate --preset shop`, durable", Track::shop),
        way(
            "shop",
            "shop_like",
            "prepared `INSERT`s of the same rows in one transaction, indexes after; as durable, foreign keys looked up",
            |track| track.shop_sql(&["like"]),
        ),
        way("shop", "shop_sql", "the same, nothing durable, no foreign keys looked up", |track| {
            track.shop_sql(&[])
        }),
        way("tpch", "tpch", "`sqluice generate --preset tpch`, durable, and `sqluice check`", Track::tpch),
        way("tpch", "parquet", "`tpchgen-cli parquet`", Track::parquet),
    ]
}

const RATIOS: &[Compared] = &[
    (
        "time of `INSERT` to `generate`, the shop, as durable and with foreign keys looked up",
        |round| ratio::time(round, "shop_like", "shop"),
        "at least 10",
    ),
    (
        "time of `INSERT` to `generate`, the shop, with unsafe PRAGMAs and no foreign keys",
        |round| ratio::time(round, "shop_sql", "shop"),
        "at least 10",
    ),
    (
        "time of `generate` and `check` to `tpchgen-cli parquet`, TPC-H",
        |round| ratio::time(round, "tpch", "parquet"),
        "at most 3",
    ),
];

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    let file = words.path()?;
    match name {
        "insert" => said(sqlite::insert(&file, words.take()?, words.ends_with("like")?)?),
        _ => said(verify::digests(&file)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or leaves other values than expected.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let ways = only(ways(), &settings.only)?;
    let bytes = |way: &Way<_, _>| match way.part {
        "shop" => settings.orders as f64 * ORDER_BYTES_MAX,
        _ => settings.scale * BYTES_AT_SCALE_1,
    };
    let bytes = ways.iter().map(bytes).fold(0.0, f64::max) as u64;
    let mut start = Start::new(&settings.options, runner)?;
    start.introduce()?;
    if ways.iter().any(|way| way.name == "parquet") {
        start.beside.push(version_of(runner, &settings.options.programs.tpchgen)?);
    }
    let house = start.house(bytes)?;
    let mut track = Track { settings, house: &house, found: First::default() };
    let rounds = rounds(settings.options.rounds, &ways, |way, _| {
        // Waits until the file system has freed the space of removed files, which may take seconds.
        sync(house.folder())?;
        let lap = (way.run)(&mut track)?;
        let lap = lap.verified(way.name, || match way.name {
            "parquet" => fs::remove_dir_all(house.file("parquet")).context("cannot remove the Parquet files"),
            _ => {
                let of = || format!("the database of {:?}", way.name);
                track.verify(way.part).with_context(of)?;
                house.remove(TARGET)
            }
        });
        lap.map(Some)
    })?;
    let facts = json!({ "orders": settings.orders, "scale": settings.scale });
    house.finish("generate", facts, &ways, &rounds, RATIOS, &table("", &USUAL, &ways, &rounds))
}

const TARGET: &str = "generate.db";

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    settings: &'a Settings,
    house: &'a House<'a>,
    /// The content of the first way of each part.
    found: First<&'static str, Digests>,
}

impl Track<'_> {
    fn target(&self) -> PathBuf {
        self.house.file(TARGET)
    }

    fn rows_of_shop(&self) -> anyhow::Result<u64> {
        let rows = Preset::find("shop")?.rows(&[(None, self.settings.orders)]);
        Ok(rows.iter().map(|(_, rows)| rows).sum())
    }

    fn shop(&mut self) -> anyhow::Result<Lap> {
        let (target, rows) = (self.target(), self.rows_of_shop()?);
        let words = words!["generate", target, "--preset", "shop", "--rows", self.settings.orders];
        let (took, report) = self.house.sqluice.write(&words, rows)?;
        Ok(Lap::new(&took, rows, report.bytes, Some(report.write_paths())))
    }

    fn shop_sql(&mut self, how: &[&str]) -> anyhow::Result<Lap> {
        let target = self.target();
        let words = words!["insert", target, self.settings.orders].into_iter();
        let took = self.house.own(&words.chain(how.iter().map(Word::word)).collect::<Vec<_>>())?;
        Ok(Lap::new(&took, self.rows_of_shop()?, size(&target)?, None))
    }

    fn tpch(&mut self) -> anyhow::Result<Lap> {
        let (target, scale) = (self.target(), self.settings.scale);
        let words = words!["generate", target, "--preset", "tpch", "--scale", scale];
        let made = self.house.sqluice.run(&words)?;
        let report: Report = serde_json::from_str(&made.stdout).context("sqluice reports something else")?;
        let (checked, found) = self.house.sqluice.check(&target)?;
        ensure!(found.rows == report.rows, "{} rows are reported, and {} exist", report.rows, found.rows);
        let output = format!("{}; check {:.2} s", report.output, checked.seconds);
        Ok(Lap::new(&made.then(checked), report.rows, report.bytes, Some(output)))
    }

    fn parquet(&mut self) -> anyhow::Result<Lap> {
        let folder = self.house.file("parquet");
        let took = self.tpchgen("parquet", &folder)?;
        let mut bytes = 0;
        for entry in fs::read_dir(&folder).context("cannot list the Parquet files")? {
            bytes += entry?.metadata()?.len();
        }
        ensure!(bytes > 0, "no Parquet files were made");
        Ok(Lap::new(&took, 0, bytes, None))
    }

    fn tpchgen(&self, format: &str, folder: &Path) -> anyhow::Result<Took> {
        let mut command = Command::new(&self.settings.options.programs.tpchgen);
        let words = words![format, "--scale-factor", self.settings.scale, "--output-dir", folder];
        self.house.runner.run(command.args(words))
    }

    /// Checks that the content equals that of the first way. The first TPC-H content must also equal the CSV files of `tpchgen-cli`.
    fn verify(&mut self, part: &'static str) -> anyhow::Result<()> {
        let target = self.target();
        if part == "tpch" && !self.found.has(&part) {
            let loaded = self.of_csv(&target)?;
            self.found.same(part, loaded)?;
        }
        self.found.same(part, self.digests(&target)?)
    }

    fn digests(&self, file: &Path) -> anyhow::Result<Digests> {
        Ok(self.house.asked(&words!["verify", file])?.1)
    }

    /// Loads the CSV files of `tpchgen-cli` into tables with the types of the database `like`, and returns their content.
    fn of_csv(&self, like: &Path) -> anyhow::Result<Digests> {
        let (folder, target) = (self.house.file("csv"), self.house.file("loaded.db"));
        self.tpchgen("csv", &folder)?;
        let tables = plain_tables(like)?;
        let sql: Vec<&str> = tables.iter().map(|(_, sql)| &**sql).collect();
        let schema = self.house.write("plain.sql", &sql.join("\n"))?;
        let mut words = words!["load", target, "--schema", schema].to_vec();
        words.extend(tables.iter().map(|(name, _)| folder.join(format!("{name}.csv")).into_os_string()));
        self.house.sqluice.run(&words)?;
        let digests = self.digests(&target)?;
        self.house.remove("loaded.db")?;
        fs::remove_dir_all(&folder).context("cannot remove the CSV files")?;
        Ok(digests)
    }
}

/// Returns the name of each table in a database, and a CREATE TABLE statement with its column types, without keys.
fn plain_tables(file: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let db = read(file)?;
    let mut tables = db.prepare(
        "SELECT t.name, 'CREATE TABLE ' || t.name || ' (' || group_concat(c.name || ' ' || c.type) || ');'
         FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' GROUP BY t.name",
    )?;
    let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(tables.collect::<Result<_, _>>()?)
}
