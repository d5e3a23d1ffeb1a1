//! Exports of a table: `sqluice export` compared with the shell of SQLite, and with ADBC and pyarrow. The rows are TPC-H's `lineitem`.
//!
//! ```text
//!  way          another program               is compared with the way of sqluice
//!  shell-csv    sqlite3 .mode csv             csv        sqluice export --to lineitem.csv
//!  shell-json   sqlite3 .mode json            ndjson     sqluice export --to lineitem.ndjson
//!  adbc         ADBC fetches, pyarrow writes  parquet    sqluice export --to lineitem.parquet
//! ```
//!
//! Every second round runs in reverse order. Before each lap the database is read into the page cache. sqluice syncs its files, the
//! other programs do not. The time of Python includes only fetching and writing. Every exported file is loaded into a database again,
//! which must have the row count and the column sums of the table.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::json;

use crate::db::open;
use crate::house::{House, Start};
use crate::lap::{Lap, USUAL};
use crate::options::{Options, factor, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Way, rounds, table, way};
use crate::shell::quoted;
use crate::{grouped, size, warm, words};

/// The Python program of the way `adbc`.
const FRAMES: &str = include_str!("frames.py");

/// The disk space at scale 1, in bytes: the database, the largest exported file, and the database that this file is loaded into.
const BYTES_AT_SCALE_1: f64 = 1.3e9 + 2.6e9 + 1.3e9;

#[derive(Debug, Args)]
pub struct Settings {
    /// Scale of TPC-H; 1 is 6,001,215 rows of lineitem
    #[arg(long, default_value = "1", value_name = "SF", value_parser = factor)]
    scale: f64,
    #[command(flatten)]
    options: Options,
}

type Ran = anyhow::Result<(Took, Option<String>)>;

/// Returns the ways to export the table. The field `part` of each way is the name of the file that the way exports.
fn ways<'a>() -> Vec<Way<Track<'a>, Ran>> {
    vec![
        way("lineitem.csv", "shell-csv", "`sqlite3 -csv`", |track| track.shell("csv")),
        way("lineitem.csv", "csv", "`sqluice export`, CSV, durable", Track::export),
        way("lineitem.json", "shell-json", "`sqlite3 -json`", |track| track.shell("json")),
        way("lineitem.ndjson", "ndjson", "`sqluice export`, NDJSON, durable", Track::export),
        way("lineitem.parquet", "adbc", "ADBC `fetch_arrow_table`, `pyarrow.parquet.write_table`", |track| {
            let words = words!["export", track.source, track.file];
            track.house.options.programs.timed(track.house.runner, (FRAMES, "fetching"), &words)
        }),
        way("lineitem.parquet", "parquet", "`sqluice export`, Parquet, durable", Track::export),
    ]
}

const RATIOS: &[Compared] = &[
    (
        "time of `sqlite3 -csv` to `export`, CSV",
        |round| ratio::time(round, "shell-csv", "csv"),
        "at least 10",
    ),
    (
        "time of `sqlite3 -json` to `export`, NDJSON",
        |round| ratio::time(round, "shell-json", "ndjson"),
        "at least 10",
    ),
    (
        "time of ADBC and pyarrow to `export`, Parquet",
        |round| ratio::time(round, "adbc", "parquet"),
        "at least 6",
    ),
];

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let Settings { scale, options } = settings;
    let mut start = Start::new(options, runner)?.with_shell()?;
    start.beside.push(options.programs.versions(runner, FRAMES, "pyarrow or ADBC")?);
    start.introduce()?;
    let house = start.house((BYTES_AT_SCALE_1 * scale) as u64)?;
    let source = house.file("tpch.db");
    house.sqluice.run(&words!["generate", "--preset", "tpch", "--scale", scale, source])?;
    let expected = Sums::of(&source)?;
    let rows = expected.rows;
    say(&format!("input: {} rows\n", grouped(rows)))?;
    let mut track = Track { house: &house, source, file: PathBuf::new(), expected };
    let ways = ways();
    let rounds = rounds(options.rounds, &ways, |way, _| {
        warm(&track.source)?;
        track.file = house.file(way.part);
        let (took, output) = (way.run)(&mut track)?;
        let lap = Lap::new(&took, rows, size(&track.file)?, output).verified(way.name, || {
            track.verify().with_context(|| format!("the file of {:?}", way.name))?;
            house.remove(way.part)
        });
        lap.map(Some)
    })?;
    let facts = json!({ "scale": scale, "rows": rows });
    let text = table("", &USUAL, &ways, &rounds);
    house.finish("databases-export", facts, &ways, &rounds, RATIOS, &text)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    source: PathBuf,
    /// The file that the current lap exports.
    file: PathBuf,
    expected: Sums,
}

impl Track<'_> {
    fn shell(&mut self, mode: &str) -> Ran {
        let mut command = self.house.options.programs.shell(&self.source);
        let output = format!(".output {}", quoted(&self.file)?);
        command.args(["-readonly", &format!(".mode {mode}"), ".headers on", &output]);
        Ok((self.house.runner.run(command.arg("SELECT * FROM lineitem"))?, None))
    }

    fn export(&mut self) -> Ran {
        Ok((self.house.sqluice.run(&words!["export", self.source, "lineitem", "--to", self.file])?, None))
    }

    /// Loads the exported file, and checks that it has the row count and the sums of the table.
    fn verify(&self) -> anyhow::Result<()> {
        let target = self.house.file("loaded.db");
        let schema = self.house.write("lineitem.sql", &declaration(&self.source)?)?;
        self.house.sqluice.run(&words!["load", target, self.file, "--lossy", "--schema", schema])?;
        let found = Sums::of(&target)?;
        ensure!(found == self.expected, "{found:?} instead of {:?}", self.expected);
        self.house.remove("loaded.db")
    }
}

/// Returns a CREATE TABLE statement with the columns of the table and their types, without keys.
fn declaration(db: &Path) -> anyhow::Result<String> {
    let connection = open(db, "")?;
    let sql = "SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('lineitem')";
    let columns: String = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(format!("CREATE TABLE lineitem ({columns});\n"))
}

/// The content of a table: the row count, and for each column the sum of its numbers, or of the lengths and first characters of its texts.
#[derive(Debug, PartialEq)]
struct Sums {
    rows: u64,
    columns: Vec<(String, f64, f64)>,
}

impl Sums {
    fn of(db: &Path) -> anyhow::Result<Sums> {
        let connection = open(db, "")?;
        let mut names = connection.prepare("SELECT name FROM pragma_table_info('lineitem') ORDER BY cid")?;
        let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        // Numbers are summed by value, not by length: programs print the same float differently.
        let columns = names.iter().map(|name| {
            format!(
                "total(iif(typeof({name}) = 'text', unicode({name}), {name})), total(iif(typeof({name}) = 'text', length({name}), 0))"
            )
        });
        let sql =
            format!("SELECT count(*), {} FROM lineitem NOT INDEXED", columns.collect::<Vec<_>>().join(", "));
        Ok(connection.query_row(&sql, [], |row| {
            let sums = |(index, name): (usize, &String)| {
                Ok((name.clone(), row.get(1 + 2 * index)?, row.get(2 + 2 * index)?))
            };
            let columns = names.iter().enumerate().map(sums).collect::<rusqlite::Result<_>>()?;
            Ok(Sums { rows: row.get::<_, i64>(0)?.cast_unsigned(), columns })
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::lines;

    #[test]
    fn the_ratios_of_a_round_decide_which_claims_about_exports_are_met() {
        let laps = [
            ("shell-csv", 20.0),
            ("csv", 2.0),
            ("shell-json", 19.0),
            ("ndjson", 2.0),
            ("adbc", 12.0),
            ("parquet", 1.0),
        ];
        let verdicts: Vec<bool> = lines(RATIOS, laps).iter().map(|line| line.ends_with("| met |")).collect();
        assert_eq!(verdicts, [true, false, true]);
    }

    #[test]
    fn the_sums_of_two_databases_differ_if_a_value_differs() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, rows: &str| {
            let file = folder.path().join(name);
            let sql = format!("CREATE TABLE lineitem (a REAL, b TEXT); INSERT INTO lineitem VALUES {rows}");
            open(&file, &sql).unwrap();
            Sums::of(&file).unwrap()
        };
        let all = make("1.db", "(1.5, 'x'), (2, 'abc')");
        assert_eq!(all, make("2.db", "(1.5, 'x'), (2, 'abc')"));
        for (name, rows) in [
            ("3.db", "(1.5, 'x')"),
            ("4.db", "(1.25, 'x'), (2, 'abc')"),
            ("5.db", "(1.5, 'y'), (2, 'abc')"),
            ("6.db", "(1.5, 'x'), (2, 'ab')"),
        ] {
            assert_ne!(all, make(name, rows), "{rows}");
        }
    }
}
