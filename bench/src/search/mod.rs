//! Full-text indexes of an existing table: `sqluice index --fts` compared with FTS5's own ways.
//!
//! ```text
//!  sqluice    sqluice index --fts, 256 MiB of memory
//!  tenth      the same over a tenth of the rows: the CPU time of a row must hardly grow with the table (at most 1.3 times)
//!  best       FTS5's fastest way: no journal, no syncs, no automatic merges, 192 MiB of hash table, 'rebuild', 'optimize', 64 MiB of cache
//!  defaults   FTS5's defaults: 'rebuild'
//! ```
//!
//! The module `changed` measures indexes that change: rows added to a table, and segments merged.
//!
//! Every second round runs in reverse order. Each lap begins with a copy of the table that is in the page cache, and ends with a synced file.
//! All indexes of the same texts must have the same terms, rows and occurrences.

mod changed;
mod data;
mod laps;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

use self::data::Texts;
use self::laps::Found;
use crate::db::First;
use crate::house::{House, said};
use crate::lap::{Lap, USUAL};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Way, rounds, table, way};
use crate::words::Words;
use crate::{copy, count, grouped, size, words};

/// The memory of `sqluice index`, in bytes.
const MEMORY_BYTES: u64 = 256 << 20;

/// A full-text index of the table.
const FTS: &str = "CREATE VIRTUAL TABLE docs_fts USING fts5(body, content='docs', content_rowid='id')";

/// The memory of `sqluice` apart from that for the index, in bytes. It is subtracted before the peak memory is compared with the limit.
const PROGRAM_BYTES: f64 = 48e6;

/// The command line of the comparison of full-text indexes.
#[derive(Clone, Debug, Args)]
#[command(about = "Compares building full-text indexes with FTS5, in alternating rounds")]
pub struct Settings {
    /// The texts and the tokenizer, or what changes an index
    #[arg(long, value_enum, default_value_t = Case::Unicode61)]
    case: Case,
    /// Bytes of text [default: 2G, of URLs 200M]
    #[arg(long, value_name = "N", value_parser = count)]
    bytes: Option<u64>,
    #[command(flatten)]
    options: Options,
}

/// The case that is measured: texts and a tokenizer, or a change of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Case {
    /// Prose, FTS5's default tokenizer
    Unicode61,
    /// Prose, English word stems
    Porter,
    /// Prose, three characters at a time
    Trigram,
    /// Documents of about 50 bytes
    Short,
    /// A distinct URL in each row
    Urls,
    /// Prose, rows added to a table with an index
    Append,
    /// Prose, an index of 200 segments
    Optimize,
}

impl Case {
    fn texts(self) -> Texts {
        match self {
            Case::Short => Texts::Short,
            Case::Urls => Texts::Urls,
            _ => Texts::Prose,
        }
    }

    fn tokenizer(self) -> &'static str {
        match self {
            Case::Porter => "porter",
            Case::Trigram => "trigram",
            _ => "unicode61",
        }
    }

    fn compared(self) -> Vec<Compared> {
        let (best, defaults, cpu) = match self {
            Case::Unicode61 | Case::Porter => ("at least 4", "at least 5", "at least 2.4"),
            Case::Trigram => ("at least 3", "", ""),
            _ => ("", "", ""),
        };
        vec![
            (
                "processor time of FTS5's best way to sqluice",
                |round| ratio::processors(round, "best", "sqluice"),
                cpu,
            ),
            ("time of FTS5's best way to sqluice", |round| ratio::time(round, "best", "sqluice"), best),
            (
                "time of FTS5's defaults to sqluice",
                |round| ratio::time(round, "defaults", "sqluice"),
                defaults,
            ),
            (
                "processor time of a row to one among a tenth of the rows",
                |round| ratio::ratio(round, "sqluice", "tenth", |lap| lap.cpu_seconds / lap.rows as f64),
                "at most 1.3",
            ),
            (
                "memory beside the program to 256 MiB",
                |round| {
                    let lap = round.get("sqluice")?;
                    Some((lap.memory_bytes as f64 - PROGRAM_BYTES) / MEMORY_BYTES as f64)
                },
                "at most 1",
            ),
        ]
    }
}

fn ways<'a>() -> Vec<Way<Track<'a>, anyhow::Result<Took>>> {
    vec![
        way("all", "sqluice", "`sqluice index --fts`, durable", Track::index),
        way("tenth", "tenth", "the same, a tenth of the rows", Track::index),
        way(
            "all",
            "best",
            "FTS5, `automerge` 0, `hashsize` 192 MiB, `rebuild`, `optimize`; not durable",
            |track| track.fts5("best"),
        ),
        way("all", "defaults", "FTS5, defaults, `rebuild`", |track| track.fts5("defaults")),
    ]
}

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    let file = words.path()?;
    match name {
        "fts5" => said(laps::fts5(&words.take::<String>()?, &words.take::<String>()?, &file)?),
        "write" => said(Texts::named(&words.take::<String>()?)?.write(words.take()?, &file)?),
        "segments" => said(changed::segments(&file, words.take()?)?),
        "optimize" => said(changed::optimize(&file)?),
        _ => said(Found::of(&file)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or an index has other terms than another.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let case = settings.case;
    let usual = if case == Case::Urls { 200_000_000 } else { 2_000_000_000 };
    let bytes = settings.bytes.unwrap_or(usual);
    if matches!(case, Case::Append | Case::Optimize) {
        return changed::run(settings, runner, bytes);
    }
    // The disk space is enough for the table, a copy of it with an index, and temporary files.
    let house = House::open(&settings.options, runner, 5 * bytes)?;
    let write = |bytes: u64, part: &str| case.texts().written(bytes, &house, &format!("{part}.db"));
    let (rows, tenth) = (write(bytes, "all")?, write(bytes / 10, "tenth")?);
    say(&format!("input: {} rows, {} bytes of text\n", grouped(rows), grouped(bytes)))?;
    let mut track = Track { house: &house, case, found: First::default() };
    let ways = ways();
    let rounds = rounds(settings.options.rounds, &ways, |way, _| {
        let target = track.target();
        copy(&house.file(&format!("{}.db", way.part)), &target)?;
        let took = (way.run)(&mut track)?;
        let rows = if way.part == "tenth" { tenth } else { rows };
        let lap = Lap::new(&took, rows, size(&target)?, None).verified(way.name, || {
            track.verify(way.part, rows).with_context(|| format!("the index of {:?}", way.name))?;
            house.remove(TARGET)
        });
        lap.map(Some)
    })?;
    let facts = json!({ "case": case, "bytes": bytes, "rows": rows });
    let text = table("", &USUAL, &ways, &rounds);
    house.finish("search", facts, &ways, &rounds, &case.compared(), &text)
}

/// The database of a lap.
const TARGET: &str = "search.db";

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    case: Case,
    /// The content of the first index of all rows, and of the first index of a tenth of them. Later indexes must have the same content.
    found: First<&'static str, Found>,
}

impl Track<'_> {
    fn target(&self) -> PathBuf {
        self.house.file(TARGET)
    }

    fn index(&mut self) -> anyhow::Result<Took> {
        let tokenizer = self.case.tokenizer();
        let words = words!["index", self.target(), "--fts", "docs(body)", "--tokenize", tokenizer];
        self.house.sqluice.run(&[&words[..], &words!["--memory", MEMORY_BYTES]].concat())
    }

    fn fts5(&mut self, how: &str) -> anyhow::Result<Took> {
        self.house.own(&words!["fts5", self.target(), how, self.case.tokenizer()])
    }

    fn verify(&mut self, part: &'static str, rows: u64) -> anyhow::Result<()> {
        let (_, found): (_, Found) = self.house.asked(&words!["verify", self.target()])?;
        ensure!(found.rows == rows, "{found:?} instead of {rows} rows");
        self.found.same(part, found)
    }
}
