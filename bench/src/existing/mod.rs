//! Existing databases: adding rows, looking up rows and creating indexes, compared with SQLite.
//!
//! ```text
//!  table:   a new table of 20M rows into a database of 50M (1 GB), journal mode DELETE, then WAL
//!           attach, attach_wal       ATTACH of a database with the rows, INSERT INTO ... SELECT *
//!           generate, generate_wal   the same rows by `sqluice generate`
//!           load, load_wal           the same rows by `sqluice load` of a CSV file
//!  insert:  5M rows in memory into a new file
//!           insert                   sqluice::insert, which leaves out rowids that SQLite would assign itself
//!           rows                     INSERT ... SELECT FROM sqluice_rows(?1)
//!           unrolled_1 ... _200      the prepared INSERT of 1, 10, 50, 100 and 200 rows
//!           attach_5m                INSERT INTO ... SELECT * of the same rows from an attached database
//!  in:      sum over 100,000 of 1M rows by id IN (...), 20 times
//!           in_rows                  SELECT c1 FROM sqluice_rows(?1), the ids as Rows::keys puts them in order
//!           in_join                  sqluice_rows(?1) JOIN user ON id = c1, the same ids
//!           in_carray, ..._sorted    SELECT value FROM carray(?1), the ids unsorted, or sorted first
//!           in_temp, in_temp_key     a temporary table that is filled first: without a key, and with a key
//!  append:  5M rows to a table of 20M, with an index on a column of random numbers
//!           append                   `sqluice load --append` of a CSV file
//!           append_sql               a prepared INSERT of the same rows from memory
//!           append_drop              DROP INDEX, INSERT, CREATE INDEX
//!  computed: 1M rows to two tables of 100,000, each with two indexes
//!           append_plain             `sqluice load --append` to a table with indexes on columns
//!           append_computed          the same to a table with two CHECKs, a STORED column, a partial index, and an index on an expression
//!           import_computed          `sqlite3`, `.import` into a temporary table, and INSERT INTO ... SELECT
//!  index:   an index on 20M rows of text
//!           index                    `sqluice index`
//!           create, create_2         CREATE INDEX; with 200 MB of cache and two threads
//! ```
//!
//! All settings are safe: each way is one transaction with a journal and synchronous = FULL, and SQLite's default cache unless another
//! size is named. A lap begins with a fresh, synced copy of the database in the page cache, and ends with its process: after the COMMIT is
//! synced and, in WAL mode, the pages are in the database. Parts run one after the other; ratios are computed within a round, and every
//! second round runs in reverse order. All choices favour SQLite: of several equivalent ways the fastest is compared, and its INSERTs get
//! rows from memory, while a load reads a file.

mod data;
mod lookup;
mod sqlite;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};

use self::lookup::{LookedUp, TIMES};
use self::sqlite::BY_AREA;
use self::verify::Content;
use crate::db::First;
use crate::found::Found;
use crate::house::{House, said};
use crate::lap::{Lap, USUAL};
use crate::options::Options;
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared, fastest};
use crate::rounds::{Round, Way, add_rounds, only, table, way};
use crate::shell::quoted;
use crate::words::Words;
use crate::{copy, size, sync, warm, words};

/// The command line of the comparison of changes.
#[derive(Clone, Debug, Args)]
#[command(about = "Compares changes to existing databases with SQLite, in alternating rounds")]
pub struct Settings {
    /// Scales the numbers of rows
    #[arg(long, default_value = "1", value_name = "FACTOR", value_parser = crate::options::factor)]
    rows_scale: f64,
    /// Runs a part only: table, insert, in, append, computed, index; can be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    #[command(flatten)]
    options: Options,
}

/// A part of the comparison: its name, the number of rows that are added or looked up, the number of rows before, and the maximum size of
/// all its files in bytes.
struct Part(&'static str, f64, f64, f64);

/// The parts. The part `in` looks up a tenth of the rows: with more rows the lookups alone would take most of the time.
const PARTS: [Part; 6] = [
    Part("table", 20e6, 50e6, 4.5e9),
    Part("insert", 5e6, 0.0, 0.6e9),
    Part("in", 100e3, 1e6, 0.6e9),
    Part("append", 5e6, 20e6, 4e9),
    Part("computed", 1e6, 100e3, 1e9),
    Part("index", 20e6, 20e6, 2.5e9),
];

type Ran = anyhow::Result<(Took, Option<String>)>;

fn ways<'a>() -> Vec<Way<Track<'a>, Ran>> {
    vec![
        way("table", "attach", "a new table beside one of 50M rows, DELETE: `ATTACH` copy", |track| {
            track.attach("user2")
        }),
        way("table", "generate", "`sqluice generate`, DELETE", Track::generate),
        way("table", "load", "`sqluice load` of a CSV file, DELETE", Track::load_new),
        way("table", "attach_wal", "`ATTACH` copy, WAL", |track| track.attach("user2")),
        way("table", "generate_wal", "`sqluice generate`, WAL", Track::generate),
        way("table", "load_wal", "`sqluice load` of a CSV file, WAL", Track::load_new),
        way("insert", "insert", "rows in memory: `sqluice::insert`", |track| {
            track.own("insert", &words![track.rows])
        }),
        way(
            "insert",
            "rows",
            "`INSERT ... SELECT FROM sqluice_rows(?1)`, a statement of one's own",
            |track| track.own("rows", &words![track.rows]),
        ),
        way("insert", "unrolled_1", "prepared `INSERT`, 1 row", |track| track.unrolled(1)),
        way("insert", "unrolled_10", "10 rows", |track| track.unrolled(10)),
        way("insert", "unrolled_50", "50 rows", |track| track.unrolled(50)),
        way("insert", "unrolled_100", "100 rows", |track| track.unrolled(100)),
        way("insert", "unrolled_200", "200 rows", |track| track.unrolled(200)),
        way("insert", "attach_5m", "`ATTACH` copy of the same", |track| track.attach("user")),
        way(
            "in",
            "in_rows",
            "ids looked up by `IN (SELECT c1 FROM sqluice_rows(?1))`, `Rows::keys`",
            |track| track.look_up("rows"),
        ),
        way("in", "in_join", "the same ids: `sqluice_rows(?1) JOIN user ON id = c1`", |track| {
            track.look_up("join")
        }),
        way("in", "in_carray", "`IN (SELECT value FROM carray(?1))`", |track| track.look_up("carray")),
        way("in", "in_carray_sorted", "the same, ids sorted first", |track| track.look_up("carray-sorted")),
        way("in", "in_temp", "a temporary table, filled and looked up", |track| track.look_up("temp")),
        way("in", "in_temp_key", "the same with an INTEGER PRIMARY KEY", |track| track.look_up("temp-key")),
        way("append", "append", "appended to 20M rows with an index: `sqluice load --append`", |track| {
            track.append("item")
        }),
        way("append", "append_sql", "prepared `INSERT` in one transaction, default cache", |track| {
            track.own("append", &words![track.there, track.rows])
        }),
        way("append", "append_drop", "`DROP INDEX`, `INSERT`, `CREATE INDEX`", |track| {
            track.own("append", &words![track.there, track.rows, "drop"])
        }),
        way(
            "computed",
            "append_plain",
            "appended to a table with two indexes on columns: `sqluice load --append`",
            |track| track.append("plain"),
        ),
        way(
            "computed",
            "append_computed",
            "to one with two CHECKs, a STORED column, a partial index, an index on `lower(name)`: `sqluice load --append`",
            |track| track.append("product"),
        ),
        way(
            "computed",
            "import_computed",
            "to the same: `sqlite3`, `.import` into a temporary table, `INSERT ... SELECT`",
            Track::import,
        ),
        way("index", "index", "an index on text: `sqluice index`", |track| {
            Ok((track.house.sqluice.run(&words!["index", track.target(), BY_AREA])?, None))
        }),
        way("index", "create", "`CREATE INDEX`", |track| track.own("create", &[])),
        way("index", "create_2", "the same with `PRAGMA threads = 2` and 200 MB of cache", |track| {
            track.own("create", &words!["tuned"])
        }),
    ]
}

const UNROLLED: &[&str] = &["unrolled_1", "unrolled_10", "unrolled_50", "unrolled_100", "unrolled_200"];

const RATIOS: &[Compared] = &[
    (
        "time of the `ATTACH` copy to `generate`, DELETE",
        |round| ratio::time(round, "attach", "generate"),
        "at least 5, aim 8",
    ),
    (
        "time of the `ATTACH` copy to `generate`, WAL",
        |round| ratio::time(round, "attach_wal", "generate_wal"),
        "at least 5, aim 8",
    ),
    (
        "time of the `ATTACH` copy to `load`, DELETE",
        |round| ratio::time(round, "attach", "load"),
        "at least 5, aim 8",
    ),
    (
        "time of the `ATTACH` copy to `load`, WAL",
        |round| ratio::time(round, "attach_wal", "load_wal"),
        "at least 5, aim 8",
    ),
    (
        "time of the best prepared `INSERT` to `sqluice::insert`",
        |round| fastest(round, UNROLLED, "insert"),
        "at least 1.3",
    ),
    (
        "time of the best prepared `INSERT` to `sqluice_rows`",
        |round| fastest(round, UNROLLED, "rows"),
        "at least 1",
    ),
    (
        "time of the `ATTACH` copy to `sqluice_rows` (aim 1)",
        |round| ratio::time(round, "attach_5m", "rows"),
        "",
    ),
    (
        "time of `IN` by `carray`, the faster, to `sqluice_rows`",
        |round| fastest(round, &["in_carray", "in_carray_sorted"], "in_rows"),
        "at least 1",
    ),
    (
        "time of `IN` by a temporary table, the faster, to `sqluice_rows`",
        |round| fastest(round, &["in_temp", "in_temp_key"], "in_rows"),
        "at least 3",
    ),
    (
        "time of `IN` by a temporary table, the faster, to `sqluice_rows` that is joined",
        |round| fastest(round, &["in_temp", "in_temp_key"], "in_join"),
        "at least 3",
    ),
    (
        "time of `INSERT` to `load --append`, with an index",
        |round| ratio::time(round, "append_sql", "append"),
        "at least 5",
    ),
    (
        "time of `DROP INDEX`, `INSERT`, `CREATE INDEX` to `load --append`",
        |round| ratio::time(round, "append_drop", "append"),
        "",
    ),
    (
        "time of `load --append` with expressions to plain indexes",
        |round| ratio::time(round, "append_computed", "append_plain"),
        "at most 2",
    ),
    (
        "processor time of `load --append` with expressions to plain indexes",
        |round| ratio::processors(round, "append_computed", "append_plain"),
        "",
    ),
    (
        "time of `.import` and `INSERT` to `load --append`, with expressions",
        |round| ratio::time(round, "import_computed", "append_computed"),
        "at least 8",
    ),
    (
        "time of `CREATE INDEX`, the faster, to `sqluice index`",
        |round| fastest(round, &["create", "create_2"], "index"),
        "at least 4",
    ),
];

/// The databases that laps copy or attach, and a CSV file of the added rows.
const BASE: &str = "base.db";
const SOURCE: &str = "source.db";
const ROWS: &str = "rows.csv";

/// The database of a lap.
const TARGET: &str = "lap.db";

/// The maximum number of rows of a database that SQLite's integrity_check checks: it looks up each index entry, which takes long.
const CHECKED_ROWS_MAX: u64 = 1_000_000;

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    let file = words.path()?;
    match name {
        "attach" => said(sqlite::attach(&file, &words.path()?, &words.take::<String>()?)?),
        "insert" => said(sqlite::insert(&file, words.take()?)?),
        "rows" => said(sqlite::insert_rows(&file, words.take()?)?),
        "unrolled" => said(sqlite::insert_unrolled(&file, words.take()?, words.take()?)?),
        "in" => said(lookup::look_up(&file, words.take()?, words.take()?, &words.take::<String>()?)?),
        "append" => said(sqlite::append(&file, words.take()?, words.take()?, words.ends_with("drop")?)?),
        "create" => said(sqlite::create_index(&file, words.ends_with("tuned")?)?),
        _ => said(verify::verify(&file, &words.take::<String>()?)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or leaves other content than expected.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let ways = only(ways(), &settings.only)?;
    let parts = || PARTS.iter().filter(|part| ways.iter().any(|way| way.part == part.0));
    let scaled = |rows: f64| rows * settings.rows_scale;
    let bytes = scaled(parts().map(|part| part.3).fold(0.0, f64::max));
    let house = House::open(&settings.options, runner, bytes as u64)?;
    let mut track = Track {
        house: &house,
        part: "",
        rows: 0,
        there: 0,
        tables: First::default(),
        looked_up: First::default(),
    };
    for (name, sql) in [("user2.sql", include_str!("user2.sql")), ("item.sql", include_str!("item.sql"))] {
        house.write(name, sql)?;
    }
    let mut rounds = vec![Round::new(); usize::from(settings.options.rounds)];
    let mut checked = BTreeSet::new();
    for Part(part, rows, there, _) in parts() {
        let count = |rows: f64| scaled(rows).max(1.0) as u64;
        (track.part, track.rows, track.there) = (part, count(*rows), count(*there));
        track.prepare()?;
        add_rounds(&mut rounds, part, &ways, |way, _| {
            let lap = track.lap(way, checked.insert(way.name));
            lap.with_context(|| format!("the way {:?}", way.name)).map(Some)
        })?;
        [BASE, SOURCE, ROWS].iter().try_for_each(|name| house.remove(name))?;
    }
    let mut text = table("", &USUAL, &ways, &rounds);
    if ways.iter().any(|way| way.part == "in") {
        text += &format!("\nids: {TIMES} times as many as are looked up at once\n");
    }
    let facts = json!({ "rows_scale": settings.rows_scale });
    house.finish("existing", facts, &ways, &rounds, RATIOS, &text)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    part: &'static str,
    /// The number of rows that a lap adds or looks up.
    rows: u64,
    /// The number of rows in the database before a lap.
    there: u64,
    /// The content of the first way's database, by the part and the kind of table that rows are appended to.
    tables: First<(&'static str, bool), BTreeMap<String, Found>>,
    looked_up: First<(), (i64, i64)>,
}

impl Track<'_> {
    fn target(&self) -> PathBuf {
        self.house.file(TARGET)
    }

    /// Creates the databases and files that the laps of a part read.
    fn prepare(&self) -> anyhow::Result<()> {
        let file = |name: &str| self.house.file(name);
        let (there, rows) = (self.there, self.rows);
        match self.part {
            "table" => {
                self.house.preset("user", there, &file(BASE))?;
                self.generated(&file(SOURCE), "user2.sql", rows)?;
                data::users(&file(SOURCE), &file(ROWS))
            }
            "insert" => self.house.own(&words!["unrolled", file(SOURCE), rows, 50_u64]).map(drop),
            "append" => {
                self.generated(&file(BASE), "item.sql", there)?;
                data::items(there, rows, &file(ROWS))
            }
            "computed" => {
                data::with_products(include_str!("product.sql"), there, &file(BASE))?;
                data::products(there, rows, &file(ROWS))
            }
            _ => self.house.preset("user", there, &file(BASE)).map(drop),
        }
    }

    fn lap(&mut self, way: &Way<Self, Ran>, check: bool) -> anyhow::Result<Lap> {
        if self.part == "in" {
            let base = self.house.file(BASE);
            warm(&base)?;
            let (took, _) = (way.run)(self)?;
            return Lap::new(&took, self.rows * TIMES, size(&base)?, None).verified(way.name, || Ok(()));
        }
        self.fresh(way.name)?;
        let (took, output) = (way.run)(self)?;
        Lap::new(&took, self.rows, size(&self.target())?, output).verified(way.name, || {
            self.verify(way.name, check)?;
            self.house.remove(TARGET)
        })
    }

    /// Copies the database for a lap, and reads the lap's input into the page cache.
    fn fresh(&self, name: &str) -> anyhow::Result<()> {
        for name in [SOURCE, ROWS] {
            let file = self.house.file(name);
            if file.exists() {
                warm(&file)?;
            }
        }
        if self.part == "insert" {
            return Ok(());
        }
        let target = self.target();
        copy(&self.house.file(BASE), &target)?;
        if is_wal(name) {
            let db = crate::db::open(&target, "")?;
            let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            ensure!(mode == "wal", "the journal mode is {mode}");
            db.close().map_err(|(_, error)| error)?;
            sync(&target)?;
        }
        Ok(())
    }

    fn own(&self, name: &str, more: &[OsString]) -> Ran {
        Ok((self.house.own(&[&words![name, self.target()], more].concat())?, None))
    }

    fn attach(&mut self, table: &str) -> Ran {
        self.own("attach", &words![self.house.file(SOURCE), table])
    }

    fn unrolled(&mut self, degree: u64) -> Ran {
        self.own("unrolled", &words![self.rows, degree])
    }

    fn generate(&mut self) -> Ran {
        self.generated(&self.target(), "user2.sql", self.rows)
    }

    fn generated(&self, target: &Path, schema: &str, rows: u64) -> Ran {
        let words = words!["generate", target, self.house.file(schema), "--rows", rows];
        let (took, report) = self.house.sqluice.write(&words, rows)?;
        Ok((took, Some(report.write_paths())))
    }

    fn load_new(&mut self) -> Ran {
        self.load(&words!["--table", "user2", "--schema", self.house.file("user2.sql")])
    }

    fn append(&mut self, table: &str) -> Ran {
        self.load(&words!["--table", table, "--append"])
    }

    fn load(&self, more: &[OsString]) -> Ran {
        self.house.load(&self.target(), &self.house.file(ROWS), self.rows, more)
    }

    /// Imports the CSV file into a temporary table, and inserts its rows.
    fn import(&mut self) -> Ran {
        let mut command = self.house.options.programs.shell(&self.target());
        command.args([
            "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE staged (id INTEGER, name TEXT, price REAL, stock INTEGER)",
            ".mode csv",
            &format!(".import --schema temp --skip 1 {} staged", quoted(&self.house.file(ROWS))?),
            "INSERT INTO product (id, name, price, stock) SELECT id, name, price, stock FROM staged",
        ]);
        Ok((self.house.runner.run(&mut command)?, None))
    }

    fn look_up(&mut self, ids: &str) -> Ran {
        let words = words!["in", self.house.file(BASE), self.there, self.rows, ids];
        let (took, LookedUp { found, sum, seconds }) = self.house.asked(&words)?;
        self.looked_up.same((), (found, sum))?;
        Ok((Took { seconds, ..took }, None))
    }

    /// Checks that no journal is left, then the journal mode, the row counts and the index entries of the database, and that its content
    /// equals that of the first way.
    fn verify(&mut self, name: &str, check: bool) -> anyhow::Result<()> {
        let target = self.target();
        for suffix in ["-journal", "-wal", "-shm"] {
            let mut beside = target.as_os_str().to_owned();
            beside.push(suffix);
            let beside = PathBuf::from(beside);
            ensure!(!beside.exists(), "{} is left", beside.display());
        }
        // `sqluice check` runs first: in WAL mode, a reader leaves sidecar files, which the SQLite connection below removes.
        self.house.sqluice.check(&target)?;
        let check = match check {
            true if self.rows + self.there <= CHECKED_ROWS_MAX => "integrity_check",
            true => "quick_check",
            false => "",
        };
        let (_, content): (_, Content) = self.house.asked(&words!["verify", target, check])?;
        let (mode, wanted) = (&content.journal_mode, if is_wal(name) { "wal" } else { "delete" });
        ensure!(mode == wanted, "the journal mode is {mode} instead of {wanted}");
        let is_plain = name == "append_plain";
        let wanted = self.wanted(is_plain);
        let rows = content.tables.iter().map(|(name, table)| (&**name, table.rows, &table.indexes));
        let wanted_rows = wanted.iter().map(|(name, rows, indexes)| (*name, *rows, indexes));
        ensure!(
            rows.clone().eq(wanted_rows),
            "rows and entries {:?} instead of {wanted:?}",
            rows.collect::<Vec<_>>()
        );
        self.tables.same((self.part, is_plain), content.tables)
    }

    /// Returns the name of each table after a lap, with its expected number of rows and of entries in its indexes.
    fn wanted(&self, is_plain: bool) -> Vec<(&'static str, i64, BTreeMap<String, i64>)> {
        let (rows, there) = (self.rows as i64, self.there as i64);
        let all = there + rows;
        let entries =
            |of: &[(&str, i64)]| of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        match self.part {
            "table" => vec![("user", there, entries(&[])), ("user2", rows, entries(&[]))],
            "append" => vec![("item", all, entries(&[("by_key", all)]))],
            "computed" => {
                let (plain, product) = if is_plain { (all, there) } else { (there, all) };
                let in_stock = (0..product as u64).filter(|row| data::product(*row).2 >= 50).count() as i64;
                vec![
                    ("plain", plain, entries(&[("plain_by_name", plain), ("plain_by_stock", plain)])),
                    (
                        "product",
                        product,
                        entries(&[("product_by_name", product), ("product_by_stock", in_stock)]),
                    ),
                ]
            }
            "index" => vec![("user", there, entries(&[("by_area", there)]))],
            _ => vec![("user", rows, entries(&[]))],
        }
    }
}

fn is_wal(name: &str) -> bool {
    name.ends_with("_wal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::{lines, ratios_of_parts};

    #[test]
    fn a_ratio_uses_the_fastest_of_the_compared_ways() {
        let lines = lines(RATIOS, [("create", 9.0), ("create_2", 6.0), ("index", 2.0)]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("| 3.00 (3.00..3.00) | at least 4 | short |"), "{lines:?}");
    }

    #[test]
    fn every_ratio_compares_ways_of_the_same_part() {
        let parts = PARTS.map(|part| part.0);
        assert_eq!(ratios_of_parts(&ways(), RATIOS, &parts), [4, 3, 3, 2, 3, 1]);
    }
}
