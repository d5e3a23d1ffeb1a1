//! Keys and indexes: their cost compared with SQLite, and their scaling to data larger than memory.
//!
//! ```text
//!  area:    plain      -> verified   generate `user` without an index
//!           indexed    -> verified   generate `user` with an index on area: the difference to `plain` is the cost of the index
//!           create     -> verified   CREATE INDEX on a copy of the plain file, 200 MB of cache, unsafe PRAGMAs, fsync
//!           threads    -> verified   `create` with PRAGMA threads = 2
//!  number:  number_plain, number_indexed, number_create, number_threads    as in `area`, with a random integer instead of area
//!  computed:  lower_indexed, lower_create, lower_threads    as in `area`, with an index on lower(area)
//!             half_indexed, half_create, half_threads       as in `area`, with a partial index on the area of half of the rows
//!  memory:  two        -> verified   generate `user` with two indexes, 512 MiB of memory
//!           two_ten    -> verified   ten times the rows
//!  keys:    uuid       -> verified   load a CSV file of random UUIDs into a WITHOUT ROWID table
//!           uuid_sql   -> verified   the same rows by a prepared INSERT, one transaction, unsafe PRAGMAs, 200 MB of cache, fsync
//!           uuid_default  verified   the same with SQLite's defaults: a rollback journal, 2 MB of cache
//!           shuffled, shuffled_sql   as uuid and uuid_sql, with rows in shuffled order of an INTEGER PRIMARY KEY
//! ```
//!
//! Ratios are computed within a round, and every second round runs in reverse order. All choices favour SQLite: the faster of two ways to
//! CREATE INDEX is compared, the table is in the page cache, and its INSERTs get rows from memory, while the loads read a file.

mod data;
mod laps;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};
use sqluice_lab::figures::Spread;

use self::data::{Index, Keys};
use crate::db::First;
use crate::found::Found;
use crate::house::{House, said};
use crate::lap::{Lap, USUAL, head, row};
use crate::options::Options;
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Round, Way, laps, only, rounds, way};
use crate::words::Words;
use crate::{copy, grouped, size, warm, words};

/// The command line of the comparison of keys and indexes.
#[derive(Clone, Debug, Args)]
#[command(about = "Compares building keys and indexes with SQLite, in alternating rounds")]
pub struct Settings {
    /// Scales the numbers of rows
    #[arg(long, default_value = "1", value_name = "FACTOR", value_parser = crate::options::factor)]
    rows_scale: f64,
    /// Runs a part only: area, number, computed, memory, keys; can be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    #[command(flatten)]
    options: Options,
}

/// The maximum disk space for each row, in bytes: the database, its copy, and the sorted runs.
const ROW_BYTES_MAX: f64 = 160.0;

/// The maximum number of rows of a database that SQLite's integrity_check checks: it looks up each index entry, which takes long.
const CHECKED_ROWS_MAX: u64 = 1_000_000;

/// The memory limit of the part `memory`, whose data is larger.
const MEMORY_BYTES: u64 = 512 << 20;

/// The minimum seconds that an index adds to a run in a ratio: a smaller difference is noise, and counts as this number.
const SECONDS_MIN: f64 = 0.001;

type Ran = anyhow::Result<(Took, Option<String>)>;

fn ways<'a>() -> Vec<Way<Track<'a>, Ran>> {
    vec![
        way("area", "plain", "`sqluice generate`, no index", |track| track.generate("plain.sql", &[])),
        way("area", "indexed", "`sqluice generate`, index on `area`", |track| {
            track.generate("area.sql", &["by_area"])
        }),
        way("area", "create", "SQLite's `CREATE INDEX` alone", |track| track.create("by_area", 0)),
        way("area", "threads", THREADS, |track| track.create("by_area", 2)),
        way("number", "number_plain", "`sqluice generate`, a random integer, no index", |track| {
            track.generate("number_plain.sql", &[])
        }),
        way("number", "number_indexed", "`sqluice generate`, index on the integer", |track| {
            track.generate("number.sql", &["by_number"])
        }),
        way("number", "number_create", "SQLite's `CREATE INDEX` on it alone", |track| {
            track.create("by_number", 0)
        }),
        way("number", "number_threads", THREADS, |track| track.create("by_number", 2)),
        way("computed", "lower_indexed", "`sqluice generate`, index on `lower(area)`", |track| {
            track.generate("lower.sql", &["by_lower"])
        }),
        way("computed", "lower_create", "SQLite's `CREATE INDEX` of `lower(area)` alone", |track| {
            track.create("by_lower", 0)
        }),
        way("computed", "lower_threads", THREADS, |track| track.create("by_lower", 2)),
        way(
            "computed",
            "half_indexed",
            "`sqluice generate`, partial index on `area`, half of the rows",
            |track| track.generate("half.sql", &["by_half"]),
        ),
        way("computed", "half_create", "SQLite's `CREATE INDEX` of the partial index alone", |track| {
            track.create("by_half", 0)
        }),
        way("computed", "half_threads", THREADS, |track| track.create("by_half", 2)),
        way("memory", "two", "`sqluice generate`, two indexes, 512 MiB", Track::two),
        way("memory", "two_ten", "the same, ten times the rows", Track::two),
        way("keys", "uuid", "`sqluice load`, UUIDs, WITHOUT ROWID", |track| track.load(Keys::Uuid)),
        way("keys", "uuid_sql", "SQLite's `INSERT` of the same, nothing durable, 200 MB of cache", |track| {
            track.insert(Keys::Uuid, "tuned")
        }),
        way("keys", "uuid_default", "the same with SQLite's defaults", |track| {
            track.insert(Keys::Uuid, "defaults")
        }),
        way("keys", "shuffled", "`sqluice load`, shuffled INTEGER PRIMARY KEY", |track| {
            track.load(Keys::Shuffled)
        }),
        way("keys", "shuffled_sql", "SQLite's `INSERT` of the same", |track| {
            track.insert(Keys::Shuffled, "tuned")
        }),
    ]
}

const THREADS: &str = "the same with `PRAGMA threads = 2`";

/// The ways that generate the table without and with an index, for each kind of index.
const AREA: [&str; 2] = ["plain", "indexed"];
const NUMBER: [&str; 2] = ["number_plain", "number_indexed"];
const LOWER: [&str; 2] = ["plain", "lower_indexed"];
const HALF: [&str; 2] = ["plain", "half_indexed"];

const RATIOS: &[Compared] = &[
    (
        "time of `CREATE INDEX`, the faster, to what the index adds",
        |round| to_added(round, &["create", "threads"], AREA, |lap| lap.seconds),
        "at least 18",
    ),
    (
        "the same, of the index on a random integer",
        |round| to_added(round, &["number_create", "number_threads"], NUMBER, |lap| lap.seconds),
        "at least 25",
    ),
    (
        "the same, of the index on `lower(area)`",
        |round| to_added(round, &["lower_create", "lower_threads"], LOWER, |lap| lap.seconds),
        "at least 7",
    ),
    (
        "processor time of `CREATE INDEX` of `lower(area)` to what the index adds",
        |round| to_added(round, &["lower_create"], LOWER, |lap| lap.cpu_seconds),
        "at least 4",
    ),
    (
        "time of `CREATE INDEX`, the faster, to what the partial index adds",
        |round| to_added(round, &["half_create", "half_threads"], HALF, |lap| lap.seconds),
        "at least 5",
    ),
    (
        "processor time of `CREATE INDEX` of the partial index to what the index adds",
        |round| to_added(round, &["half_create"], HALF, |lap| lap.cpu_seconds),
        "at least 3",
    ),
    (
        "time per row, two indexes, of ten times the rows to once",
        |round| ratio::ratio(round, "two_ten", "two", |lap| lap.seconds / lap.rows as f64),
        "at most 1.50",
    ),
    (
        "peak memory of ten times the rows to 512 MiB",
        |round| Some(round.get("two_ten")?.memory_bytes as f64 / MEMORY_BYTES as f64),
        "at most 1.10",
    ),
    (
        "time of `INSERT` with SQLite's defaults to `load`, UUIDs",
        |round| ratio::time(round, "uuid_default", "uuid"),
        "at least 20",
    ),
    (
        "time of `INSERT`, nothing durable, 200 MB of cache, to `load`, UUIDs",
        |round| ratio::time(round, "uuid_sql", "uuid"),
        "at least 30",
    ),
    (
        "time of `INSERT` to `load`, shuffled INTEGER PRIMARY KEY",
        |round| ratio::time(round, "shuffled_sql", "shuffled"),
        "at least 10",
    ),
];

fn added(round: &Round, [plain, indexed]: [&str; 2], value: fn(&Lap) -> f64) -> Option<f64> {
    Some(value(round.get(indexed)?) - value(round.get(plain)?))
}

/// Returns the value (seconds or CPU seconds) of the better of the ways `creates`, divided by what the index adds: the difference between
/// the two `runs`; `None` if the round lacks a lap.
fn to_added(round: &Round, creates: &[&str], runs: [&str; 2], value: fn(&Lap) -> f64) -> Option<f64> {
    let creates = creates.iter().map(|way| round.get(way).map(value)).collect::<Option<Vec<f64>>>()?;
    Some(creates.into_iter().reduce(f64::min)? / added(round, runs, value)?.max(SECONDS_MIN))
}

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    let file = words.path()?;
    match name {
        "create" => said(laps::create_index(Index::named(&words.take::<String>()?)?, &file, words.take()?)?),
        "insert" => said(laps::insert(
            Keys::named(&words.take::<String>()?)?,
            &file,
            words.take()?,
            words.ends_with("defaults")?,
        )?),
        _ => said(verify::verify(&file, words.ends_with("integrity_check")?)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or leaves other values or entries than expected.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let mut wanted = only(ways(), &settings.only)?;
    // The ratios of the part `computed` need the time of `plain`, the table without an index, which is a way of the part `area`.
    if wanted.iter().any(|way| way.part == "computed") && !wanted.iter().any(|way| way.part == "area") {
        wanted.insert(0, ways().remove(0));
    }
    let rows_of = |way: &Way<_, _>| match (way.name, way.part) {
        ("two_ten", _) => 100e6,
        (_, "memory" | "keys") => 10e6,
        _ => 20e6,
    };
    let rows_max = wanted.iter().map(rows_of).fold(0.0, f64::max) * settings.rows_scale;
    let house = House::open(&settings.options, runner, (rows_max * ROW_BYTES_MAX) as u64)?;
    let mut track = Track { house: &house, rows: 0, indexes: &[], content: "user", found: First::default() };
    for (name, sql) in data::SCHEMAS {
        house.write(name, sql)?;
    }
    let rows = |way: &Way<_, _>| (rows_of(way) * settings.rows_scale).max(1.0) as u64;
    for (way, keys) in [("uuid", Keys::Uuid), ("shuffled", Keys::Shuffled)] {
        if let Some(way) = wanted.iter().find(|one| one.name == way) {
            data::csv(keys, rows(way), &house.file(&keys.csv()))?;
        }
    }
    let mut checked = BTreeSet::new();
    let rounds = rounds(settings.options.rounds, &wanted, |way, _| {
        (track.rows, track.indexes) = (rows(way), &[]);
        track.content = if way.part == "number" { "number" } else { "user" };
        let (took, output) = (way.run)(&mut track)?;
        let target = house.file(TARGET);
        let lap = Lap::new(&took, track.rows, size(&target)?, output).verified(way.name, || {
            let check = track.rows <= CHECKED_ROWS_MAX && checked.insert(way.name);
            track.verify(check).with_context(|| format!("the database of {:?}", way.name))?;
            house.remove(TARGET)
        });
        lap.map(Some)
    })?;
    let mut text = head("", &USUAL);
    let mut index_adds = BTreeMap::new();
    for way in &wanted {
        text += &row(way.title, &USUAL, &laps(&rounds, way.name));
        let runs = [AREA, NUMBER, LOWER, HALF].into_iter().find(|runs| runs[1] == way.name);
        let adds: Option<Vec<f64>> =
            rounds.iter().map(|round| added(round, runs?, |lap| lap.seconds)).collect();
        if let Some(adds) = adds.and_then(|adds| Spread::of_samples(&adds)) {
            text += &format!("| ... what the index adds | | {adds:.2} | | |\n");
            index_adds.insert(way.name, adds);
        }
    }
    let facts = json!({ "rows_scale": settings.rows_scale, "index_adds": index_adds });
    house.finish("index", facts, &wanted, &rounds, RATIOS, &text)
}

const TARGET: &str = "index.db";

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    /// The number of rows of the current way.
    rows: u64,
    /// The indexes that the database of the current way must have.
    indexes: &'static [&'static str],
    /// The kind of rows of the current way: all ways with the same kind and number of rows must have the same content.
    content: &'static str,
    found: First<(&'static str, u64), Found>,
}

impl Track<'_> {
    fn generate(&mut self, schema: &str, indexes: &'static [&'static str]) -> Ran {
        self.indexes = indexes;
        self.generated(TARGET, schema, &[])
    }

    fn two(&mut self) -> Ran {
        self.indexes = &["by_age", "by_area"];
        self.generated(TARGET, "two.sql", &words!["--memory", MEMORY_BYTES])
    }

    fn generated(&self, target: &str, schema: &str, more: &[OsString]) -> Ran {
        let (target, schema) = (self.house.file(target), self.house.file(schema));
        let words = [&words!["generate", target, schema, "--rows", self.rows], more].concat();
        let (took, report) = self.house.sqluice.write(&words, self.rows)?;
        Ok((took, Some(report.output)))
    }

    /// Runs SQLite's CREATE INDEX on a copy of the table. The table is generated by the first lap that needs it.
    fn create(&mut self, index: &'static str, threads: u8) -> Ran {
        let index = Index::named(index)?;
        let (table, target) = (self.house.file(index.table), self.house.file(TARGET));
        if !table.exists() {
            self.generated(index.table, index.schema, &[])?;
        }
        copy(&table, &target)?;
        self.indexes = &index.names;
        Ok((self.house.own(&words!["create", target, index.names[0], threads])?, None))
    }

    fn load(&mut self, keys: Keys) -> Ran {
        self.content = keys.name();
        let file = self.house.file(&keys.csv());
        warm(&file)?;
        let more = words!["--table", "item", "--primary-key", keys.column(), "--without-rowid"];
        let more = if keys == Keys::Uuid { &more[..] } else { &more[..4] };
        self.house.load(&self.house.file(TARGET), &file, self.rows, more)
    }

    fn insert(&mut self, keys: Keys, how: &str) -> Ran {
        self.content = keys.name();
        let words = words!["insert", self.house.file(TARGET), keys.name(), self.rows, "defaults"];
        let words = if how == "defaults" { &words[..] } else { &words[..4] };
        Ok((self.house.own(words)?, None))
    }

    fn verify(&mut self, check: bool) -> anyhow::Result<()> {
        let words = words!["verify", self.house.file(TARGET), "integrity_check"];
        let (_, found): (_, Found) = self.house.asked(if check { &words[..] } else { &words[..2] })?;
        let rows = self.rows;
        ensure!(found.rows == i64::try_from(rows)?, "{} rows instead of {}", found.rows, grouped(rows));
        let entries = |name: &str| if name == "by_half" { found.kept } else { found.rows };
        let wanted: BTreeMap<String, i64> =
            self.indexes.iter().map(|name| ((*name).to_owned(), entries(name))).collect();
        ensure!(found.indexes == wanted, "entries {:?} instead of {wanted:?}", found.indexes);
        self.found.same((self.content, rows), found.without_indexes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::{lines, lines_of};

    #[test]
    fn the_time_that_an_index_adds_is_compared_with_the_faster_way_of_sqlite() {
        let lines = lines(RATIOS, [("plain", 1.0), ("indexed", 2.0), ("create", 9.0), ("threads", 6.0)]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("| 6.00 (6.00..6.00) | at least 18 | short |"), "{lines:?}");
    }

    #[test]
    fn the_time_of_an_index_is_taken_as_a_millisecond_if_the_index_adds_no_time() {
        let lines = lines(RATIOS, [("plain", 1.0), ("indexed", 0.9), ("create", 0.1), ("threads", 0.2)]);
        assert!(lines[0].contains("| 100.00 (100.00..100.00) |"));
    }

    #[test]
    fn runs_of_different_row_counts_are_compared_by_time_per_row() {
        let lap = |seconds, rows| Lap { rows, seconds, memory_bytes: MEMORY_BYTES, ..Lap::default() };
        let lines = lines_of(RATIOS, [("two", lap(1.0, 100)), ("two_ten", lap(16.0, 1000))].into());
        assert!(lines[0].ends_with("| 1.60 (1.60..1.60) | at most 1.50 | short |"), "{lines:?}");
        assert!(lines[1].ends_with("| 1.00 (1.00..1.00) | at most 1.10 | met |"), "{lines:?}");
    }
}
