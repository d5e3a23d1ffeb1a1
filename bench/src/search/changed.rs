//! Full-text indexes that change: rows added to a table, and segments merged.
//!
//! ```text
//!  append     appended   sqluice load --append of 1% more rows, whose table has an index that triggers keep up to date
//!             plain      the same without an index
//!             alone      sqluice index --fts over these rows alone
//!             many       64 such loads, one after another
//!  optimize   merged     sqluice index --fts-optimize of 200 segments
//!             optimized  FTS5's 'optimize' of the same, 64 MiB of cache
//! ```

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use rusqlite::Connection;
use serde::Serialize;

use super::data::Texts;
use super::laps::Found;
use super::{Case, FTS, Record, Settings};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared, Ratio};
use crate::rounds::{self, Round};
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{UNSAFE_PRAGMAS, copy, grouped, sync, warm};

/// The number of loads, one after another.
const MANY: u64 = 64;

/// The number of segments that are merged.
const SEGMENTS: u64 = 200;

/// A way to change an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Appended,
    Plain,
    Alone,
    Many,
    Merged,
    Optimized,
}

impl Way {
    fn all(case: Case) -> &'static [Way] {
        match case {
            Case::Append => &[Way::Appended, Way::Plain, Way::Alone, Way::Many],
            _ => &[Way::Merged, Way::Optimized],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Way::Appended => "appended",
            Way::Plain => "plain",
            Way::Alone => "alone",
            Way::Many => "many",
            Way::Merged => "merged",
            Way::Optimized => "optimized",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Way::Appended => "`sqluice load --append` of 1% more rows, with a full-text index",
            Way::Plain => "the same without one",
            Way::Alone => "`sqluice index --fts` over these rows alone",
            Way::Many => "64 loads of 1%, one after another, with a full-text index",
            Way::Merged => "`sqluice index --fts-optimize`, 200 segments, durable",
            Way::Optimized => "FTS5, `optimize`; not durable",
        }
    }
}

/// Returns the ratios and the claims about them.
fn compared(case: Case) -> Vec<Compared<Round<Way>>> {
    match case {
        Case::Append => vec![
            Compared {
                what: "what the index adds to a load, to indexing the rows alone",
                ratio: |round| {
                    let seconds = |way| Some(round.get(&way)?.seconds);
                    Some((seconds(Way::Appended)? - seconds(Way::Plain)?) / seconds(Way::Alone)?)
                },
                claim: Some(("at most 1.5", 0.0..=1.5)),
            },
            Compared {
                what: "the same, mean of 64 loads",
                ratio: |round| {
                    let seconds = |way| Some(round.get(&way)?.seconds);
                    let mean = seconds(Way::Many)? / MANY as f64;
                    Some((mean - seconds(Way::Plain)?) / seconds(Way::Alone)?)
                },
                claim: None,
            },
        ],
        _ => vec![Compared {
            what: "time of FTS5's `optimize` to sqluice",
            ratio: |round| rounds::seconds(round, Way::Optimized, Way::Merged),
            claim: Some(("at least 5", 5.0..=f64::INFINITY)),
        }],
    }
}

/// Runs the comparison, prints the results and saves the record.
pub(super) fn run(settings: &Settings, runner: &Runner, bytes: u64) -> anyhow::Result<()> {
    let options = &settings.options;
    let case = settings.case;
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let scratch = Scratch::new(&options.dir(), 8 * bytes)?;
    let machine = Machine::here(scratch.folder());
    let (taken, version) = (machine::now(), sqluice.version()?);
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let track = Track { runner, sqluice, scratch: &scratch };
    let rows = track.prepare(case, bytes)?;
    say(&format!("input: {} rows, {} bytes of text\n", grouped(rows), grouped(bytes)))?;
    let rounds = rounds::rounds(options.rounds, Way::all(case), |way| track.lap(way, rows))?;
    let ratios = Ratio::all(&compared(case), &rounds);
    let table = rounds::table(Way::all(case), Way::title, &rounds);
    let ratios_table = ratio::table(&ratios);
    let record =
        Record { benchmark: "search", taken, sqluice: version, machine, case, bytes, rows, rounds, ratios };
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    let Record { machine, sqluice, .. } = &record;
    say(&format!(
        "\n{table}\n{ratios_table}\nmachine: {machine}\nprogram: {sqluice}\nrecord: {}\n",
        saved.display()
    ))
}

/// Makes an index of many segments by FTS5: one for each transaction.
pub(super) fn segments(file: &Path, rows: u64) -> anyhow::Result<()> {
    let connection = Connection::open(file)?;
    connection.execute_batch(&format!(
        "{UNSAFE_PRAGMAS} {FTS};
         INSERT INTO docs_fts(docs_fts, rank) VALUES ('automerge', 0), ('crisismerge', 1999)"
    ))?;
    let each = rows.div_ceil(SEGMENTS);
    for number in 0..SEGMENTS {
        connection.execute(
            "INSERT INTO docs_fts(rowid, body) SELECT id, body FROM docs WHERE id > ?1 AND id <= ?2",
            [(number * each) as i64, ((number + 1) * each) as i64],
        )?;
    }
    connection.close().map_err(|(_, error)| error)?;
    sync(file)
}

/// Merges the segments of a full-text index by FTS5.
pub(super) fn optimize(file: &Path) -> anyhow::Result<()> {
    let connection = Connection::open(file)?;
    connection.execute_batch(&format!(
        "{UNSAFE_PRAGMAS}
         PRAGMA cache_size = -65536;
         INSERT INTO docs_fts(docs_fts) VALUES ('optimize')"
    ))?;
    connection.close().map_err(|(_, error)| error)?;
    sync(file)
}

/// The data that all laps share.
struct Track<'a> {
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
}

impl Track<'_> {
    fn part(&self, number: u64) -> PathBuf {
        self.scratch.file(&format!("part{number}.csv"))
    }

    /// Writes the databases and the rows to add. Returns the number of rows of the table.
    fn prepare(&self, case: Case, bytes: u64) -> anyhow::Result<u64> {
        let plain = self.scratch.file("plain.db");
        let rows = Texts::Prose.written(bytes, &plain, self.runner, self.scratch)?;
        let base = self.scratch.file("base.db");
        copy(&plain, &base)?;
        if case == Case::Append {
            self.index(&base, &["--triggers"])?;
            let each = rows.div_ceil(100);
            for number in 0..MANY {
                Texts::Prose
                    .write_csv(rows + number * each..rows + (number + 1) * each, &self.part(number))?;
            }
            let alone = self.scratch.file("part.db");
            let part = self.part(0);
            let load = ["load".as_ref(), alone.as_os_str(), part.as_os_str()];
            self.sqluice
                .run(&[&load[..], &["--table", "docs", "--primary-key", "id"].map(OsStr::new)].concat())?;
        } else {
            let rows = rows.to_string();
            let arguments = ["segments".as_ref(), base.as_os_str(), rows.as_ref()];
            self.runner.own(&arguments, self.scratch.folder())?;
        }
        sync(&base)?;
        Ok(rows)
    }

    fn index(&self, database: &Path, flags: &[&str]) -> anyhow::Result<Took> {
        let arguments = ["index".as_ref(), database.as_os_str(), "--fts".as_ref(), "docs(body)".as_ref()];
        let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
        self.sqluice.run(&[&arguments[..], &flags].concat())
    }

    fn append(&self, database: &Path, number: u64) -> anyhow::Result<Took> {
        let part = self.part(number);
        warm(&part)?;
        let arguments = ["load".as_ref(), database.as_os_str(), part.as_os_str()];
        let flags = ["--table", "docs", "--append"].map(OsStr::new);
        self.sqluice.run(&[&arguments[..], &flags].concat())
    }

    fn lap(&self, way: Way, rows: u64) -> anyhow::Result<Lap> {
        let target = self.scratch.file("search.db");
        let source = match way {
            Way::Plain => "plain.db",
            Way::Alone => "part.db",
            _ => "base.db",
        };
        copy(&self.scratch.file(source), &target)?;
        let each = rows.div_ceil(100);
        let (took, changed) = match way {
            Way::Appended | Way::Plain => (self.append(&target, 0)?, each),
            Way::Alone => (self.index(&target, &[])?, each),
            Way::Many => {
                let mut all = self.append(&target, 0)?;
                for number in 1..MANY {
                    let took = self.append(&target, number)?;
                    all.seconds += took.seconds;
                    all.cpu_seconds += took.cpu_seconds;
                    all.memory_bytes = all.memory_bytes.max(took.memory_bytes);
                }
                (all, MANY * each)
            }
            Way::Merged => {
                let arguments =
                    ["index".as_ref(), target.as_os_str(), "--fts-optimize".as_ref(), "docs_fts".as_ref()];
                (self.sqluice.run(&arguments)?, rows)
            }
            Way::Optimized => {
                let arguments = ["optimize".as_ref(), target.as_os_str()];
                (self.runner.own(&arguments, self.scratch.folder())?, rows)
            }
        };
        let bytes = target.metadata().context("there is a file")?.len();
        let expected = match way {
            Way::Appended => rows + each,
            Way::Many => rows + MANY * each,
            Way::Alone => each,
            _ => rows,
        };
        Lap::new(&took, changed, bytes, None).verified(way.name(), || {
            if way != Way::Plain {
                let found = Found::of(&target)?;
                ensure!(found.rows == expected, "{found:?} instead of {expected} rows");
            }
            Ok(remove(&target)?)
        })
    }
}
