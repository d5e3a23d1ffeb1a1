//! Writes the record of a comparison that a script in Python has measured: `bench/python.py`, `bench/distributed.py`, `bench/servers.py`.
//!
//! ```text
//!  script: ways, laps in rounds ──JSON, standard input──> tables, ratios and the record, as those of the other comparisons
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::house::{Finished, experiments};
use crate::lap::{Column, Lap, cores, memory, mib, rate, rows, seconds};
use crate::machine::{self, Machine};
use crate::options::here;
use crate::ratio::{self, Ratio};
use crate::rounds::{Round, Way, table, way};

/// Writes the record of a comparison that a script has measured, from JSON on standard input
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// The folder for the record [default: bench/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// The measurements of a script.
#[derive(Debug, Deserialize)]
struct Measured {
    benchmark: String,
    /// The command that ran the script, such as `bench/servers --rows 500000`.
    command: String,
    /// The measured program and its version.
    program: String,
    /// The versions of the other programs.
    beside: Vec<String>,
    input: Value,
    /// The duration of the script in seconds.
    seconds: f64,
    /// The names of the columns after the titles of the ways.
    columns: Vec<String>,
    ways: Vec<MeasuredWay>,
    /// The laps of each round, by the names of their ways.
    rounds: Vec<BTreeMap<String, MeasuredLap>>,
    ratios: Vec<MeasuredRatio>,
}

#[derive(Debug, Deserialize)]
struct MeasuredWay {
    /// The title of the table with the way.
    part: String,
    name: String,
    title: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MeasuredLap {
    rows: u64,
    seconds: f64,
    cpu_seconds: f64,
    memory_bytes: u64,
}

/// A value of the way `one`, divided by that of the way `other`.
#[derive(Debug, Deserialize)]
struct MeasuredRatio {
    what: String,
    /// `time`, `rate` or `processors`, or `memory` for the memory of the way `one` alone, in MiB.
    value: String,
    one: String,
    other: String,
    /// A claim about the median, such as `at least 5`; empty without a claim.
    claim: String,
}

/// Writes the record, and prints its tables.
///
/// # Errors
/// When standard input has something else than measurements, or the record can't be written.
pub fn run(settings: &Settings) -> anyhow::Result<()> {
    let measured = serde_json::from_reader(io::stdin().lock()).context("cannot read the measurements")?;
    let results = settings.results.clone().unwrap_or_else(|| here().join("results"));
    finished(measured)?.save(&results)
}

fn finished(measured: Measured) -> anyhow::Result<Finished> {
    let Measured { benchmark, command, program, beside, input, seconds, columns, ways, rounds, ratios } =
        measured;
    let benchmark = kept(benchmark);
    let ways: Vec<Way<(), ()>> =
        ways.into_iter().map(|of| way(kept(of.part), kept(of.name), kept(of.title), |()| ())).collect();
    let named = |name: &str| {
        let way = ways.iter().find(|way| way.name == name);
        way.map(|way| way.name).with_context(|| format!("no way is named {name:?}"))
    };
    let rounds = rounds.iter().map(|round| {
        let laps = round.iter().map(|(name, lap)| {
            let MeasuredLap { rows, seconds, cpu_seconds, memory_bytes } = *lap;
            Ok((named(name)?, Lap { rows, seconds, cpu_seconds, memory_bytes, ..Lap::default() }))
        });
        laps.collect::<anyhow::Result<Round>>()
    });
    let rounds = rounds.collect::<anyhow::Result<Vec<Round>>>()?;
    let columns = columns.iter().map(|name| column(name)).collect::<anyhow::Result<Vec<Column<'_>>>>()?;
    let parts = ways.chunk_by(|a, b| a.part == b.part);
    let tables: Vec<String> = parts.map(|ways| table(ways[0].part, &columns, ways, &rounds)).collect();
    let ratios = ratios.into_iter().map(|MeasuredRatio { what, value, one, other, claim }| {
        let (one, other) = (named(&one)?, named(&other)?);
        let of = match &*value {
            "time" => ratio::time,
            "rate" => ratio::rate,
            "processors" => ratio::processors,
            "memory" => |round: &Round, one: &str, _: &str| Some(mib(round.get(one)?.memory_bytes as f64)),
            _ => bail!("{value:?} is no value of a lap"),
        };
        Ok(Ratio::of(kept(what), |round| of(round, one, other), kept(claim), &rounds))
    });
    let ratios = ratios.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
    Ok(Finished {
        benchmark,
        command,
        taken: machine::now(),
        seconds,
        version: program,
        machine: Machine::here(here()),
        beside,
        input,
        experiments: experiments(benchmark, &ways, &rounds),
        rounds,
        ratios,
        tables: tables.join("\n"),
    })
}

fn column(name: &str) -> anyhow::Result<Column<'static>> {
    Ok(match name {
        "rows" => ("rows", &rows),
        "seconds" => ("seconds: median (min..max)", &seconds),
        "rate" => ("M rows/s", &rate),
        "cores" => ("seconds on cores", &cores),
        "memory" => ("memory beyond the data", &memory),
        _ => bail!("{name:?} is no column"),
    })
}

/// Keeps a text until the program ends, as those of the other comparisons, which are in the program.
fn kept(text: String) -> &'static str {
    text.leak()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn measured(ratio: &Value) -> anyhow::Result<Finished> {
        let lap = |seconds: f64| json!({ "rows": 10, "seconds": seconds, "memory_bytes": 3 << 20 });
        let measured = json!({
            "benchmark": "servers", "command": "bench/servers", "program": "sqluice 1", "beside": ["psql 15"], "input": {"rows": 10},
            "seconds": 9.5, "columns": ["rows", "seconds", "memory"],
            "ways": [
                {"part": "PostgreSQL", "name": "a", "title": "`sqluice load`"},
                {"part": "PostgreSQL", "name": "b", "title": "`psql`"},
                {"part": "MariaDB", "name": "c", "title": "`mariadb`"},
            ],
            "rounds": [{"a": lap(1.0), "b": lap(4.0), "c": lap(1.0)}, {"a": lap(2.0), "b": lap(4.0), "c": lap(1.0)}],
            "ratios": [ratio],
        });
        finished(serde_json::from_value(measured)?)
    }

    #[test]
    fn a_script_gets_a_table_for_each_part_and_its_ratios() {
        let ratio = json!({"what": "psql to sqluice", "value": "time", "one": "b", "other": "a", "claim": "at least 2"});
        let finished = measured(&ratio).unwrap();
        assert_eq!(
            finished.report(),
            "| PostgreSQL | rows | seconds: median (min..max) | memory beyond the data |\n\
             |---|---|---|---|\n\
             | `sqluice load` | 10 | 1.50 (1.00..2.00) | 3 MiB |\n\
             | `psql` | 10 | 4.00 (4.00..4.00) | 3 MiB |\n\
             \n\
             | MariaDB | rows | seconds: median (min..max) | memory beyond the data |\n\
             |---|---|---|---|\n\
             | `mariadb` | 10 | 1.00 (1.00..1.00) | 3 MiB |\n\
             \n\
             | ratio, within a round | median (min..max) | claim | |\n\
             |---|---|---|---|\n\
             | psql to sqluice | 3.00 (2.00..4.00) | at least 2 | met |\n"
        );
        assert_eq!(finished.experiments.len(), 2);
    }

    #[test]
    fn a_ratio_of_an_unknown_way_or_value_is_refused() {
        for (value, one) in [("time", "x"), ("weight", "a")] {
            let ratio = json!({"what": "", "value": value, "one": one, "other": "a", "claim": ""});
            assert!(measured(&ratio).is_err(), "{value} {one}");
        }
    }
}
