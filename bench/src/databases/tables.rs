//! Databases with many tables: the time of each verb for a table, compared with the time in a database with few tables.
//!
//! SQLite creates databases of a thousand tables each, since it walks the whole schema for every table that it adds; they are merged into
//! larger ones. A table has a key, a reference to the table before, an index and two rows.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use rusqlite::Connection;
use serde::Serialize;

use crate::lap::save;
use crate::machine::{self, Machine};
use crate::options::{Options, say};
use crate::process::Runner;
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{count, grouped, warm};

/// The number of tables in a database that SQLite creates.
const PART_TABLES: u64 = 1000;

/// The size of a table and its index, in bytes.
const TABLE_BYTES: u64 = 2 * 4096 + 512;

/// The largest allowed ratio of the time per table to the time per table of the database with the fewest
/// tables.
const FACTOR_MAX: f64 = 2.0;

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Numbers of tables, the smallest first: multiples of 1,000
    #[arg(long, default_values = ["1k", "10k", "100k"], value_delimiter = ',', value_name = "N", value_parser = count)]
    tables: Vec<u64>,
    /// What is measured [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    verbs: Vec<Verb>,
    #[command(flatten)]
    options: Options,
}

/// A verb that lists tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Verb {
    Info,
    Check,
    Copy,
    Merge,
    Export,
    Profile,
    Index,
    Load,
}

impl Verb {
    const ALL: [Verb; 8] = [
        Verb::Info,
        Verb::Check,
        Verb::Copy,
        Verb::Merge,
        Verb::Export,
        Verb::Profile,
        Verb::Index,
        Verb::Load,
    ];

    fn name(self) -> &'static str {
        match self {
            Verb::Info => "info",
            Verb::Check => "check",
            Verb::Copy => "copy",
            Verb::Merge => "merge",
            Verb::Export => "export",
            Verb::Profile => "profile",
            Verb::Index => "index",
            Verb::Load => "load",
        }
    }
}

/// The median time of a verb in all rounds, in seconds, by the number of tables.
type Seconds = BTreeMap<u64, f64>;

#[derive(Debug, Serialize)]
struct Record {
    benchmark: &'static str,
    taken: String,
    sqluice: String,
    machine: Machine,
    seconds: BTreeMap<Verb, Seconds>,
}

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let dir = settings.options.dir();
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let sqluice = Sqluice::new(runner, settings.options.sqluice()?);
    let (version, taken, machine) = (sqluice.version()?, machine::now(), Machine::here(&dir));
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;
    let most = settings.tables.iter().max().copied().unwrap_or(0);
    let scratch = Scratch::new(&dir, 8 * most * TABLE_BYTES)?;
    let verbs = if settings.verbs.is_empty() { Verb::ALL.to_vec() } else { settings.verbs.clone() };
    let mut seconds: BTreeMap<Verb, Seconds> = BTreeMap::new();
    for &tables in &settings.tables {
        let sources = [0, 1].map(|half| scratch.file(&format!("many-{half}.db")));
        for (source, first) in sources.iter().zip([1, 11]) {
            make(&sqluice, &scratch, source, tables, first)?;
        }
        for &verb in &verbs {
            let mut laps = Vec::new();
            for _ in 0..settings.options.rounds {
                laps.push(lap(&sqluice, &scratch, &sources, verb)?);
            }
            laps.sort_by(f64::total_cmp);
            let median = laps[laps.len() / 2];
            say(&format!("{} of {} tables: {median:.3} s\n", verb.name(), grouped(tables)))?;
            seconds.entry(verb).or_default().insert(tables, median);
        }
        sources.iter().try_for_each(|source| remove(source))?;
    }
    let text = table(&settings.tables, &seconds)?;
    let benchmark = "databases-tables";
    let record = Record { benchmark, taken, sqluice: version, machine, seconds };
    let saved = save(&record, benchmark, &record.taken, &settings.options.results())?;
    say(&format!("\n{text}record: {}\n", saved.display()))
}

/// Formats the microseconds for each table, and their ratio to those of the smallest database.
fn table(counts: &[u64], seconds: &BTreeMap<Verb, Seconds>) -> anyhow::Result<String> {
    let mut text = String::from(
        "| verb | tables | microseconds a table | times that of the fewest | |\n|---|---|---|---|---|\n",
    );
    for (verb, seconds) in seconds {
        let each = |tables: u64| Some(seconds.get(&tables)? / tables as f64 * 1e6);
        let Some(fewest) = counts.first().and_then(|tables| each(*tables)) else { continue };
        for &tables in counts {
            let Some(each) = each(tables) else { continue };
            let (verb, factor) = (verb.name(), each / fewest);
            let met = if factor <= FACTOR_MAX { "met" } else { "MISSED" };
            writeln!(text, "| {verb} | {} | {each:.0} | {factor:.2} | {met} |", grouped(tables))?;
        }
    }
    Ok(text)
}

/// Creates a database of `tables` tables, whose rows have two keys from `first` on.
fn make(
    sqluice: &Sqluice<'_>,
    scratch: &Scratch,
    file: &Path,
    tables: u64,
    first: u64,
) -> anyhow::Result<()> {
    let mut parts = Vec::new();
    for part in 0..tables.div_ceil(PART_TABLES) {
        let db = scratch.file(&format!("part-{part}.db"));
        let connection = Connection::open(&db)?;
        let mut sql = String::from(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN;",
        );
        for number in part * PART_TABLES..((part + 1) * PART_TABLES).min(tables) {
            let (before, second) = (number.saturating_sub(1), first + 1);
            write!(
                sql,
                "CREATE TABLE t{number} (id INTEGER PRIMARY KEY, name TEXT, before INT REFERENCES t{before});
                 CREATE INDEX i{number} ON t{number} (name);
                 INSERT INTO t{number} VALUES ({first}, 'one', 1), ({second}, 'two', NULL);"
            )?;
        }
        connection.execute_batch(&(sql + "COMMIT"))?;
        parts.push(db);
    }
    let mut arguments: Vec<&OsStr> = vec!["merge".as_ref(), file.as_os_str()];
    arguments.extend(parts.iter().map(|part| part.as_os_str()));
    sqluice.run(&arguments)?;
    parts.iter().try_for_each(|part| remove(part))?;
    Ok(())
}

/// Runs a verb and returns its time in seconds.
fn lap(sqluice: &Sqluice<'_>, scratch: &Scratch, sources: &[PathBuf; 2], verb: Verb) -> anyhow::Result<f64> {
    sources.iter().try_for_each(|source| warm(source))?;
    let [one, other] = sources;
    let (target, rows) = (scratch.file("target.db"), scratch.file("added.csv"));
    std::fs::write(&rows, "a,b\n1,2\n")?;
    // The target of an export is a folder.
    let target = if verb == Verb::Export { scratch.file("exported") } else { target };
    let (one, to) = (one.as_os_str(), target.as_os_str());
    let arguments: Vec<&OsStr> = match verb {
        Verb::Info | Verb::Check => vec![verb.name().as_ref(), one],
        Verb::Copy => vec!["copy".as_ref(), one, to],
        Verb::Merge => vec!["merge".as_ref(), to, one, other.as_os_str()],
        Verb::Export => {
            vec!["export".as_ref(), one, "--to".as_ref(), to, "--format".as_ref(), "csv".as_ref()]
        }
        Verb::Profile => vec!["profile".as_ref(), one, "--to".as_ref(), to],
        Verb::Index | Verb::Load => {
            std::fs::copy(one, &target)?;
            if verb == Verb::Index {
                vec!["index".as_ref(), to, "CREATE INDEX added ON t0 (before)".as_ref()]
            } else {
                vec!["load".as_ref(), to, rows.as_os_str()]
            }
        }
    };
    let took = sqluice.run(&arguments)?;
    match target.is_dir() {
        true => std::fs::remove_dir_all(&target)?,
        false if target.exists() => remove(&target)?,
        false => {}
    }
    Ok(took.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_grows_with_the_square_of_tables_is_missed() {
        let of = |seconds: [f64; 2]| Seconds::from([(1000, seconds[0]), (10_000, seconds[1])]);
        let seconds = BTreeMap::from([(Verb::Copy, of([0.1, 1.2])), (Verb::Merge, of([0.1, 10.0]))]);
        let text = table(&[1000, 10_000], &seconds).unwrap();
        assert!(text.contains("| copy | 10,000 | 120 | 1.20 | met |"), "{text}");
        assert!(text.contains("| merge | 10,000 | 1000 | 10.00 | MISSED |"), "{text}");
    }
}
