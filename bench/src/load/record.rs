//! The results, saved as JSON and printed as tables in Markdown for a README.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::data::Input;
use super::way::{Section, Way};
use crate::grouped;
use crate::lap::{Lap, mib};
use crate::machine::Machine;
use crate::ratio::{self, Compared, Ratio};
use crate::stats::Spread;

/// The laps of one round.
pub(crate) type Round = BTreeMap<Way, Lap>;

/// The inputs, and the programs that loaded them.
#[derive(Debug, Serialize)]
pub(crate) struct Inputs {
    pub(crate) scale: f64,
    pub(crate) made_by: String,
    pub(crate) files: BTreeMap<Section, Input>,
    /// The dumps of other databases, and the folder of small files.
    pub(crate) dumps: BTreeMap<Way, Input>,
    /// The other programs with their versions.
    pub(crate) beside: Vec<String>,
}

fn seconds(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.seconds)
}

fn cpu_seconds(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.cpu_seconds)
}

fn memory(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.memory_bytes as f64)
}

const COMPARED: [Compared<Round>; 23] = [
    Compared {
        what: "time of `.import` to `load --schema`",
        ratio: |round| Some(seconds(round, Way::Import)? / seconds(round, Way::Declared)?),
        claim: Some(("at least 10, aim 20", 10.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `.import` with unsafe PRAGMAs to `load --schema`",
        ratio: |round| Some(seconds(round, Way::Unsafe)? / seconds(round, Way::Declared)?),
        claim: None,
    },
    Compared {
        what: "time of `load`, inferred, to `load --schema`",
        ratio: |round| Some(seconds(round, Way::Inferred)? / seconds(round, Way::Declared)?),
        claim: Some(("at most 1.40", 0.0..=1.4)),
    },
    Compared {
        what: "time of ten times the rows to once",
        ratio: |round| Some(seconds(round, Way::Ten)? / seconds(round, Way::Declared)?),
        claim: Some(("10 within 15%", 8.5..=11.5)),
    },
    Compared {
        what: "peak memory of ten times the rows to once",
        ratio: |round| Some(memory(round, Way::Ten)? / memory(round, Way::Declared)?),
        claim: None,
    },
    Compared {
        what: "time of pyarrow and ADBC to `load`, Parquet",
        ratio: |round| Some(seconds(round, Way::Adbc)? / seconds(round, Way::Parquet)?),
        claim: Some(("at least 4", 4.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `sqlite-utils insert --nl` to `load`, NDJSON",
        ratio: |round| Some(seconds(round, Way::SqliteUtils)? / seconds(round, Way::Json)?),
        claim: Some(("at least 5", 5.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `serde_json` and a 50-row INSERT to `load`, NDJSON",
        ratio: |round| Some(seconds(round, Way::SerdeJson)? / seconds(round, Way::Json)?),
        claim: Some(("at least 3", 3.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `load` of many files to that of the older one",
        ratio: |round| Some(seconds(round, Way::Files)? / seconds(round, Way::FilesOlder)?),
        claim: Some(("at most 0.5", 0.0..=0.5)),
    },
    Compared {
        what: "time of `load --table` of many files to that of the older one",
        ratio: |round| Some(seconds(round, Way::FilesTable)? / seconds(round, Way::FilesTableOlder)?),
        claim: Some(("at most 0.5", 0.0..=0.5)),
    },
    Compared {
        what: "time of `.import` of many files to `load`",
        ratio: |round| Some(seconds(round, Way::FilesImport)? / seconds(round, Way::Files)?),
        claim: None,
    },
    Compared {
        what: "time of `sqlite3` to `load` of its dump",
        ratio: |round| Some(seconds(round, Way::Shell)? / seconds(round, Way::Dump)?),
        claim: Some(("aim 20", 20.0..=f64::INFINITY)),
    },
    Compared {
        what: "processor time of `sqlite3` to `load` of its dump",
        ratio: |round| Some(cpu_seconds(round, Way::Shell)? / cpu_seconds(round, Way::Dump)?),
        claim: Some(("aim 12", 12.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `load` of a dump as of mysqldump to the `.dump`",
        ratio: |round| Some(seconds(round, Way::MySqlDump)? / seconds(round, Way::Dump)?),
        claim: Some(("at most 1.5", 0.0..=1.5)),
    },
    Compared {
        what: "time of `load` of a dump as of pg_dump to the `.dump`",
        ratio: |round| Some(seconds(round, Way::PostgresDump)? / seconds(round, Way::Dump)?),
        claim: Some(("at most 1.5", 0.0..=1.5)),
    },
    Compared {
        what: "processor time of `unzip` and `load` to `load` of the archive",
        ratio: |round| Some(cpu_seconds(round, Way::ArchiveUnzip)? / cpu_seconds(round, Way::Archive)?),
        claim: Some(("at least 1", 1.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `unzip` and `load` to `load` of the archive",
        ratio: |round| Some(seconds(round, Way::ArchiveUnzip)? / seconds(round, Way::Archive)?),
        claim: None,
    },
    Compared {
        what: "time of `.import` of the files in a folder to `load` of the folder",
        ratio: |round| Some(seconds(round, Way::FolderImport)? / seconds(round, Way::Folder)?),
        claim: None,
    },
    Compared {
        what: "time of `pandas.read_excel` and `to_sql` to `load`, XLSX",
        ratio: |round| Some(seconds(round, Way::Pandas)? / seconds(round, Way::Spreadsheet)?),
        claim: Some(("at least 15", 15.0..=f64::INFINITY)),
    },
    Compared {
        what: "processor time of `load` with a filter to without",
        ratio: |round| Some(cpu_seconds(round, Way::Filtered)? / cpu_seconds(round, Way::Whole)?),
        claim: Some(("at most 1.3", 0.0..=1.3)),
    },
    Compared {
        what: "processor time of `load` with three computed columns to without",
        ratio: |round| Some(cpu_seconds(round, Way::Added)? / cpu_seconds(round, Way::Whole)?),
        claim: Some(("at most 4", 0.0..=4.0)),
    },
    Compared {
        what: "time of DuckDB to `load`, half of the rows and computed columns",
        ratio: |round| Some(seconds(round, Way::Duck)? / seconds(round, Way::Half)?),
        claim: Some(("at least 4", 4.0..=f64::INFINITY)),
    },
    Compared {
        what: "processor time of DuckDB to `load`, the same",
        ratio: |round| Some(cpu_seconds(round, Way::Duck)? / cpu_seconds(round, Way::Half)?),
        claim: None,
    },
];

/// The record of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) benchmark: &'static str,
    pub(crate) taken: String,
    sqluice: String,
    machine: Machine,
    #[serde(flatten)]
    input: Inputs,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
}

impl Record {
    /// Summarizes the rounds, of which there must be at least one.
    pub(crate) fn new(
        taken: String,
        sqluice: String,
        machine: Machine,
        input: Inputs,
        rounds: Vec<Round>,
    ) -> Record {
        let ratios = Ratio::all(&COMPARED, &rounds);
        Record { benchmark: "load", taken, sqluice, machine, input, rounds, ratios }
    }

    /// Formats the tables: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        let Inputs { made_by, files, beside, .. } = &self.input;
        let mut text = String::new();
        for (part, input) in files {
            let _ = writeln!(text, "{}", self.part(*part, input));
        }
        text += &ratio::table(&self.ratios);
        let _ = writeln!(text, "\nmachine: {}\nprogram: {}; input by {made_by}", self.machine, self.sqluice);
        if !beside.is_empty() {
            let _ = writeln!(text, "beside: {}", beside.join("; "));
        }
        text
    }

    fn part(&self, part: Section, input: &Input) -> String {
        let format = part.format();
        let mut text = format!(
            "| `lineitem` at scale {}: {} rows, {:.0} MB of {format} | seconds: median (min..max) | on cores | \
             M rows/s | MB/s of {format} | peak memory |\n|---|---|---|---|---|---|\n",
            self.input.scale,
            grouped(input.rows),
            input.bytes as f64 / 1e6
        );
        for way in Way::ALL.into_iter().filter(|way| way.part() == part) {
            let input = self.input.dumps.get(&way).unwrap_or(input);
            let laps: Option<Vec<&Lap>> = self.rounds.iter().map(|round| round.get(&way)).collect();
            if let Some(laps) = laps {
                let _ = writeln!(text, "{}", line(way, input, &laps));
            }
        }
        text
    }
}

fn line(way: Way, input: &Input, laps: &[&Lap]) -> String {
    let spread = |value: &dyn Fn(&Lap) -> f64| Spread::of(laps.iter().map(|lap| value(lap)));
    // The rows of a longer file have the same size.
    let row_bytes = input.bytes as f64 / input.rows as f64;
    format!(
        "| {} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} MiB |",
        way.title(),
        spread(&|lap| lap.seconds),
        spread(&|lap| lap.cpu_seconds),
        spread(&|lap| lap.rate() / 1e6),
        spread(&|lap| lap.rate() * row_bytes / 1e6),
        mib(spread(&|lap| lap.memory_bytes as f64).max)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lap(seconds: f64, memory_bytes: u64) -> Lap {
        Lap { rows: 100, bytes: 1000, seconds, cpu_seconds: seconds, memory_bytes, output: None }
    }

    fn lines(rounds: &[Round]) -> Vec<String> {
        COMPARED.iter().filter_map(|compared| Some(Ratio::new(compared, rounds)?.line())).collect()
    }

    #[test]
    fn a_claim_is_met_or_short_and_never_asserted() {
        let round = Round::from([
            (Way::Import, lap(9.9, 1)),
            (Way::Declared, lap(1.0, 100)),
            (Way::Inferred, lap(1.4, 1)),
            (Way::Ten, lap(11.6, 150)),
            (Way::Adbc, lap(4.0, 1)),
            (Way::Parquet, lap(1.0, 1)),
            (Way::SerdeJson, lap(2.9, 1)),
            (Way::Json, lap(1.0, 1)),
        ]);
        let lines = lines(&[round]);
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[0].ends_with("| 9.90 (9.90..9.90) | at least 10, aim 20 | short |"), "{lines:?}");
        assert!(lines[1].ends_with("| at most 1.40 | met |"), "{lines:?}");
        assert!(lines[2].ends_with("| 10 within 15% | short |"), "{lines:?}");
        assert!(lines[3].ends_with("| 1.50 (1.50..1.50) |  |  |"), "{lines:?}");
        assert!(lines[4].ends_with("| 4.00 (4.00..4.00) | at least 4 | met |"), "{lines:?}");
        assert!(lines[5].ends_with("| 2.90 (2.90..2.90) | at least 3 | short |"), "{lines:?}");
    }
}
