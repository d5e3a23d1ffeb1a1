//! The record of a run of the lab: machine, settings and figures. It is the only input of the report, the advice and a comparison with
//! another run. "Published" figures are those of the write-ups in `data/published.toml`.
//!
//! ```text
//!  Run ── machine, SQLite, scale, runs
//!   └─ Experiment ── id, what, unit, better
//!       └─ Variant ── name, provenance, pragmas, command, published ── Outcome ── Measured: samples │ Skipped: reason │ Failed: why
//! ```
//!
//! The record is JSON in a file (`--export-json`), and stays readable: fields are added, but never change their meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A run of the lab, complete or interrupted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The start of the run: `2026-11-22T03:16:00Z`.
    pub taken: String,
    /// The version of sqluice.
    pub sqluice: String,
    /// The machine that was measured.
    pub machine: Machine,
    /// `tiny`, `small`, `medium`, `full` or a factor.
    pub scale: String,
    /// The number of measured runs of each variant.
    pub runs: u32,
    /// The number of runs of each variant before the measured runs.
    pub warmup: u32,
    /// The command line.
    pub command: String,
    /// The total time in seconds.
    pub seconds: f64,
    /// `true` if the run ended before all variants were measured.
    pub interrupted: bool,
    /// The experiments in the order of the publications, then the questions.
    pub experiments: Vec<Experiment>,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The name of the processor.
    pub cpu: String,
    /// The number of cores that the program may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The name and version of the system.
    pub kernel: String,
    /// The file system under the folder of the run.
    pub file_system: String,
    /// The device of the file system.
    pub device: String,
    /// SQLite's version.
    pub sqlite: String,
    /// SQLite's compile options (`PRAGMA compile_options`).
    pub compile_options: Vec<String>,
    /// The system's `python3` and its SQLite, if there is one.
    pub python: Option<String>,
    /// The load average of the minute before the run: the number of processes that ran or waited for the disk. Such processes make figures
    /// worse.
    pub load_before: f64,
}

/// An experiment that repeats one of a publication (a write-up in `data/published.toml`), or answers a question of a publication.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Experiment {
    /// The id in `data/published.toml`, which the command line takes.
    pub id: String,
    /// The id of the publication, whose title and machine are in [`crate::published`].
    pub source: String,
    /// A description.
    pub what: String,
    /// The unit of all samples: `rows/s`, `s`, `ms`, `operations/s`, `bytes`, `times` (a ratio).
    pub unit: String,
    /// `true` if more is better.
    pub more_is_better: bool,
    /// The number of rows, operations, blobs or entities of this run.
    pub count: u64,
    /// The number of rows, operations, blobs or entities of the publication, if it states it.
    pub published_count: Option<u64>,
    /// The variants in the order of the publication, sqluice's own ways last.
    pub variants: Vec<Variant>,
    /// Remarks: errors of the publication, and differences between this run and the publication.
    pub notes: Vec<String>,
}

/// A variant of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variant {
    /// The published name, or the lab's own name of an added variant.
    pub name: String,
    /// The origin of the variant.
    pub provenance: Provenance,
    /// The published figure, in the experiment's unit; NaN if the publication names the variant without a figure.
    pub published: Option<f64>,
    /// Additional data of the publication: sizes, rates, remarks; `None` if it has none.
    #[serde(default)]
    pub published_note: Option<String>,
    /// PRAGMAs and settings, as given to SQLite.
    pub settings: Vec<String>,
    /// The statement, the call or the command that was measured.
    pub command: String,
    /// The outcome of the runs.
    pub outcome: Outcome,
}

/// The origin of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Provenance {
    /// The variant is published.
    Published,
    /// A variant of SQLite or the system that the lab adds for comparison.
    Added,
    /// A variant that uses sqluice.
    Sqluice,
}

/// The outcome of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// The variant was run, and its rows were correct.
    Measured {
        /// A sample for each run, in the experiment's unit.
        samples: Vec<f64>,
        /// The seconds of each run.
        seconds: Vec<f64>,
        /// Other figures: `database_bytes`, `peak_memory_bytes`, `rewrite_ms`, `cache_bytes`, ...
        also: BTreeMap<String, f64>,
    },
    /// The variant was not run.
    Skipped {
        /// The reason.
        reason: Skip,
    },
    /// The variant was run, and ended with an error or left a wrong result.
    Failed {
        /// A description of the error.
        why: String,
    },
}

/// The reasons why a variant is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// A program that the variant needs is not installed.
    NotInstalled,
    /// The variant is for another system than this one.
    OtherSystem,
    /// The variant would not fit on the disk or in memory.
    TooLarge,
    /// The run was interrupted before the variant.
    Interrupted,
}
