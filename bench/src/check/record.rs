//! The results, saved as JSON and printed as a table in Markdown for a README.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::grouped;
use crate::lap::{Lap, mib};
use crate::machine::Machine;
use crate::stats::Spread;

/// The program that checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Check,
    Integrity,
}

impl Way {
    /// Returns the name that is printed during the run.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Check => "check",
            Way::Integrity => "integrity",
        }
    }

    /// Returns the title in the table.
    fn title(self) -> &'static str {
        match self {
            Way::Check => "`sqluice check`",
            Way::Integrity => "`PRAGMA integrity_check`",
        }
    }
}

/// The laps of one round.
pub(crate) type Round = BTreeMap<Way, Lap>;

/// The size of the database.
#[derive(Debug, Serialize)]
pub(crate) struct Input {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// The minimum ratio of SQLite's time to that of `check` for the claim.
const CLAIM: f64 = 10.0;

/// The record of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) benchmark: &'static str,
    pub(crate) taken: String,
    sqluice: String,
    machine: Machine,
    input: Input,
    rounds: Vec<Round>,
    /// The median of SQLite's times, divided by that of sqluice.
    ratio: f64,
    met: bool,
}

impl Record {
    /// Summarizes the rounds: all have a lap of `check`, and at least one has a lap of SQLite.
    pub(crate) fn new(
        taken: String,
        sqluice: String,
        machine: Machine,
        input: Input,
        rounds: Vec<Round>,
    ) -> Record {
        let ratio = seconds(&rounds, Way::Integrity).median / seconds(&rounds, Way::Check).median;
        let met = ratio >= CLAIM;
        Record { benchmark: "check", taken, sqluice, machine, input, rounds, ratio, met }
    }

    /// Formats the table: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        let Input { rows, bytes } = self.input;
        let mut text = format!(
            "| {} rows with 4 indexes, {:.0} MB | seconds: median (min..max) | GB/s | peak memory |\n|---|---|---|---|\n",
            grouped(rows),
            bytes as f64 / 1e6
        );
        for way in [Way::Integrity, Way::Check] {
            let seconds = seconds(&self.rounds, way);
            let memory = self.rounds.iter().filter_map(|round| round.get(&way)).map(|lap| lap.memory_bytes);
            let _ = writeln!(
                text,
                "| {} | {seconds:.2} | {:.2} | {:.0} MiB |",
                way.title(),
                bytes as f64 / seconds.median / 1e9,
                mib(memory.max().unwrap_or(0) as f64)
            );
        }
        let verdict = if self.met { "met" } else { "short" };
        let _ = writeln!(text, "\nratio of the medians: {:.1} (at least {CLAIM:.0}: {verdict})", self.ratio);
        let _ = writeln!(text, "\nmachine: {}\nprogram: {}", self.machine, self.sqluice);
        text
    }
}

fn seconds(rounds: &[Round], way: Way) -> Spread {
    Spread::of(rounds.iter().filter_map(|round| round.get(&way)).map(|lap| lap.seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_the_rounds_that_have_the_lap() {
        let lap =
            |seconds| Lap { rows: 1, bytes: 1, seconds, cpu_seconds: 0.0, memory_bytes: 1, output: None };
        let rounds = [
            Round::from([(Way::Check, lap(2.0)), (Way::Integrity, lap(40.0))]),
            Round::from([(Way::Check, lap(3.0))]),
            Round::from([(Way::Check, lap(4.0))]),
        ];
        assert_eq!((seconds(&rounds, Way::Check).median, seconds(&rounds, Way::Integrity).max), (3.0, 40.0));
    }
}
