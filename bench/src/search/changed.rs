//! Changes of full-text indexes: rows are added to a table with an index, and the segments of an index are merged.
//!
//! ```text
//!  append     appended   sqluice load --append of 1% more rows, whose table has an index that triggers keep up to date
//!             plain      these rows appended to a table without an index
//!             alone      sqluice index --fts of a table with only these rows
//!             many       64 loads like `appended`, one after another
//!  optimize   merged     sqluice index --fts-optimize of 200 segments
//!             optimized  FTS5's 'optimize' of the same index, 64 MiB of cache
//! ```

use std::path::{Path, PathBuf};

use anyhow::ensure;
use serde_json::json;

use super::data::Texts;
use super::laps::Found;
use super::{Case, FTS, Settings, TARGET};
use crate::db::{close, numbers, open};
use crate::house::House;
use crate::lap::{Lap, USUAL};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Round, Way, rounds, table, way};
use crate::{UNSAFE_PRAGMAS, copy, grouped, size, sync, warm, words};

/// The number of loads in the way `many`.
const MANY: u64 = 64;

/// The number of segments that are merged.
const SEGMENTS: u64 = 200;

/// Returns the ways of a case. The field `part` of each way is the name of the database that its laps copy.
fn ways<'a>(case: Case) -> Vec<Way<Track<'a>, anyhow::Result<Took>>> {
    if case == Case::Append {
        return vec![
            way(
                "base",
                "appended",
                "`sqluice load --append` of 1% more rows, with a full-text index",
                |track| track.append(0),
            ),
            way("plain", "plain", "the same without one", |track| track.append(0)),
            way("part", "alone", "`sqluice index --fts` over these rows alone", |track| {
                track.index(&track.house.file(TARGET), &[])
            }),
            way("base", "many", "64 loads of 1%, one after another, with a full-text index", |track| {
                (1..MANY).try_fold(track.append(0)?, |took, number| Ok(took.then(track.append(number)?)))
            }),
        ];
    }
    vec![
        way("base", "merged", "`sqluice index --fts-optimize`, 200 segments, durable", |track| {
            let words = words!["index", track.house.file(TARGET), "--fts-optimize", "docs_fts"];
            track.house.sqluice.run(&words)
        }),
        way("base", "optimized", "FTS5, `optimize`; not durable", |track| {
            track.house.own(&words!["optimize", track.house.file(TARGET)])
        }),
    ]
}

const RATIOS: &[Compared] = &[
    (
        "what the index adds to a load, to indexing the rows alone",
        |round| added(round, "appended", 1),
        "at most 1.5",
    ),
    ("the same, mean of 64 loads", |round| added(round, "many", MANY), ""),
    ("time of FTS5's `optimize` to sqluice", |round| ratio::time(round, "optimized", "merged"), "at least 5"),
];

fn added(round: &Round, way: &str, loads: u64) -> Option<f64> {
    let seconds = |way| Some(round.get(way)?.seconds);
    Some((seconds(way)? / loads as f64 - seconds("plain")?) / seconds("alone")?)
}

/// Runs the comparison, prints the results and saves the record.
pub(super) fn run(settings: &Settings, runner: &Runner, bytes: u64) -> anyhow::Result<()> {
    let case = settings.case;
    let house = House::open(&settings.options, runner, 8 * bytes)?;
    let mut track = Track { house: &house };
    let rows = track.prepare(case, bytes)?;
    say(&format!("input: {} rows, {} bytes of text\n", grouped(rows), grouped(bytes)))?;
    let each = rows.div_ceil(100);
    let ways = ways(case);
    let rounds = rounds(settings.options.rounds, &ways, |way, _| {
        let target = house.file(TARGET);
        copy(&house.file(&format!("{}.db", way.part)), &target)?;
        let took = (way.run)(&mut track)?;
        let (changed, expected) = match way.name {
            "appended" | "plain" => (each, rows + each),
            "alone" => (each, each),
            "many" => (MANY * each, rows + MANY * each),
            _ => (rows, rows),
        };
        let lap = Lap::new(&took, changed, size(&target)?, None).verified(way.name, || {
            if way.name != "plain" {
                let found = Found::of(&target)?;
                ensure!(found.rows == expected, "{found:?} instead of {expected} rows");
            }
            house.remove(TARGET)
        });
        lap.map(Some)
    })?;
    let facts = json!({ "case": case, "bytes": bytes, "rows": rows });
    let text = table("", &USUAL, &ways, &rounds);
    house.finish("search", facts, &ways, &rounds, RATIOS, &text)
}

/// Creates an index with [`SEGMENTS`] segments with FTS5, which writes one in each transaction whose terms fit into its hash table.
pub(super) fn segments(file: &Path, rows: u64) -> anyhow::Result<()> {
    let sql = format!(
        "{UNSAFE_PRAGMAS} {FTS};
         INSERT INTO docs_fts(docs_fts, rank) VALUES ('automerge', 0), ('crisismerge', 1999), ('hashsize', {})",
        256 << 20
    );
    let connection = open(file, &sql)?;
    let each = rows.div_ceil(SEGMENTS);
    for number in 0..SEGMENTS {
        connection.execute(
            "INSERT INTO docs_fts(rowid, body) SELECT id, body FROM docs WHERE id > ?1 AND id <= ?2",
            [(number * each) as i64, ((number + 1) * each) as i64],
        )?;
    }
    let found = numbers(&connection, "SELECT count(DISTINCT segid) FROM docs_fts_idx")?;
    // A small table has rows for fewer transactions.
    let made = rows.div_ceil(each);
    ensure!(found == [made.cast_signed()], "an index has {found:?} segments instead of {made}");
    close(connection, file)
}

/// Merges the segments of a full-text index with FTS5.
pub(super) fn optimize(file: &Path) -> anyhow::Result<()> {
    let sql = format!(
        "{UNSAFE_PRAGMAS}
         PRAGMA cache_size = -65536;
         INSERT INTO docs_fts(docs_fts) VALUES ('optimize')"
    );
    let connection = open(file, &sql)?;
    close(connection, file)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
}

impl Track<'_> {
    fn part(&self, number: u64) -> PathBuf {
        self.house.file(&format!("part{number}.csv"))
    }

    fn prepare(&self, case: Case, bytes: u64) -> anyhow::Result<u64> {
        let rows = Texts::Prose.written(bytes, self.house, "plain.db")?;
        let base = self.house.file("base.db");
        copy(&self.house.file("plain.db"), &base)?;
        if case == Case::Append {
            self.index(&base, &["--triggers"])?;
            let each = rows.div_ceil(100);
            for number in 0..MANY {
                let rows = rows + number * each..rows + (number + 1) * each;
                Texts::Prose.write_csv(rows, &self.part(number))?;
            }
            let load = words!["load", self.house.file("part.db"), self.part(0)];
            let table = words!["--table", "docs", "--primary-key", "id"];
            self.house.sqluice.run(&[&load[..], &table].concat())?;
        } else {
            self.house.own(&words!["segments", base, rows])?;
        }
        sync(&base)?;
        Ok(rows)
    }

    fn index(&self, database: &Path, more: &[&str]) -> anyhow::Result<Took> {
        let words = words!["index", database, "--fts", "docs(body)"].into_iter();
        self.house.sqluice.run(&words.chain(more.iter().map(Into::into)).collect::<Vec<_>>())
    }

    fn append(&self, number: u64) -> anyhow::Result<Took> {
        let part = self.part(number);
        warm(&part)?;
        self.house.sqluice.run(&words!["load", self.house.file(TARGET), part, "--table", "docs", "--append"])
    }
}
