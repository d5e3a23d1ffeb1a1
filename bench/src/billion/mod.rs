//! A billion rows of the table `user` of the article "Towards Inserting One Billion Rows in SQLite Under A Minute": `sqluice generate`
//! compared with the bare disk and SQLite's fastest methods.
//!
//! ```text
//!  round:  generate -> verified      a process of the release binary, synced at its end
//!          raw      -> its length    a write of as many bytes, O_DIRECT, one thread, fsync; before `generate` in every second round
//!          insert   -> verified      50 rows in each prepared INSERT, unsafe PRAGMAs, fsync
//!          attach   -> verified      INSERT INTO main.user SELECT * FROM a.user, unsafe PRAGMAs, fsync
//!          discard  -> its report    all pages encoded, none written
//! ```
//!
//! Ratios are computed within a round, since measurements minutes apart are not comparable on a shared machine. Rows are compared
//! by rate, since SQL gets fewer of them. All choices favour SQLite: its source is in the page
//! cache, it copies raw records (the SELECT has no LIMIT), and it syncs once, at the end.

mod laps;
mod verify;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::house::{House, said};
use crate::lap::{Column, Lap, memory, rate, rows, seconds, throughput};
use crate::options::Options;
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Way, rounds, table, way};
use crate::sqluice::Report;
use crate::words::Words;
use crate::{count, size, words};

/// The command line of the comparison with a billion rows.
#[derive(Clone, Debug, Args)]
#[command(
    about = "Compares loading one billion rows with plain writes to the disk and with SQLite, in alternating rounds"
)]
pub struct Settings {
    /// Rows of the big file, and bytes of the raw one
    #[arg(long, default_value = "1e9", value_name = "N", value_parser = count)]
    rows: u64,
    /// Rows that SQLite inserts and copies
    #[arg(long, default_value = "10M", value_name = "N", value_parser = count)]
    sql_rows: u64,
    /// Rows that are made and not written
    #[arg(long, default_value = "500M", value_name = "N", value_parser = count)]
    discard_rows: u64,
    #[command(flatten)]
    options: Options,
}

/// The maximum size of a row of the table, in bytes.
const ROW_BYTES_MAX: u64 = 24;

type Ways<'a> = Vec<Way<Track<'a>, anyhow::Result<Lap>>>;

fn ways<'a>() -> Ways<'a> {
    vec![
        way("", "generate", "`sqluice generate`", Track::big),
        way("", "raw", "raw write", Track::raw),
        way("", "insert", "50-row INSERT, unsafe PRAGMAs", |track| {
            track.sql("insert", &words!["insert", track.house.file("sql.db"), track.settings.sql_rows])
        }),
        way("", "attach", "ATTACH copy, unsafe PRAGMAs", |track| {
            // The source must be in the page cache.
            let source = track.house.file("source.db");
            track.verify(&source, track.settings.sql_rows)?;
            track.sql("attach", &words!["attach", track.house.file("sql.db"), source])
        }),
        way("", "discard", "`sqluice generate --discard`", Track::discard),
    ]
}

const RATIOS: &[Compared] = &[
    ("generate / raw write, time", |round| ratio::time(round, "generate", "raw"), ""),
    ("generate / ATTACH copy, rate", |round| ratio::rate(round, "generate", "attach"), ""),
    ("generate / INSERT, rate", |round| ratio::rate(round, "generate", "insert"), ""),
    ("discard / generate, rate", |round| ratio::rate(round, "discard", "generate"), ""),
];

const COLUMNS: [Column<'static>; 5] = [
    ("rows", &rows),
    ("seconds: median (min..max)", &seconds),
    ("M rows/s", &rate),
    ("GB/s", &throughput),
    ("peak memory", &memory),
];

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    let file = words.path()?;
    match name {
        "raw" => said(laps::raw(&file, words.take()?)?),
        "insert" => said(laps::insert(&file, words.take()?)?),
        "attach" => said(laps::attach(&file, &words.path()?)?),
        _ => said(verify::verify(&file, words.take()?)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or leaves wrong rows.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    for (name, rows) in
        [("rows", settings.rows), ("sql-rows", settings.sql_rows), ("discard-rows", settings.discard_rows)]
    {
        ensure!(rows > 0, "--{name} must not be 0");
    }
    // At most one of the big file and the raw file exists at a time, beside two small files.
    let bytes = (settings.rows + 2 * settings.sql_rows) * ROW_BYTES_MAX;
    let house = House::open(&settings.options, runner, bytes)?;
    let mut track = Track { settings, house: &house, bytes: None, checksum: None };
    track.generate(Some(&house.file("source.db")), settings.sql_rows)?;
    let ways = ways();
    let rounds = rounds(settings.options.rounds, &ways, |way, _| (way.run)(&mut track).map(Some))?;
    let facts = json!({ "checksum": track.checksum });
    house.finish("billion", facts, &ways, &rounds, RATIOS, &table("", &COLUMNS, &ways, &rounds))
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    settings: &'a Settings,
    house: &'a House<'a>,
    /// The size of the big file; `None` before it is generated.
    bytes: Option<u64>,
    /// The checksum of the big file's pages, which each run must have, because each run has the same rows; `None` before the first run.
    checksum: Option<String>,
}

impl Track<'_> {
    fn big(&mut self) -> anyhow::Result<Lap> {
        let (file, rows) = (self.house.file("big.db"), self.settings.rows);
        let (took, report) = self.generate(Some(&file), rows)?;
        let bytes = size(&file)?;
        ensure!(bytes == report.bytes, "the file has {bytes} bytes, and {} were reported", report.bytes);
        self.bytes = Some(bytes);
        self.same_checksum(report.checksum)?;
        Lap::new(&took, rows, bytes, Some(report.output)).verified("generate", || {
            self.verify(&file, rows)?;
            self.house.remove("big.db")
        })
    }

    /// Writes as many raw bytes as the big file has. Its size is known, because the first round begins with the way `generate`.
    fn raw(&mut self) -> anyhow::Result<Lap> {
        let bytes = self.bytes.context("the first lap makes the big file")?;
        let file = self.house.file("raw");
        let (took, how): (Took, String) = self.house.asked(&words!["raw", file, bytes])?;
        let written = size(&file)?;
        ensure!(written == bytes, "the raw file has {written} bytes instead of {bytes}");
        Lap::new(&took, 0, bytes, Some(how)).verified("raw", || self.house.remove("raw"))
    }

    fn sql(&self, name: &str, words: &[OsString]) -> anyhow::Result<Lap> {
        let (file, rows) = (self.house.file("sql.db"), self.settings.sql_rows);
        let took = self.house.own(words)?;
        Lap::new(&took, rows, size(&file)?, None).verified(name, || {
            self.verify(&file, rows)?;
            self.house.remove("sql.db")
        })
    }

    fn discard(&mut self) -> anyhow::Result<Lap> {
        let rows = self.settings.discard_rows;
        let (took, report) = self.generate(None, rows)?;
        if rows == self.settings.rows {
            self.same_checksum(report.checksum)?;
        }
        Lap::new(&took, rows, report.bytes, Some(report.output)).verified("discard", || Ok(()))
    }

    fn generate(&self, target: Option<&Path>, rows: u64) -> anyhow::Result<(Took, Report)> {
        let target = target.map_or(OsStr::new("--discard"), Path::as_os_str);
        self.house.sqluice.write(&words!["generate", target, "--preset", "user", "--rows", rows], rows)
    }

    fn same_checksum(&mut self, checksum: String) -> anyhow::Result<()> {
        let first = self.checksum.get_or_insert_with(|| checksum.clone());
        ensure!(*first == checksum, "the same seed made pages with checksum {first}, and now {checksum}");
        Ok(())
    }

    fn verify(&self, file: &Path, rows: u64) -> anyhow::Result<()> {
        self.house.own(&words!["verify", file, rows]).map(drop)
    }
}
