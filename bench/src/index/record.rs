//! The results, saved as JSON and printed as tables in Markdown for a README.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::Section;
use crate::lap::{self, Lap};
use crate::machine::Machine;
use crate::ratio::{self, Compared, Ratio};
use crate::stats::Spread;

/// A method to create a table with keys or indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Plain,
    Indexed,
    Create,
    Threads,
    NumberPlain,
    NumberIndexed,
    NumberCreate,
    NumberThreads,
    LowerIndexed,
    LowerCreate,
    LowerThreads,
    HalfIndexed,
    HalfCreate,
    HalfThreads,
    Two,
    TwoTen,
    Uuid,
    UuidSql,
    UuidDefault,
    Shuffled,
    ShuffledSql,
}

impl Way {
    /// All ways, in the order of a round.
    pub(crate) const ALL: [Way; 21] = [
        Way::Plain,
        Way::Indexed,
        Way::Create,
        Way::Threads,
        Way::NumberPlain,
        Way::NumberIndexed,
        Way::NumberCreate,
        Way::NumberThreads,
        Way::LowerIndexed,
        Way::LowerCreate,
        Way::LowerThreads,
        Way::HalfIndexed,
        Way::HalfCreate,
        Way::HalfThreads,
        Way::Two,
        Way::TwoTen,
        Way::Uuid,
        Way::UuidSql,
        Way::UuidDefault,
        Way::Shuffled,
        Way::ShuffledSql,
    ];

    pub(crate) fn part(self) -> Section {
        match self {
            Way::Plain | Way::Indexed | Way::Create | Way::Threads => Section::Area,
            Way::NumberPlain | Way::NumberIndexed | Way::NumberCreate | Way::NumberThreads => Section::Number,
            Way::LowerIndexed
            | Way::LowerCreate
            | Way::LowerThreads
            | Way::HalfIndexed
            | Way::HalfCreate
            | Way::HalfThreads => Section::Computed,
            Way::Two | Way::TwoTen => Section::Memory,
            Way::Uuid | Way::UuidSql | Way::UuidDefault | Way::Shuffled | Way::ShuffledSql => Section::Keys,
        }
    }

    /// Returns the number of rows at scale 1.
    pub(crate) fn rows(self) -> f64 {
        match self {
            Way::TwoTen => 100e6,
            _ if matches!(self.part(), Section::Area | Section::Number | Section::Computed) => 20e6,
            _ => 10e6,
        }
    }

    /// Returns the name that is printed during the run.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Plain => "plain",
            Way::Indexed => "indexed",
            Way::Create => "create",
            Way::Threads => "threads",
            Way::NumberPlain => "number_plain",
            Way::NumberIndexed => "number_indexed",
            Way::NumberCreate => "number_create",
            Way::NumberThreads => "number_threads",
            Way::LowerIndexed => "lower_indexed",
            Way::LowerCreate => "lower_create",
            Way::LowerThreads => "lower_threads",
            Way::HalfIndexed => "half_indexed",
            Way::HalfCreate => "half_create",
            Way::HalfThreads => "half_threads",
            Way::Two => "two",
            Way::TwoTen => "two_ten",
            Way::Uuid => "uuid",
            Way::UuidSql => "uuid_sql",
            Way::UuidDefault => "uuid_def",
            Way::Shuffled => "shuffled",
            Way::ShuffledSql => "shuf_sql",
        }
    }

    /// Returns the title in the table.
    fn title(self) -> &'static str {
        match self {
            Way::Plain => "`sqluice generate`, no index",
            Way::Indexed => "`sqluice generate`, index on `area`",
            Way::Create => "SQLite's `CREATE INDEX` alone",
            Way::LowerIndexed => "`sqluice generate`, index on `lower(area)`",
            Way::LowerCreate => "SQLite's `CREATE INDEX` of `lower(area)` alone",
            Way::HalfIndexed => "`sqluice generate`, partial index on `area`, half of the rows",
            Way::HalfCreate => "SQLite's `CREATE INDEX` of the partial index alone",
            Way::Threads | Way::NumberThreads | Way::LowerThreads | Way::HalfThreads => {
                "the same with `PRAGMA threads = 2`"
            }
            Way::NumberPlain => "`sqluice generate`, a random integer, no index",
            Way::NumberIndexed => "`sqluice generate`, index on the integer",
            Way::NumberCreate => "SQLite's `CREATE INDEX` on it alone",
            Way::Two => "`sqluice generate`, two indexes, 512 MiB",
            Way::TwoTen => "the same, ten times the rows",
            Way::Uuid => "`sqluice load`, UUIDs, WITHOUT ROWID",
            Way::UuidSql => "SQLite's `INSERT` of the same, nothing durable, 200 MB of cache",
            Way::UuidDefault => "the same with SQLite's defaults",
            Way::Shuffled => "`sqluice load`, shuffled INTEGER PRIMARY KEY",
            Way::ShuffledSql => "SQLite's `INSERT` of the same",
        }
    }
}

/// The laps of one round.
pub(crate) type Round = BTreeMap<Way, Lap>;

/// The memory limit of the runs with two indexes, in bytes.
pub(crate) const MEMORY_BYTES: u64 = 512 << 20;

/// The minimum measurable time that an index adds, in seconds.
const SECONDS_MIN: f64 = 0.001;

fn seconds(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.seconds)
}

fn seconds_a_row(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.seconds / lap.rows as f64)
}

/// Returns the time that an index adds: the difference between the runs with and without it.
fn added(round: &Round, [plain, indexed]: [Way; 2]) -> Option<f64> {
    Some(seconds(round, indexed)? - seconds(round, plain)?)
}

/// Returns the ratio of the time of the faster `CREATE INDEX` to the time that the index adds.
fn create_to_added(round: &Round, runs: [Way; 2], creates: [Way; 2]) -> Option<f64> {
    let create = seconds(round, creates[0])?.min(seconds(round, creates[1])?);
    Some(create / added(round, runs)?.max(SECONDS_MIN))
}

const AREA: [Way; 2] = [Way::Plain, Way::Indexed];
const NUMBER: [Way; 2] = [Way::NumberPlain, Way::NumberIndexed];

const LOWER: [Way; 2] = [Way::Plain, Way::LowerIndexed];
const HALF: [Way; 2] = [Way::Plain, Way::HalfIndexed];

/// Returns the ratio of the processor time of `CREATE INDEX` to that which the index adds.
fn create_to_added_of_processors(round: &Round, [plain, indexed]: [Way; 2], create: Way) -> Option<f64> {
    let of = |way: Way| round.get(&way).map(|lap| lap.cpu_seconds);
    Some(of(create)? / (of(indexed)? - of(plain)?).max(SECONDS_MIN))
}

const COMPARED: [Compared<Round>; 11] = [
    Compared {
        what: "time of `CREATE INDEX`, the faster, to what the index adds",
        ratio: |round| create_to_added(round, AREA, [Way::Create, Way::Threads]),
        claim: Some(("at least 18", 18.0..=f64::INFINITY)),
    },
    Compared {
        what: "the same, of the index on a random integer",
        ratio: |round| create_to_added(round, NUMBER, [Way::NumberCreate, Way::NumberThreads]),
        claim: Some(("at least 25", 25.0..=f64::INFINITY)),
    },
    Compared {
        what: "the same, of the index on `lower(area)`",
        ratio: |round| create_to_added(round, LOWER, [Way::LowerCreate, Way::LowerThreads]),
        claim: Some(("at least 7", 7.0..=f64::INFINITY)),
    },
    Compared {
        what: "processor time of `CREATE INDEX` of `lower(area)` to what the index adds",
        ratio: |round| create_to_added_of_processors(round, LOWER, Way::LowerCreate),
        claim: Some(("at least 4", 4.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `CREATE INDEX`, the faster, to what the partial index adds",
        ratio: |round| create_to_added(round, HALF, [Way::HalfCreate, Way::HalfThreads]),
        claim: Some(("at least 5", 5.0..=f64::INFINITY)),
    },
    Compared {
        what: "processor time of `CREATE INDEX` of the partial index to what the index adds",
        ratio: |round| create_to_added_of_processors(round, HALF, Way::HalfCreate),
        claim: Some(("at least 3", 3.0..=f64::INFINITY)),
    },
    Compared {
        what: "time per row, two indexes, of ten times the rows to once",
        ratio: |round| Some(seconds_a_row(round, Way::TwoTen)? / seconds_a_row(round, Way::Two)?),
        claim: Some(("at most 1.50", 0.0..=1.5)),
    },
    Compared {
        what: "peak memory of ten times the rows to 512 MiB",
        ratio: |round| Some(round.get(&Way::TwoTen)?.memory_bytes as f64 / MEMORY_BYTES as f64),
        claim: Some(("at most 1.10", 0.0..=1.1)),
    },
    Compared {
        what: "time of `INSERT` with SQLite's defaults to `load`, UUIDs",
        ratio: |round| Some(seconds(round, Way::UuidDefault)? / seconds(round, Way::Uuid)?),
        claim: Some(("at least 20", 20.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `INSERT`, nothing durable, 200 MB of cache, to `load`, UUIDs",
        ratio: |round| Some(seconds(round, Way::UuidSql)? / seconds(round, Way::Uuid)?),
        claim: Some(("at least 30", 30.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `INSERT` to `load`, shuffled INTEGER PRIMARY KEY",
        ratio: |round| Some(seconds(round, Way::ShuffledSql)? / seconds(round, Way::Shuffled)?),
        claim: Some(("at least 10", 10.0..=f64::INFINITY)),
    },
];

/// The runs without and with each index whose time is stated alone.
const INDEXES: [[Way; 2]; 4] = [AREA, NUMBER, LOWER, HALF];

/// The record of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) benchmark: &'static str,
    pub(crate) taken: String,
    sqluice: String,
    machine: Machine,
    rows_scale: f64,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
    /// The seconds that each index adds to a run: on `area`, on the integer, on `lower(area)`, and the partial one.
    index_adds: [Option<Spread>; 4],
}

impl Record {
    /// Summarizes the rounds, of which there must be at least one.
    pub(crate) fn new(
        taken: String,
        sqluice: String,
        machine: Machine,
        rows_scale: f64,
        rounds: Vec<Round>,
    ) -> Record {
        let ratios = Ratio::all(&COMPARED, &rounds);
        let index_adds = INDEXES.map(|runs| {
            let adds: Option<Vec<f64>> = rounds.iter().map(|round| added(round, runs)).collect();
            adds.map(Spread::of)
        });
        Record { benchmark: "index", taken, sqluice, machine, rows_scale, rounds, ratios, index_adds }
    }

    /// Formats the tables: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        let mut text = lap::HEAD.to_owned();
        for way in Way::ALL {
            let laps: Option<Vec<&Lap>> = self.rounds.iter().map(|round| round.get(&way)).collect();
            if let Some(laps) = laps {
                let _ = writeln!(text, "{}", lap::row(way.title(), &laps));
            }
            let adds = INDEXES.iter().position(|runs| runs[1] == way).and_then(|at| self.index_adds[at]);
            if let Some(adds) = adds {
                let _ = writeln!(text, "| ... what the index adds | | {adds:.2} | | |");
            }
        }
        let _ = write!(text, "\n{}", ratio::table(&self.ratios));
        let _ = writeln!(text, "\nmachine: {}\nprogram: {}", self.machine, self.sqluice);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lap(seconds: f64, rows: u64) -> Lap {
        Lap { rows, bytes: 1000, seconds, cpu_seconds: seconds, memory_bytes: MEMORY_BYTES, output: None }
    }

    fn lines(rounds: &[Round]) -> Vec<String> {
        COMPARED.iter().filter_map(|compared| Some(Ratio::new(compared, rounds)?.line())).collect()
    }

    #[test]
    fn what_an_index_adds_is_compared_with_the_faster_way_of_sqlite() {
        let ways = [(Way::Plain, 1.0), (Way::Indexed, 2.0), (Way::Create, 9.0), (Way::Threads, 6.0)];
        let round: Round = ways.map(|(way, seconds)| (way, lap(seconds, 100))).into();
        let lines = lines(&[round]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("| 6.00 (6.00..6.00) | at least 18 | short |"), "{lines:?}");
    }

    #[test]
    fn an_index_that_adds_nothing_does_not_divide_by_it() {
        let ways = [(Way::Plain, 1.0), (Way::Indexed, 0.9), (Way::Create, 0.1), (Way::Threads, 0.2)];
        let round: Round = ways.map(|(way, seconds)| (way, lap(seconds, 100))).into();
        assert!(lines(&[round])[0].contains("| 100.00 (100.00..100.00) |"));
    }

    #[test]
    fn time_per_row_counts_and_claims_are_met_or_short() {
        let ways = [(Way::Two, lap(1.0, 100)), (Way::TwoTen, lap(16.0, 1000))];
        let lines = lines(&[ways.into()]);
        assert!(lines[0].ends_with("| 1.60 (1.60..1.60) | at most 1.50 | short |"), "{lines:?}");
        assert!(lines[1].ends_with("| 1.00 (1.00..1.00) | at most 1.10 | met |"), "{lines:?}");
    }
}
