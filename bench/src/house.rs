//! The frame of a comparison: it describes machine and program, creates a folder for files, runs laps, prints tables and writes the record.
//!
//! ```text
//!  Start ── the machine, the program, the programs it is compared with
//!    └─ House ── also a folder for files ── laps in rounds ──> tables, ratios ──> a record in JSON
//! ```

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqluice_lab::record::{Experiment, Outcome, Provenance, Run, Variant};

use crate::lap::spread;
use crate::machine::{self, Machine};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared, Ratio};
use crate::rounds::{Round, Way, laps};
use crate::scratch::{Scratch, remove};
use crate::shell::version_of;
use crate::sqluice::Sqluice;

/// A comparison that has no files yet.
#[derive(Debug)]
pub struct Start<'a> {
    /// The runner of laps.
    pub runner: &'a Runner,
    /// The options.
    pub options: &'a Options,
    /// The measured program.
    pub sqluice: Sqluice<'a>,
    /// The measured machine.
    pub machine: Machine,
    /// The other programs in the comparison, with their versions, for the record.
    pub beside: Vec<String>,
    /// The time of the start, as in `2026-11-22T03:16:00Z`.
    pub taken: String,
    /// The version of the measured program.
    pub version: String,
    begun: Instant,
}

impl<'a> Start<'a> {
    /// Creates the parent folder of the files, and finds out about the machine and the program.
    ///
    /// # Errors
    /// When the program does not run, or the folder can't be created.
    pub fn new(options: &'a Options, runner: &'a Runner) -> anyhow::Result<Start<'a>> {
        let dir = options.dir();
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let sqluice = Sqluice::new(runner, options.sqluice()?);
        let version = sqluice.version()?;
        let (machine, taken) = (Machine::here(&dir), machine::now());
        Ok(Start {
            runner,
            options,
            sqluice,
            machine,
            beside: Vec::new(),
            taken,
            version,
            begun: Instant::now(),
        })
    }

    /// Records the version of the shell `sqlite3` as the version of SQLite, for a comparison whose laps of SQLite run in the shell.
    ///
    /// # Errors
    /// When the shell does not run.
    pub fn with_shell(mut self) -> anyhow::Result<Start<'a>> {
        let said = version_of(self.runner, &self.options.programs.sqlite3)?;
        self.machine.facts.sqlite = said.split_whitespace().next().unwrap_or("unknown").to_owned();
        Ok(self)
    }

    /// Prints the machine and the program.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn introduce(&self) -> anyhow::Result<()> {
        say(&format!("machine: {}\nprogram: {}\n", self.machine, self.version))
    }

    /// Creates a folder for files that take at most `bytes` bytes.
    ///
    /// # Errors
    /// When the folder can't be created, or the disk has no room for the files.
    pub fn house(self, bytes: u64) -> anyhow::Result<House<'a>> {
        let scratch = Scratch::new(&self.options.dir(), bytes)?;
        Ok(House { start: self, scratch })
    }
}

/// A comparison with a folder for its files. The folder is removed when this is dropped.
#[derive(Debug)]
pub struct House<'a> {
    start: Start<'a>,
    scratch: Scratch,
}

impl<'a> std::ops::Deref for House<'a> {
    type Target = Start<'a>;

    fn deref(&self) -> &Start<'a> {
        &self.start
    }
}

/// The record of a run in JSON. It has all fields of a record of the lab, whose reports can show it, and fields of comparisons.
#[derive(Debug, Serialize)]
struct Record<'a> {
    benchmark: &'static str,
    #[serde(flatten)]
    run: Run,
    commit: &'a str,
    input: &'a Value,
    beside: &'a [String],
    rounds: &'a [Round],
    ratios: &'a [Ratio],
    /// The printed tables, in Markdown.
    report: &'a str,
}

/// A comparison whose laps all ran.
#[derive(Debug)]
pub struct Finished {
    /// The name of the comparison.
    pub benchmark: &'static str,
    /// The command that ran it.
    pub command: String,
    /// The time of its start, as in `2026-11-22T03:16:00Z`.
    pub taken: String,
    /// Its duration in seconds.
    pub seconds: f64,
    /// The version of the measured program.
    pub version: String,
    /// The measured machine.
    pub machine: Machine,
    /// The other programs, with their versions.
    pub beside: Vec<String>,
    /// The description of the input.
    pub input: Value,
    /// The parts of the comparison, as experiments of the lab.
    pub experiments: Vec<Experiment>,
    /// The laps of each round.
    pub rounds: Vec<Round>,
    /// The ratios within a round.
    pub ratios: Vec<Ratio>,
    /// The tables, in Markdown.
    pub tables: String,
}

impl Finished {
    /// Returns the tables and ratios in Markdown.
    pub fn report(&self) -> String {
        let mut report = self.tables.trim().to_owned() + "\n";
        if !self.ratios.is_empty() {
            report += &format!("\n{}", ratio::table(&self.ratios));
        }
        report
    }

    /// Prints the tables and ratios, and saves the record in the folder `results`.
    ///
    /// # Errors
    /// When standard output is closed, or the record can't be written.
    pub fn save(self, results: &Path) -> anyhow::Result<()> {
        let report = self.report();
        let Finished {
            benchmark,
            command,
            taken,
            seconds,
            version,
            machine,
            beside,
            input,
            experiments,
            rounds,
            ratios,
            ..
        } = self;
        let mut text = format!("\n{report}\nmachine: {machine}\nprogram: {version}\n");
        if !beside.is_empty() {
            text += &format!("beside: {}\n", beside.join("; "));
        }
        let file = results.join(format!("{benchmark}-{}.json", taken.replace(':', "")));
        let run = Run {
            taken,
            sqluice: version,
            machine: machine.facts,
            scale: input.to_string(),
            runs: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
            warmup: 0,
            command,
            seconds,
            interrupted: false,
            experiments,
        };
        let record = Record {
            benchmark,
            run,
            commit: &machine.commit,
            input: &input,
            beside: &beside,
            rounds: &rounds,
            ratios: &ratios,
            report: &report,
        };
        let json = serde_json::to_string_pretty(&record)? + "\n";
        std::fs::create_dir_all(results)
            .and_then(|()| std::fs::write(&file, json))
            .with_context(|| format!("cannot write {}", file.display()))?;
        say(&format!("{text}record: {}\n", file.display()))
    }
}

impl<'a> House<'a> {
    /// Starts a comparison whose files take at most `bytes` bytes, and prints the machine and the program.
    ///
    /// # Errors
    /// When the program does not run, a folder can't be created, or the disk has no room for the files.
    pub fn open(options: &'a Options, runner: &'a Runner, bytes: u64) -> anyhow::Result<House<'a>> {
        let house = Start::new(options, runner)?.house(bytes)?;
        house.introduce()?;
        Ok(house)
    }

    /// Returns the folder for files.
    pub fn folder(&self) -> &Path {
        self.scratch.folder()
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.scratch.file(name)
    }

    /// Writes a text to a file in the folder.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let file = self.file(name);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }

    /// Removes a file of the folder, if it exists.
    ///
    /// # Errors
    /// When the file can't be removed.
    pub fn remove(&self, name: &str) -> anyhow::Result<()> {
        Ok(remove(&self.file(name))?)
    }

    /// Runs a lap of this program in its own process.
    ///
    /// # Errors
    /// When the lap fails.
    pub fn own(&self, words: &[impl AsRef<OsStr>]) -> anyhow::Result<Took> {
        self.runner.own(words, self.folder())
    }

    /// Runs a lap of this program in its own process, and parses the result that it prints.
    ///
    /// # Errors
    /// When the lap fails, or prints something else than a `T` as JSON.
    pub fn asked<T: DeserializeOwned>(&self, words: &[impl AsRef<OsStr>]) -> anyhow::Result<(Took, T)> {
        let took = self.own(words)?;
        let said = serde_json::from_str(&took.stdout).context("a lap reports JSON")?;
        Ok((took, said))
    }

    /// Runs `sqluice generate` for a preset with this number of rows.
    ///
    /// # Errors
    /// When sqluice fails.
    pub fn preset(&self, preset: &str, rows: u64, target: &Path) -> anyhow::Result<Took> {
        self.sqluice.run(&crate::words!["generate", target, "--preset", preset, "--rows", rows])
    }

    /// Runs `sqluice load` with the flags `more`, and returns its time and the write paths of its tables.
    ///
    /// # Errors
    /// When sqluice fails, or reports another number of rows.
    pub fn load(
        &self,
        target: &Path,
        source: &Path,
        rows: u64,
        more: &[OsString],
    ) -> anyhow::Result<(Took, Option<String>)> {
        let words = [&crate::words!["load", target, source], more].concat();
        let (took, report) = self.sqluice.write(&words, rows)?;
        Ok((took, Some(report.write_paths())))
    }

    /// Prints the tables and ratios, and saves the record. `input` describes the input in the record.
    ///
    /// # Errors
    /// When standard output is closed, or the record can't be written.
    pub fn finish<T, R>(
        &self,
        benchmark: &'static str,
        input: Value,
        ways: &[Way<T, R>],
        rounds: &[Round],
        ratios: &[Compared],
        tables: &str,
    ) -> anyhow::Result<()> {
        let Start { machine, version, taken, beside, .. } = &self.start;
        let finished = Finished {
            benchmark,
            // Scripts in `bench` run this program, each with its own name as the first argument.
            command: format!("bench/{}", std::env::args().skip(1).collect::<Vec<_>>().join(" ")),
            taken: taken.clone(),
            seconds: self.begun.elapsed().as_secs_f64(),
            version: version.clone(),
            machine: machine.clone(),
            beside: beside.clone(),
            input,
            experiments: experiments(benchmark, ways, rounds),
            rounds: rounds.to_vec(),
            ratios: Ratio::all(ratios, rounds),
            tables: tables.to_owned(),
        };
        finished.save(&self.options.results())
    }
}

/// Converts each part of a comparison to an experiment in the lab's record.
pub fn experiments<T, R>(benchmark: &str, ways: &[Way<T, R>], rounds: &[Round]) -> Vec<Experiment> {
    let mut experiments: Vec<Experiment> = Vec::new();
    for way in ways {
        let laps = laps(rounds, way.name);
        let Some(first) = laps.first() else { continue };
        let id = if way.part.is_empty() { benchmark.to_owned() } else { format!("{benchmark}-{}", way.part) };
        if experiments.last().is_none_or(|last| last.id != id) {
            experiments.push(Experiment {
                id,
                source: format!("make bench-{benchmark}"),
                what: "Seconds of each way.".to_owned(),
                unit: "s".to_owned(),
                more_is_better: false,
                count: first.rows,
                published_count: None,
                variants: Vec::new(),
                notes: Vec::new(),
            });
        }
        let seconds: Vec<f64> = laps.iter().map(|lap| lap.seconds).collect();
        let also = BTreeMap::from([
            ("processor_seconds".to_owned(), spread(&laps, |lap| lap.cpu_seconds).median),
            ("peak_memory_bytes".to_owned(), spread(&laps, |lap| lap.memory_bytes as f64).max),
        ]);
        let ours = way.title.contains("sqluice") || way.title.contains("BlobStore");
        let variant = Variant {
            name: way.title.replace('`', ""),
            provenance: if ours { Provenance::Sqluice } else { Provenance::Added },
            published: None,
            published_note: None,
            settings: Vec::new(),
            command: way.name.to_owned(),
            outcome: Outcome::Measured { samples: seconds.clone(), seconds, also },
        };
        if let Some(last) = experiments.last_mut() {
            last.variants.push(variant);
        }
    }
    experiments
}

/// Converts the result of a lap to JSON.
///
/// # Errors
/// When the result can't be converted.
pub fn said(value: impl Serialize) -> anyhow::Result<Value> {
    Ok(serde_json::to_value(value)?)
}
