//! Masked copies: `sqluice copy --mask` compared with the same copy without masks, and with `--strict-mask`. The database is the preset
//! `shop`.
//!
//! ```text
//!  masked columns   customers: all but the city        orders: customer, which follows, and moment
//!  lap              sqluice copy --compact     all values unchanged
//!                   sqluice copy --mask        must have as many rows and joins, and no old e-mail address
//!                   ... --strict-mask          the same, and `--allow` for cities whose names are first names, too
//! ```
//!
//! The rate counts values: the rows of each table times its columns, masked or not. Every second round runs in reverse order; before each
//! lap the source is read into the page cache.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
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

/// The size of an order of the shop, with its share of customers and items, in bytes.
const ORDER_BYTES: u64 = 160;

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Orders of the shop
    #[arg(long, default_value = "10M", value_name = "N", value_parser = count)]
    rows: u64,
    /// What is masked
    #[arg(long, default_value = "bench/mask.sql", value_name = "FILE")]
    mask: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// A method to copy the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    Copy,
    Mask,
    StrictMask,
}

impl Way {
    const ALL: [Way; 3] = [Way::Copy, Way::Mask, Way::StrictMask];

    fn name(self) -> &'static str {
        match self {
            Way::Copy => "copy",
            Way::Mask => "mask",
            Way::StrictMask => "strict-mask",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Way::Copy => "`sqluice copy --compact`, durable",
            Way::Mask => "`sqluice copy --mask`, durable",
            Way::StrictMask => "`sqluice copy --mask --strict-mask`, durable",
        }
    }
}

type Round = rounds::Round<Way>;

const COMPARED: [Compared<Round>; 3] = [
    Compared {
        what: "millions of values a second of a masked copy",
        ratio: |round| Some(round.get(&Way::Mask)?.rate() / 1e6),
        claim: Some(("at least 20", 20.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of a masked copy to that of one without masks",
        ratio: |round| rounds::seconds(round, Way::Mask, Way::Copy),
        claim: None,
    },
    Compared {
        what: "time of a strict masked copy to that of a masked copy",
        ratio: |round| rounds::seconds(round, Way::StrictMask, Way::Mask),
        claim: Some(("at most 2", 0.0..=2.0)),
    },
];

/// The record of a run.
#[derive(Debug, Serialize)]
struct Record {
    benchmark: &'static str,
    taken: String,
    sqluice: String,
    machine: Machine,
    orders: u64,
    values: u64,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
}

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let dir = settings.options.dir();
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let sqluice = Sqluice::new(runner, settings.options.sqluice()?);
    let (sqluice_version, taken) = (sqluice.version()?, machine::now());
    let machine = Machine::here(&dir);
    say(&format!("machine: {machine}\nprogram: {sqluice_version}\n"))?;

    let scratch = Scratch::new(&dir, 3 * settings.rows * ORDER_BYTES)?;
    let source = scratch.file("source.db");
    let rows = settings.rows.to_string();
    let generate = ["generate", "--preset", "shop", "--rows", &rows].map(AsRef::as_ref);
    sqluice.run(&[&generate[..], &[source.as_os_str()]].concat())?;
    let expected = Facts::of(&source)?;
    say(&format!("input: {} values\n", grouped(expected.values)))?;
    let track = Track { settings, sqluice, scratch: &scratch, source, expected };

    let rounds = rounds::rounds(settings.options.rounds, &Way::ALL, |way| track.lap(way))?;
    let mut text = rounds::table(&Way::ALL, Way::title, &rounds);
    let ratios = Ratio::all(&COMPARED, &rounds);
    text += &format!("\n{}\nmachine: {machine}\nprogram: {sqluice_version}\n", ratio::table(&ratios));
    let (values, orders, sqluice) = (track.expected.values, settings.rows, sqluice_version);
    let benchmark = "databases-mask";
    let record = Record { benchmark, taken, sqluice, machine, orders, values, rounds, ratios };
    let saved = save(&record, benchmark, &record.taken, &settings.options.results())?;
    say(&format!("\n{text}record: {}\n", saved.display()))
}

/// The data that all laps share.
struct Track<'a> {
    settings: &'a Settings,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
    source: PathBuf,
    expected: Facts,
}

impl Track<'_> {
    fn lap(&self, way: Way) -> anyhow::Result<Lap> {
        warm(&self.source)?;
        let file = self.scratch.file("copy.db");
        let verb = ["copy".as_ref(), self.source.as_os_str(), file.as_os_str()];
        let how = match way {
            Way::Copy => vec!["--compact".as_ref()],
            Way::Mask => vec!["--mask".as_ref(), self.settings.mask.as_os_str()],
            Way::StrictMask => {
                let strict = ["--strict-mask", "--allow", "customers.city"].map(AsRef::as_ref);
                [&["--mask".as_ref(), self.settings.mask.as_os_str()][..], &strict].concat()
            }
        };
        let took = self.sqluice.run(&[&verb[..], &how].concat())?;
        let bytes = file.metadata().context("the copy exists")?.len();
        Lap::new(&took, self.expected.values, bytes, None).verified(way.name(), || {
            let found = Facts::of(&file)?;
            ensure!(found == self.expected, "{found:?} instead of {:?}", self.expected);
            ensure!(
                way == Way::Copy || !shares_mail(&self.source, &file)?,
                "an old e-mail address is in the copy"
            );
            Ok(remove(&file)?)
        })
    }
}

/// The facts that a masked copy and its source must have in common.
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
        let connection = Connection::open(db)?;
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

/// Returns `true` if some e-mail addresses of the old shop exist in the new one.
fn shares_mail(old: &Path, new: &Path) -> anyhow::Result<bool> {
    let connection = Connection::open(new)?;
    connection.execute("ATTACH ?1 AS old", [old.to_str().context("a path is UTF-8")?])?;
    let sql = "SELECT EXISTS (SELECT 1 FROM (SELECT email FROM old.customers LIMIT 10000) AS was
        WHERE was.email IN (SELECT email FROM main.customers))";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}
