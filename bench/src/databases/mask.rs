//! Masked copies: `sqluice copy --mask` compared with a copy without masks, and with `--strict-mask`. The database is the preset `shop`.
//!
//! ```text
//!  masked columns   customers: all but the city        orders: the customer's id, as in customers, and the time
//!  lap              sqluice copy --compact     all values unchanged
//!                   sqluice copy --mask        must have as many rows and joins, and none of 10,000 old e-mail addresses
//!                   ... --strict-mask          as --mask, and `--allow` for the cities, as some of their names are also first names
//! ```
//!
//! The rate counts values: the rows of each table times its columns, masked or not. Every second round runs in reverse order; before each
//! lap the source is read into the page cache.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::json;

use crate::db::open;
use crate::house::House;
use crate::lap::{Lap, USUAL};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Way, rounds, table, way};
use crate::{count, grouped, size, warm, words};

/// The size of an order in the database, with its share of the customers and items, in bytes.
const ORDER_BYTES: u64 = 160;

#[derive(Debug, Args)]
pub struct Settings {
    /// Orders of the shop
    #[arg(long, default_value = "10M", value_name = "N", value_parser = count)]
    rows: u64,
    /// What is masked
    #[arg(long, default_value = "bench/mask.sql", value_name = "FILE")]
    mask: PathBuf,
    #[command(flatten)]
    options: Options,
}

fn ways<'a>() -> Vec<Way<Track<'a>, anyhow::Result<Took>>> {
    vec![
        way("", "copy", "`sqluice copy --compact`, durable", |track| track.copy(&words!["--compact"])),
        way("", "mask", "`sqluice copy --mask`, durable", |track| {
            track.copy(&words!["--mask", track.settings.mask])
        }),
        way("", "strict-mask", "`sqluice copy --mask --strict-mask`, durable", |track| {
            let strict = words!["--mask", track.settings.mask, "--strict-mask", "--allow", "customers.city"];
            track.copy(&strict)
        }),
    ]
}

const RATIOS: &[Compared] = &[
    (
        "millions of values a second of a masked copy",
        |round| Some(round.get("mask")?.rate() / 1e6),
        "at least 20",
    ),
    ("time of a masked copy to that of one without masks", |round| ratio::time(round, "mask", "copy"), ""),
    (
        "time of a strict masked copy to that of a masked copy",
        |round| ratio::time(round, "strict-mask", "mask"),
        "at most 2",
    ),
];

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let house = House::open(&settings.options, runner, 3 * settings.rows * ORDER_BYTES)?;
    let (source, file) = (house.file("source.db"), house.file("copy.db"));
    house.preset("shop", settings.rows, &source)?;
    let expected = Facts::of(&source)?;
    let values = expected.values;
    say(&format!("input: {} values\n", grouped(values)))?;
    let mut track = Track { settings, house: &house, source: source.clone(), file: file.clone() };
    let ways = ways();
    let rounds = rounds(settings.options.rounds, &ways, |way, _| {
        warm(&source)?;
        let took = (way.run)(&mut track)?;
        let lap = Lap::new(&took, values, size(&file)?, None).verified(way.name, || {
            let found = Facts::of(&file)?;
            ensure!(found == expected, "{found:?} instead of {expected:?}");
            let shares = way.name != "copy" && shares_mail(&source, &file)?;
            ensure!(!shares, "an old e-mail address is in the copy");
            house.remove("copy.db")
        });
        lap.map(Some)
    })?;
    let facts = json!({ "orders": settings.rows, "values": values });
    let text = table("", &USUAL, &ways, &rounds);
    house.finish("databases-mask", facts, &ways, &rounds, RATIOS, &text)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    settings: &'a Settings,
    house: &'a House<'a>,
    source: PathBuf,
    file: PathBuf,
}

impl Track<'_> {
    fn copy(&self, how: &[OsString]) -> anyhow::Result<Took> {
        self.house.sqluice.run(&[&words!["copy", self.source, self.file], how].concat())
    }
}

/// Counts that must be equal in a masked copy and its source.
#[derive(Debug, PartialEq)]
struct Facts {
    /// The number of values: the rows of each table times its columns.
    values: u64,
    customers: i64,
    joined: i64,
    spent: i64,
}

impl Facts {
    fn of(db: &Path) -> anyhow::Result<Facts> {
        let connection = open(db, "")?;
        let tables = "SELECT s.name, (SELECT count(*) FROM pragma_table_info(s.name)) FROM sqlite_schema s WHERE type = 'table'";
        let mut tables = connection.prepare(tables)?;
        let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut values = 0_u64;
        for table in tables {
            let (name, columns): (String, i64) = table?;
            let rows: i64 =
                connection.query_row(&format!("SELECT count(*) FROM \"{name}\""), [], |row| row.get(0))?;
            values += (rows * columns).cast_unsigned();
        }
        ensure!(values > 0, "{} has no values", db.display());
        let sql =
            "SELECT count(*), (SELECT count(*) FROM orders JOIN customers ON customers.id = customer_id),
            (SELECT total(quantity) FROM items) FROM customers";
        Ok(connection.query_row(sql, [], |row| {
            let spent = row.get::<_, f64>(2)? as i64;
            Ok(Facts { values, customers: row.get(0)?, joined: row.get(1)?, spent })
        })?)
    }
}

/// Returns `true` if any of 10,000 e-mail addresses of the source exists in the masked copy.
fn shares_mail(old: &Path, new: &Path) -> anyhow::Result<bool> {
    let connection = open(new, "")?;
    connection.execute("ATTACH ?1 AS old", [old.to_str().context("a path is UTF-8")?])?;
    let sql = "SELECT EXISTS (SELECT 1 FROM (SELECT email FROM old.customers LIMIT 10000) AS was
        WHERE was.email IN (SELECT email FROM main.customers))";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}
