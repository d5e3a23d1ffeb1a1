//! Full-text indexes of an existing table: `sqluice index --fts` compared with FTS5's own ways.
//!
//! ```text
//!  sqluice    sqluice index --fts, 256 MiB of memory
//!  tenth      the same over a tenth of the bytes: the cost of a row
//!  best       FTS5's best way: no automatic merges, a hash table of 192 MiB, 'rebuild', then 'optimize', 64 MiB of cache
//!  defaults   FTS5's defaults: 'rebuild'
//! ```
//!
//! Rows added to a table, and segments merged: `changed`.
//!
//! Every second round runs in reverse order. Each lap begins with a copy of the table that is in the page cache, and ends with a synced file.
//! All indexes of a case must have the same terms, rows and occurrences.

mod changed;
mod data;
mod laps;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use self::data::Texts;
use self::laps::{Found, Way};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::{Options, compare, ended, say};
use crate::process::Runner;
use crate::ratio::{self, Compared, Ratio};
use crate::rounds::{self, Round};
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{copy, count, grouped};

/// The memory of sqluice, which is also that of FTS5's best way, in bytes.
const MEMORY_BYTES: u64 = 256 << 20;

/// The statement that creates an index of the table.
const FTS: &str = "CREATE VIRTUAL TABLE docs_fts USING fts5(body, content='docs', content_rowid='id')";

/// The memory that the program takes beside this, in bytes.
const PROGRAM_BYTES: f64 = 48e6;

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "Full-text indexes: sqluice beside FTS5, in alternating rounds")]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<OwnLap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// The texts and the tokenizer
    #[arg(long, value_enum, default_value_t = Case::Unicode61)]
    case: Case,
    /// The bytes of all texts [default: 2G; 200M for URLs]
    #[arg(long, value_name = "N", value_parser = count)]
    bytes: Option<u64>,
    #[command(flatten)]
    options: Options,
}

/// The texts, and the tokenizer that splits them.
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

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum OwnLap {
    /// Write a table of texts, and print its number of rows
    #[command(hide = true)]
    Write { texts: Texts, bytes: u64, file: PathBuf },
    /// Make an index of many segments by FTS5
    #[command(hide = true)]
    Segments { file: PathBuf, rows: u64 },
    /// Make a full-text index by FTS5
    #[command(hide = true)]
    Fts5 { way: Way, tokenizer: String, file: PathBuf },
    /// Merge the segments of a full-text index by FTS5
    #[command(hide = true)]
    Optimize { file: PathBuf },
    /// Sum up a full-text index, as JSON
    #[command(hide = true)]
    Verify { file: PathBuf },
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

    /// Returns the ratios and the claims about them.
    fn compared(self) -> Vec<Compared<Round<Way>>> {
        let least = |least: f64, words| Some((words, least..=f64::INFINITY));
        let (best, defaults, cpu) = match self {
            Case::Unicode61 | Case::Porter => {
                (least(4.0, "at least 4"), least(5.0, "at least 5"), least(2.4, "at least 2.4"))
            }
            Case::Trigram => (least(3.0, "at least 3"), None, None),
            _ => (None, None, None),
        };
        vec![
            Compared {
                what: "processor time of FTS5's best way to sqluice",
                ratio: |round| rounds::ratio(round, Way::Best, Way::Sqluice, |lap| lap.cpu_seconds),
                claim: cpu,
            },
            Compared {
                what: "time of FTS5's best way to sqluice",
                ratio: |round| rounds::seconds(round, Way::Best, Way::Sqluice),
                claim: best,
            },
            Compared {
                what: "time of FTS5's defaults to sqluice",
                ratio: |round| rounds::seconds(round, Way::Defaults, Way::Sqluice),
                claim: defaults,
            },
            Compared {
                what: "processor time of a row to one among a tenth of the rows",
                ratio: |round| {
                    let a_row = |lap: &Lap| lap.cpu_seconds / lap.rows as f64;
                    rounds::ratio(round, Way::Sqluice, Way::Tenth, a_row)
                },
                claim: Some(("at most 1.3", 0.0..=1.3)),
            },
            Compared {
                what: "memory beside the program to 256 MiB",
                ratio: |round| {
                    let lap = round.get(&Way::Sqluice)?;
                    Some((lap.memory_bytes as f64 - PROGRAM_BYTES) / MEMORY_BYTES as f64)
                },
                claim: Some(("at most 1", f64::NEG_INFINITY..=1.0)),
            },
        ]
    }
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(OwnLap::Fts5 { way, tokenizer, file }) => laps::fts5(*way, tokenizer, file),
        Some(OwnLap::Write { texts, bytes, file }) => {
            texts.write(*bytes, file).and_then(|rows| Ok(serde_json::to_writer(io::stdout(), &rows)?))
        }
        Some(OwnLap::Segments { file, rows }) => changed::segments(file, *rows),
        Some(OwnLap::Optimize { file }) => changed::optimize(file),
        Some(OwnLap::Verify { file }) => {
            Found::of(file).and_then(|found| Ok(serde_json::to_writer(io::stdout(), &found)?))
        }
        None => return compare("search", |runner| run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}

/// The record of a run.
#[derive(Debug, Serialize)]
struct Record<W: Ord> {
    benchmark: &'static str,
    taken: String,
    sqluice: String,
    machine: Machine,
    case: Case,
    bytes: u64,
    rows: u64,
    rounds: Vec<Round<W>>,
    ratios: Vec<Ratio>,
}

/// Runs the comparison, prints the results and saves the record.
fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let options = &settings.options;
    let case = settings.case;
    let usual = if case == Case::Urls { 200_000_000 } else { 2_000_000_000 };
    let bytes = settings.bytes.unwrap_or(usual);
    if matches!(case, Case::Append | Case::Optimize) {
        return changed::run(settings, runner, bytes);
    }
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    // The table, a copy of it with an index, and temporary files.
    let scratch = Scratch::new(&options.dir(), 5 * bytes)?;
    let machine = Machine::here(scratch.folder());
    let (taken, version) = (machine::now(), sqluice.version()?);
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let mut track =
        Track { runner, sqluice, scratch: &scratch, case, rows: BTreeMap::new(), found: BTreeMap::new() };
    for (is_tenth, bytes) in [(false, bytes), (true, bytes / 10)] {
        let rows = case.texts().written(bytes, &track.table(is_tenth), runner, &scratch)?;
        track.rows.insert(is_tenth, rows);
    }
    let rows = track.rows[&false];
    say(&format!("input: {} rows, {} bytes of text\n", grouped(rows), grouped(bytes)))?;
    let rounds = rounds::rounds(options.rounds, &Way::ALL, |way| track.lap(way))?;
    let ratios = Ratio::all(&case.compared(), &rounds);
    let table = rounds::table(&Way::ALL, Way::title, &rounds);
    let benchmark = "search";
    let record = Record { benchmark, taken, sqluice: version, machine, case, bytes, rows, rounds, ratios };
    let saved = save(&record, benchmark, &record.taken, &options.results())?;
    let Record { machine, sqluice, ratios, .. } = &record;
    let ratios = ratio::table(ratios);
    say(&format!(
        "\n{table}\n{ratios}\nmachine: {machine}\nprogram: {sqluice}\nrecord: {}\n",
        saved.display()
    ))
}

/// The data that all laps share.
struct Track<'a> {
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
    case: Case,
    /// The number of rows: of the table, and of the tenth.
    rows: BTreeMap<bool, u64>,
    /// The content of the first index of the table, and of the tenth.
    found: BTreeMap<bool, Found>,
}

impl Track<'_> {
    fn table(&self, is_tenth: bool) -> PathBuf {
        self.scratch.file(if is_tenth { "tenth.db" } else { "table.db" })
    }

    fn lap(&mut self, way: Way) -> anyhow::Result<Lap> {
        let is_tenth = way == Way::Tenth;
        let target = self.scratch.file("search.db");
        copy(&self.table(is_tenth), &target)?;
        let tokenizer = self.case.tokenizer();
        let took = match way {
            Way::Sqluice | Way::Tenth => {
                let memory = MEMORY_BYTES.to_string();
                let options =
                    ["--fts", "docs(body)", "--tokenize", tokenizer, "--memory", &memory].map(OsStr::new);
                self.sqluice.run(&[&["index".as_ref(), target.as_os_str()][..], &options].concat())?
            }
            Way::Best | Way::Defaults => {
                let arguments = ["fts5", way.name(), tokenizer].map(OsStr::new);
                let arguments = [&arguments[..], &[target.as_os_str()]].concat();
                self.runner.own(&arguments, self.scratch.folder())?
            }
        };
        let bytes = target.metadata().context("there is a file")?.len();
        Lap::new(&took, self.rows[&is_tenth], bytes, None).verified(way.name(), || {
            self.verify(is_tenth, &target).with_context(|| format!("the index of {:?}", way.name()))?;
            Ok(remove(&target)?)
        })
    }

    /// Checks that an index has the same content as the others of its table.
    fn verify(&mut self, is_tenth: bool, target: &Path) -> anyhow::Result<()> {
        let arguments = ["verify".as_ref(), target.as_os_str()];
        let said = self.runner.own(&arguments, self.scratch.folder())?.stdout;
        let found: Found = serde_json::from_str(&said).context("a lap reports JSON")?;
        ensure!(found.rows == self.rows[&is_tenth], "{found:?}");
        let first = self.found.entry(is_tenth).or_insert_with(|| found.clone());
        ensure!(*first == found, "{found:?} instead of {first:?}");
        Ok(())
    }
}
