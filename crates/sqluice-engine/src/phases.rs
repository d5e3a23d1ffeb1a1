//! The phases of a run. When a phase begins, the caller's progress display gets its name; the report of the run gets its duration.

use std::time::Instant;

use serde::Serialize;
use sqluice_core::progress::{Amount, Progress};

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PhaseReport {
    /// The name of the phase, such as `sample`, `load`, `sort orders.by_date`, `merge orders.by_date`, `write` or `sqlite`.
    pub name: String,
    /// The duration in seconds.
    pub seconds: f64,
}

impl PhaseReport {
    /// Creates the report of a phase.
    pub fn new(name: impl Into<String>, seconds: f64) -> PhaseReport {
        PhaseReport { name: name.into(), seconds }
    }
}

/// The clock of a run's phases: reports each phase to `progress` when it begins, and measures its duration.
pub struct Phases<'p> {
    progress: &'p dyn Progress,
    done: Vec<PhaseReport>,
    current: Option<(String, Instant)>,
}

impl<'p> Phases<'p> {
    /// Starts to time the phase `first`, which the caller has already reported to `progress`.
    pub fn new(progress: &'p dyn Progress, first: &str) -> Phases<'p> {
        Phases { progress, done: Vec::new(), current: Some((first.to_owned(), Instant::now())) }
    }

    /// Returns the progress of the caller.
    pub(crate) fn progress(&self) -> &'p dyn Progress {
        self.progress
    }

    /// Begins a phase, which ends the phase before.
    pub fn begin(&mut self, name: &str, total: Option<Amount>) {
        self.progress.phase(name, total);
        self.time(name);
    }

    /// Begins a phase that is timed here. Other code reports the phase to the progress display.
    pub(crate) fn time(&mut self, name: &str) {
        if let Some((name, since)) = self.current.replace((name.to_owned(), Instant::now())) {
            self.done.push(PhaseReport { name, seconds: since.elapsed().as_secs_f64() });
        }
    }

    /// Ends the last phase. Returns the times of all phases.
    pub fn finish(mut self) -> Vec<PhaseReport> {
        self.time("");
        self.done
    }
}
