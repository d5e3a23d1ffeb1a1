//! The results, saved as JSON and printed as tables in Markdown for a README.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::Section;
use super::lookup::TIMES;
use crate::lap::{self, Lap};
use crate::machine::Machine;
use crate::ratio::{self, Compared, Ratio};

/// A method to change or to read an existing database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Attach,
    Generate,
    Load,
    AttachWal,
    GenerateWal,
    LoadWal,
    Insert,
    Rows,
    #[serde(rename = "unrolled_1")]
    Unrolled1,
    #[serde(rename = "unrolled_10")]
    Unrolled10,
    #[serde(rename = "unrolled_50")]
    Unrolled50,
    #[serde(rename = "unrolled_100")]
    Unrolled100,
    #[serde(rename = "unrolled_200")]
    Unrolled200,
    #[serde(rename = "attach_5m")]
    Attach5M,
    InRows,
    InJoin,
    InCarray,
    InCarraySorted,
    InTemp,
    InTempKey,
    Append,
    AppendSql,
    AppendDrop,
    AppendPlain,
    AppendComputed,
    ImportComputed,
    Index,
    Create,
    #[serde(rename = "create_2")]
    Create2,
}

impl Way {
    /// All ways, in the order of a round.
    pub(crate) const ALL: [Way; 29] = [
        Way::Attach,
        Way::Generate,
        Way::Load,
        Way::AttachWal,
        Way::GenerateWal,
        Way::LoadWal,
        Way::Insert,
        Way::Rows,
        Way::Unrolled1,
        Way::Unrolled10,
        Way::Unrolled50,
        Way::Unrolled100,
        Way::Unrolled200,
        Way::Attach5M,
        Way::InRows,
        Way::InJoin,
        Way::InCarray,
        Way::InCarraySorted,
        Way::InTemp,
        Way::InTempKey,
        Way::Append,
        Way::AppendSql,
        Way::AppendDrop,
        Way::AppendPlain,
        Way::AppendComputed,
        Way::ImportComputed,
        Way::Index,
        Way::Create,
        Way::Create2,
    ];

    /// The prepared INSERTs of different sizes, with their numbers of rows.
    pub(crate) const UNROLLED: [(Way, usize); 5] = [
        (Way::Unrolled1, 1),
        (Way::Unrolled10, 10),
        (Way::Unrolled50, 50),
        (Way::Unrolled100, 100),
        (Way::Unrolled200, 200),
    ];

    pub(crate) fn part(self) -> Section {
        match self {
            Way::Attach | Way::Generate | Way::Load => Section::Table,
            Way::AttachWal | Way::GenerateWal | Way::LoadWal => Section::Table,
            Way::InRows | Way::InJoin => Section::In,
            Way::InCarray | Way::InCarraySorted | Way::InTemp | Way::InTempKey => Section::In,
            Way::Append | Way::AppendSql | Way::AppendDrop => Section::Append,
            Way::AppendPlain | Way::AppendComputed | Way::ImportComputed => Section::Computed,
            Way::Index | Way::Create | Way::Create2 => Section::Index,
            _ => Section::Insert,
        }
    }

    /// Returns `true` if the database is in WAL mode, and `false` if it has a rollback journal (DELETE).
    pub(crate) fn is_wal(self) -> bool {
        matches!(self, Way::AttachWal | Way::GenerateWal | Way::LoadWal)
    }

    /// Returns `true` if the way changes the table `plain` instead of `product`.
    pub(crate) fn is_plain(self) -> bool {
        self == Way::AppendPlain
    }

    /// Returns the name that is printed during the run, and the title in the table.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Way::Attach => ("attach", "a new table beside one of 50M rows, DELETE: `ATTACH` copy"),
            Way::Generate => ("generate", "`sqluice generate`, DELETE"),
            Way::Load => ("load", "`sqluice load` of a CSV file, DELETE"),
            Way::AttachWal => ("attach/w", "`ATTACH` copy, WAL"),
            Way::GenerateWal => ("gener/w", "`sqluice generate`, WAL"),
            Way::LoadWal => ("load/w", "`sqluice load` of a CSV file, WAL"),
            Way::Insert => ("insert", "rows in memory: `sqluice::insert`"),
            Way::Rows => ("rows", "`INSERT ... SELECT FROM sqluice_rows(?1)`, a statement of one's own"),
            Way::Unrolled1 => ("insert 1", "prepared `INSERT`, 1 row"),
            Way::Unrolled10 => ("insert 10", "10 rows"),
            Way::Unrolled50 => ("insert 50", "50 rows"),
            Way::Unrolled100 => ("ins. 100", "100 rows"),
            Way::Unrolled200 => ("ins. 200", "200 rows"),
            Way::Attach5M => ("attach 5M", "`ATTACH` copy of the same"),
            Way::InRows => {
                ("in rows", "ids looked up by `IN (SELECT c1 FROM sqluice_rows(?1))`, `Rows::keys`")
            }
            Way::InJoin => ("in join", "the same ids: `sqluice_rows(?1) JOIN user ON id = c1`"),
            Way::InCarray => ("in carray", "`IN (SELECT value FROM carray(?1))`"),
            Way::InCarraySorted => ("in car./s", "the same, ids sorted first"),
            Way::InTemp => ("in temp", "a temporary table, filled and looked up"),
            Way::InTempKey => ("in temp/k", "the same with an INTEGER PRIMARY KEY"),
            Way::Append => ("append", "appended to 20M rows with an index: `sqluice load --append`"),
            Way::AppendSql => ("inserted", "prepared `INSERT` in one transaction, default cache"),
            Way::AppendDrop => ("dropped", "`DROP INDEX`, `INSERT`, `CREATE INDEX`"),
            Way::AppendPlain => {
                ("plain", "appended to a table with two indexes on columns: `sqluice load --append`")
            }
            Way::AppendComputed => (
                "computed",
                "to one with two CHECKs, a STORED column, a partial index, an index on `lower(name)`: `sqluice load --append`",
            ),
            Way::ImportComputed => {
                ("import", "to the same: `sqlite3`, `.import` into a temporary table, `INSERT ... SELECT`")
            }
            Way::Index => ("index", "an index on text: `sqluice index`"),
            Way::Create => ("create", "`CREATE INDEX`"),
            Way::Create2 => ("create 2", "the same with `PRAGMA threads = 2` and 200 MB of cache"),
        }
    }

    /// Returns the name that is printed during the run.
    pub(crate) fn name(self) -> &'static str {
        self.names().0
    }
}

impl Section {
    /// Returns the number of rows that each way writes or looks up at scale 1.
    pub(crate) fn rows(self) -> f64 {
        match self {
            Section::Table | Section::Index => 20e6,
            Section::Insert | Section::Append => 5e6,
            Section::Computed => 1e6,
            Section::In => 100e3,
        }
    }

    /// Returns the number of rows of the existing database at scale 1.
    pub(crate) fn rows_there(self) -> f64 {
        match self {
            Section::Table => 50e6,
            Section::Insert => 0.0,
            // A tenth of the rows is looked up: with more rows the lookups alone would take most of the time.
            Section::In => 1e6,
            Section::Append | Section::Index => 20e6,
            Section::Computed => 100e3,
        }
    }

    /// Returns the maximum total size of the part's files at scale 1, in bytes.
    pub(crate) fn bytes_max(self) -> f64 {
        match self {
            Section::Table => 4.5e9,
            Section::Insert | Section::In => 0.6e9,
            Section::Append => 4e9,
            Section::Computed => 1e9,
            Section::Index => 2.5e9,
        }
    }
}

/// The laps of one round.
pub(crate) type Round = BTreeMap<Way, Lap>;

fn seconds(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.seconds)
}

fn cpu_seconds(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.cpu_seconds)
}

/// Returns the ratio of the time of the fastest of `ways` to that of `to`.
fn fastest(round: &Round, ways: &[Way], to: Way) -> Option<f64> {
    let times = ways.iter().map(|way| seconds(round, *way)).collect::<Option<Vec<f64>>>()?;
    Some(times.into_iter().fold(f64::INFINITY, f64::min) / seconds(round, to)?)
}

const AT_LEAST_5_AIM_8: &str = "at least 5, aim 8";

const COMPARED: [Compared<Round>; 16] = [
    Compared {
        what: "time of the `ATTACH` copy to `generate`, DELETE",
        ratio: |round| fastest(round, &[Way::Attach], Way::Generate),
        claim: Some((AT_LEAST_5_AIM_8, 5.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of the `ATTACH` copy to `generate`, WAL",
        ratio: |round| fastest(round, &[Way::AttachWal], Way::GenerateWal),
        claim: Some((AT_LEAST_5_AIM_8, 5.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of the `ATTACH` copy to `load`, DELETE",
        ratio: |round| fastest(round, &[Way::Attach], Way::Load),
        claim: Some((AT_LEAST_5_AIM_8, 5.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of the `ATTACH` copy to `load`, WAL",
        ratio: |round| fastest(round, &[Way::AttachWal], Way::LoadWal),
        claim: Some((AT_LEAST_5_AIM_8, 5.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of the best prepared `INSERT` to `sqluice::insert`",
        ratio: |round| fastest(round, &Way::UNROLLED.map(|(way, _)| way), Way::Insert),
        claim: Some(("at least 1.3", 1.3..=f64::INFINITY)),
    },
    Compared {
        what: "time of the best prepared `INSERT` to `sqluice_rows`",
        ratio: |round| fastest(round, &Way::UNROLLED.map(|(way, _)| way), Way::Rows),
        claim: Some(("at least 1", 1.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of the `ATTACH` copy to `sqluice_rows` (aim 1)",
        ratio: |round| fastest(round, &[Way::Attach5M], Way::Rows),
        claim: None,
    },
    Compared {
        what: "time of `IN` by `carray`, the faster, to `sqluice_rows`",
        ratio: |round| fastest(round, &[Way::InCarray, Way::InCarraySorted], Way::InRows),
        claim: Some(("at least 1", 1.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `IN` by a temporary table, the faster, to `sqluice_rows`",
        ratio: |round| fastest(round, &[Way::InTemp, Way::InTempKey], Way::InRows),
        claim: Some(("at least 3", 3.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `IN` by a temporary table, the faster, to `sqluice_rows` that is joined",
        ratio: |round| fastest(round, &[Way::InTemp, Way::InTempKey], Way::InJoin),
        claim: Some(("at least 3", 3.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `INSERT` to `load --append`, with an index",
        ratio: |round| fastest(round, &[Way::AppendSql], Way::Append),
        claim: Some(("at least 5", 5.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `DROP INDEX`, `INSERT`, `CREATE INDEX` to `load --append`",
        ratio: |round| fastest(round, &[Way::AppendDrop], Way::Append),
        claim: None,
    },
    Compared {
        what: "time of `load --append` with expressions to plain indexes",
        ratio: |round| fastest(round, &[Way::AppendComputed], Way::AppendPlain),
        claim: Some(("at most 2", 0.0..=2.0)),
    },
    Compared {
        what: "processor time of `load --append` with expressions to plain indexes",
        ratio: |round| Some(cpu_seconds(round, Way::AppendComputed)? / cpu_seconds(round, Way::AppendPlain)?),
        claim: None,
    },
    Compared {
        what: "time of `.import` and `INSERT` to `load --append`, with expressions",
        ratio: |round| fastest(round, &[Way::ImportComputed], Way::AppendComputed),
        claim: Some(("at least 8", 8.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `CREATE INDEX`, the faster, to `sqluice index`",
        ratio: |round| fastest(round, &[Way::Create, Way::Create2], Way::Index),
        claim: Some(("at least 4", 4.0..=f64::INFINITY)),
    },
];

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
        Record { benchmark: "existing", taken, sqluice, machine, rows_scale, rounds, ratios }
    }

    /// Formats the tables: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        let mut text = lap::HEAD.to_owned();
        for way in Way::ALL {
            let laps: Option<Vec<&Lap>> = self.rounds.iter().map(|round| round.get(&way)).collect();
            if let Some(laps) = laps {
                let _ = writeln!(text, "{}", lap::row(way.names().1, &laps));
            }
        }
        let _ = write!(text, "\n{}", ratio::table(&self.ratios));
        if self.rounds.iter().any(|round| round.contains_key(&Way::InRows)) {
            let _ = writeln!(text, "\nids: {TIMES} times as many as are looked up at once");
        }
        let _ = writeln!(text, "\nmachine: {}\nprogram: {}", self.machine, self.sqluice);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(ways: &[(Way, f64)]) -> Vec<String> {
        let lap =
            |seconds| Lap { rows: 1, bytes: 1, seconds, cpu_seconds: 1.0, memory_bytes: 1, output: None };
        let round: Round = ways.iter().map(|(way, seconds)| (*way, lap(*seconds))).collect();
        Ratio::all(&COMPARED, &[round]).iter().map(Ratio::line).collect()
    }

    #[test]
    fn the_fastest_of_several_ways_counts() {
        let lines = ratios(&[(Way::Create, 9.0), (Way::Create2, 6.0), (Way::Index, 2.0)]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("| 3.00 (3.00..3.00) | at least 4 | short |"), "{lines:?}");
    }

    #[test]
    fn each_part_has_its_ratios() {
        let of = |part| {
            let ways = Way::ALL.into_iter().filter(|way| way.part() == part);
            ratios(&ways.map(|way| (way, 1.0)).collect::<Vec<_>>()).len()
        };
        let parts = [
            Section::Table,
            Section::Insert,
            Section::In,
            Section::Append,
            Section::Computed,
            Section::Index,
        ];
        assert_eq!(parts.map(of), [4, 3, 3, 2, 3, 1]);
    }
}
