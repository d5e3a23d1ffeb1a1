//! The results, saved as JSON and printed as a table in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::grouped;
use crate::lap::{HEAD, Lap, mib, row};
use crate::machine::Machine;
use crate::ratio::{self, Compared, Ratio};

/// A measured command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Check,
    Profile,
    Preset,
    Like,
}

impl Way {
    /// Returns the name that is printed during the run.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Check => "check",
            Way::Profile => "profile",
            Way::Preset => "preset",
            Way::Like => "like",
        }
    }

    /// Returns the title in the table.
    fn title(self) -> &'static str {
        match self {
            Way::Check => "`sqluice check`",
            Way::Profile => "`sqluice profile`",
            Way::Preset => "`sqluice generate --preset shop`",
            Way::Like => "`sqluice generate` of the profile",
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

/// The maximum memory of a profile, in bytes.
const MEMORY_MAX: u64 = 256 << 20;

/// The ratios and claims.
const RATIOS: [Compared<Round>; 3] = [
    Compared {
        what: "time of profile to that of check",
        ratio: |round| Some(round.get(&Way::Profile)?.seconds / round.get(&Way::Check)?.seconds),
        claim: Some(("at most 1", 0.0..=1.0)),
    },
    Compared {
        what: "memory of profile to 256 MiB",
        ratio: |round| Some(round.get(&Way::Profile)?.memory_bytes as f64 / MEMORY_MAX as f64),
        claim: Some(("at most 1", 0.0..=1.0)),
    },
    Compared {
        what: "rate of the look-alike to that of the preset",
        ratio: |round| Some(round.get(&Way::Like)?.rate() / round.get(&Way::Preset)?.rate()),
        claim: Some(("at least 0.5", 0.5..=f64::INFINITY)),
    },
];

/// The record of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) benchmark: &'static str,
    pub(crate) taken: String,
    sqluice: String,
    machine: Machine,
    input: Input,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
}

impl Record {
    /// Summarizes the rounds, each of which has all laps.
    pub(crate) fn new(
        taken: String,
        sqluice: String,
        machine: Machine,
        input: Input,
        rounds: Vec<Round>,
    ) -> Record {
        let ratios = Ratio::all(&RATIOS, &rounds);
        Record { benchmark: "lookalike", taken, sqluice, machine, input, rounds, ratios }
    }

    /// Formats the table: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        let Input { rows, bytes } = self.input;
        let mut text = format!("{} rows in 4 tables, {:.0} MiB\n\n{HEAD}", grouped(rows), mib(bytes as f64));
        for way in [Way::Check, Way::Profile, Way::Preset, Way::Like] {
            let laps: Vec<&Lap> = self.rounds.iter().filter_map(|round| round.get(&way)).collect();
            let _ = writeln!(text, "{}", row(way.title(), &laps));
        }
        let _ = writeln!(text, "\n{}", ratio::table(&self.ratios));
        let _ = writeln!(text, "machine: {}\nprogram: {}", self.machine, self.sqluice);
        text
    }
}
