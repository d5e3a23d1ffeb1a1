//! The phases of a run: reported to the progress of the caller, and timed.

use std::time::Instant;

use serde::Serialize;
use sqluice_core::progress::{Amount, Progress};

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PhaseReport {
    /// What was done, such as `sample`, `load`, `sort orders.by_date`, `merge orders.by_date`, `write` or `sqlite`.
    pub name: String,
    /// Seconds that it took.
    pub seconds: f64,
}

impl PhaseReport {
    /// What was done, and how many seconds it took.
    pub fn new(name: impl Into<String>, seconds: f64) -> PhaseReport {
        PhaseReport { name: name.into(), seconds }
    }
}

/// The phases of a run, in order: reported to the progress of the caller, and timed.
pub struct Phases<'p> {
    progress: &'p dyn Progress,
    done: Vec<PhaseReport>,
    current: Option<(String, Instant)>,
}

impl<'p> Phases<'p> {
    /// Begins with a phase that was reported before.
    pub fn new(progress: &'p dyn Progress, first: &str) -> Phases<'p> {
        Phases { progress, done: Vec::new(), current: Some((first.to_owned(), Instant::now())) }
    }

    /// The progress of the caller.
    pub(crate) fn progress(&self) -> &'p dyn Progress {
        self.progress
    }

    /// A phase begins, and the one before it ends.
    pub fn begin(&mut self, name: &str, total: Option<Amount>) {
        self.progress.phase(name, total);
        self.time(name);
    }

    /// Begins a phase that is reported elsewhere.
    pub(crate) fn time(&mut self, name: &str) {
        if let Some((name, since)) = self.current.replace((name.to_owned(), Instant::now())) {
            self.done.push(PhaseReport { name, seconds: since.elapsed().as_secs_f64() });
        }
    }

    /// What the time went into.
    pub fn finish(mut self) -> Vec<PhaseReport> {
        self.time("");
        self.done
    }
}
