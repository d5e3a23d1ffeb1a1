//! The results, saved as JSON and printed as tables in Markdown for a README.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::Section;
use crate::lap::{self, Lap};
use crate::machine::Machine;
use crate::ratio::{self, Compared, Ratio};

/// A method to generate a database or files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Shop,
    ShopLike,
    ShopSql,
    Tpch,
    Parquet,
}

impl Way {
    /// All ways, in the order of a round.
    pub(crate) const ALL: [Way; 5] = [Way::Shop, Way::ShopLike, Way::ShopSql, Way::Tpch, Way::Parquet];

    pub(crate) fn part(self) -> Section {
        match self {
            Way::Shop | Way::ShopLike | Way::ShopSql => Section::Shop,
            Way::Tpch | Way::Parquet => Section::Tpch,
        }
    }

    /// Returns the name that is printed during the run.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Shop => "shop",
            Way::ShopLike => "shop_like",
            Way::ShopSql => "shop_sql",
            Way::Tpch => "tpch",
            Way::Parquet => "parquet",
        }
    }

    /// Returns the title in the table.
    fn title(self) -> &'static str {
        match self {
            Way::Shop => "`sqluice generate --preset shop`, durable",
            Way::ShopLike => {
                "prepared `INSERT`s of the same rows in one transaction, indexes after; as durable, foreign keys looked up"
            }
            Way::ShopSql => "the same, nothing durable, no foreign keys looked up",
            Way::Tpch => "`sqluice generate --preset tpch`, durable, and `sqluice check`",
            Way::Parquet => "`tpchgen-cli parquet`",
        }
    }
}

/// The laps of one round.
pub(crate) type Round = BTreeMap<Way, Lap>;

fn seconds(round: &Round, way: Way) -> Option<f64> {
    round.get(&way).map(|lap| lap.seconds)
}

const COMPARED: [Compared<Round>; 3] = [
    Compared {
        what: "time of `INSERT` to `generate`, the shop, as durable and with foreign keys looked up",
        ratio: |round| Some(seconds(round, Way::ShopLike)? / seconds(round, Way::Shop)?),
        claim: Some(("at least 10", 10.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `INSERT` to `generate`, the shop, with unsafe PRAGMAs and no foreign keys",
        ratio: |round| Some(seconds(round, Way::ShopSql)? / seconds(round, Way::Shop)?),
        claim: Some(("at least 10", 10.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `generate` and `check` to `tpchgen-cli parquet`, TPC-H",
        ratio: |round| Some(seconds(round, Way::Tpch)? / seconds(round, Way::Parquet)?),
        claim: Some(("at most 3", 0.0..=3.0)),
    },
];

/// The record of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) benchmark: &'static str,
    pub(crate) taken: String,
    sqluice: String,
    /// The version of the generator of Parquet files, if it was measured.
    tpchgen: Option<String>,
    machine: Machine,
    orders: u64,
    scale: f64,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
}

impl Record {
    /// Summarizes the rounds, of which there must be at least one.
    pub(crate) fn new(
        taken: String,
        (sqluice, tpchgen): (String, Option<String>),
        machine: Machine,
        (orders, scale): (u64, f64),
        rounds: Vec<Round>,
    ) -> Record {
        let ratios = Ratio::all(&COMPARED, &rounds);
        Record { benchmark: "generate", taken, sqluice, tpchgen, machine, orders, scale, rounds, ratios }
    }

    /// Formats the tables: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        let mut text = lap::HEAD.to_owned();
        for way in Way::ALL {
            let laps: Option<Vec<&Lap>> = self.rounds.iter().map(|round| round.get(&way)).collect();
            if let Some(laps) = laps {
                let _ = writeln!(text, "{}", lap::row(way.title(), &laps));
            }
        }
        let _ = write!(text, "\n{}", ratio::table(&self.ratios));
        let _ = writeln!(text, "\nmachine: {}\nprogram: {}", self.machine, self.sqluice);
        if let Some(tpchgen) = &self.tpchgen {
            let _ = writeln!(text, "beside: {tpchgen}");
        }
        text
    }
}
