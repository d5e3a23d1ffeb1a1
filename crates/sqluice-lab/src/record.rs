//! What a run of the lab says: the only thing that the report, the advice and a comparison with another run read.
//!
//! ```text
//!  Run ── machine, SQLite, scale, runs
//!   └─ Experiment ── id, what, unit, better
//!       └─ Variant ── name, provenance, pragmas, command, published ── Outcome ── Measured: samples │ Skipped: reason │ Failed: why
//! ```
//!
//! It is JSON in a file (`--export-json`), and stays readable: fields are added, none change their meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A run of the lab, whole or cut short.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// When it began: `2026-11-22T03:16:00Z`.
    pub taken: String,
    /// The version of sqluice.
    pub sqluice: String,
    /// What it was measured on.
    pub machine: Machine,
    /// `tiny`, `small`, `medium`, `full` or a factor.
    pub scale: String,
    /// How often each variant was measured, and run before that without being measured.
    pub runs: u32,
    /// See `runs`.
    pub warmup: u32,
    /// The command line.
    pub command: String,
    /// Seconds of all of it.
    pub seconds: f64,
    /// Whether it ended before all was measured.
    pub interrupted: bool,
    /// In the order of the publications, then the questions.
    pub experiments: Vec<Experiment>,
}

/// What a run was measured on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Cores that the program may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The system and its version.
    pub kernel: String,
    /// The file system under the folder of the run.
    pub file_system: String,
    /// Its device.
    pub device: String,
    /// SQLite's version.
    pub sqlite: String,
    /// What SQLite was compiled with (`PRAGMA compile_options`).
    pub compile_options: Vec<String>,
    /// The system's `python3` and its SQLite, if there is one.
    pub python: Option<String>,
    /// Processes that ran or waited for the disk in the minute before: more than none disturb the figures.
    pub load_before: f64,
}

/// An experiment, or a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Experiment {
    /// As in the list of publications.
    pub id: String,
    /// The publication; its title and machine are in [`crate::published`].
    pub source: String,
    /// What is measured.
    pub what: String,
    /// Of all samples: `rows/s`, `s`, `ms`, `operations/s`, `bytes`, `times` (a ratio).
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Rows, operations, blobs or entities of this run, and those of the publication where it says so.
    pub count: u64,
    /// See `count`.
    pub published_count: Option<u64>,
    /// What was measured, in the order of the publication, sqluice's own ways last.
    pub variants: Vec<Variant>,
    /// What is to be known of it: where the publication errs, how this run differs from it.
    pub notes: Vec<String>,
}

/// One way to do it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variant {
    /// As published; of an added one, its own.
    pub name: String,
    /// Who proposes it.
    pub provenance: Provenance,
    /// What the publication says, in the experiment's unit; NaN: it names the variant, and no figure.
    pub published: Option<f64>,
    /// What the publication adds: sizes, rates, remarks.
    #[serde(default)]
    pub published_note: Option<String>,
    /// PRAGMAs and settings, as they were given.
    pub settings: Vec<String>,
    /// The statement, the call or the command that was measured.
    pub command: String,
    /// What came out.
    pub outcome: Outcome,
}

/// Who proposes a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Provenance {
    /// A publication's.
    Published,
    /// SQLite's or the system's, added because it belongs beside the others.
    Added,
    /// sqluice's.
    Sqluice,
}

/// What came out of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// It was run, and what it wrote was right.
    Measured {
        /// One for each run, in the experiment's unit.
        samples: Vec<f64>,
        /// Seconds of each run.
        seconds: Vec<f64>,
        /// What else was measured: `database_bytes`, `peak_memory_bytes`, `rewrite_ms`, `cache_bytes`, ...
        also: BTreeMap<String, f64>,
    },
    /// It was not run.
    Skipped {
        /// Why not.
        reason: Skip,
    },
    /// It was run, and what it did was wrong.
    Failed {
        /// What was found in the place of what had to be there.
        why: String,
    },
}

/// Why a variant is not run: there are no other reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// A program that it needs is not installed.
    NotInstalled,
    /// It is about another system than this one.
    OtherSystem,
    /// It would not fit on the disk or into the memory.
    TooLarge,
    /// The run was ended before.
    Interrupted,
}

impl Outcome {
    /// The middle sample; of an even number the mean of the two in the middle. `None` when nothing was measured.
    pub fn median(&self) -> Option<f64> {
        let Outcome::Measured { samples, .. } = self else { return None };
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() % 2 {
            1 => Some(sorted[middle]),
            _ => Some(f64::midpoint(*sorted.get(middle.checked_sub(1)?)?, sorted[middle])),
        }
    }
}
