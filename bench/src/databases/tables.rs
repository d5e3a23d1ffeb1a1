//! Databases with many tables: the time of each verb, divided by the number of tables, compared with that in the database with the fewest
//! tables.
//!
//! SQLite creates databases of a thousand tables each, which are then merged into larger ones, because SQLite walks the whole schema for
//! every table that it adds. A table has a key, a foreign key to the table before, an index and two rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde_json::json;
use sqluice_lab::figures::Spread;

use crate::db::open;
use crate::house::House;
use crate::options::{Options, say};
use crate::process::Runner;
use crate::rounds::Way;
use crate::scratch::remove;
use crate::{count, grouped, warm, words};

/// The number of tables in a database that SQLite creates.
const PART_TABLES: u64 = 1000;

/// The size of a table and its index, in bytes.
const TABLE_BYTES: u64 = 2 * 4096 + 512;

/// The maximum ratio of the time per table in a database to the time per table in the database with the fewest tables.
const FACTOR_MAX: f64 = 2.0;

#[derive(Debug, Args)]
pub struct Settings {
    /// Numbers of tables, the smallest first: multiples of 1,000
    #[arg(long, default_values = ["1k", "10k", "100k"], value_delimiter = ',', value_name = "N", value_parser = count)]
    tables: Vec<u64>,
    /// What is measured [default: all]
    #[arg(long, value_delimiter = ',')]
    verbs: Vec<String>,
    #[command(flatten)]
    options: Options,
}

/// The verbs that are measured.
const VERBS: [&str; 8] = ["info", "check", "copy", "merge", "export", "profile", "index", "load"];

/// The median seconds of a verb, by the number of tables.
type Seconds = BTreeMap<u64, f64>;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let most = settings.tables.iter().max().copied().unwrap_or(0);
    if let Some(unknown) = settings.verbs.iter().find(|verb| !VERBS.contains(&&***verb)) {
        bail!("{unknown} is not measured; choose one of: {}", VERBS.join(", "));
    }
    let wanted = |verb: &&str| settings.verbs.is_empty() || settings.verbs.iter().any(|one| one == verb);
    let house = House::open(&settings.options, runner, 8 * most * TABLE_BYTES)?;
    let mut seconds: BTreeMap<&str, Seconds> = BTreeMap::new();
    for &tables in &settings.tables {
        let sources = [0, 1].map(|half| house.file(&format!("many-{half}.db")));
        for (source, first) in sources.iter().zip([1, 11]) {
            make(&house, source, tables, first)?;
        }
        for verb in VERBS.into_iter().filter(wanted) {
            let laps = (0..settings.options.rounds).map(|_| lap(&house, &sources, verb));
            let laps = laps.collect::<anyhow::Result<Vec<f64>>>()?;
            let median = Spread::of_samples(&laps).unwrap_or_default().median;
            say(&format!("{verb} of {} tables: {median:.3} s\n", grouped(tables)))?;
            seconds.entry(verb).or_default().insert(tables, median);
        }
        sources.iter().try_for_each(|source| remove(source))?;
    }
    let text = table(&settings.tables, &seconds)?;
    let ways: [Way<(), ()>; 0] = [];
    house.finish("databases-tables", json!({ "seconds": seconds }), &ways, &[], &[], &text)
}

/// Formats the results: for each verb and database, the microseconds for each table, and the ratio to the smallest database.
fn table(counts: &[u64], seconds: &BTreeMap<&str, Seconds>) -> anyhow::Result<String> {
    let mut text = String::from(
        "| verb | tables | microseconds a table | times that of the fewest | |\n|---|---|---|---|---|\n",
    );
    for (verb, seconds) in seconds {
        let each = |tables: u64| Some(seconds.get(&tables)? / tables as f64 * 1e6);
        let Some(fewest) = counts.first().and_then(|tables| each(*tables)) else { continue };
        for &tables in counts {
            let Some(each) = each(tables) else { continue };
            let factor = each / fewest;
            let met = if factor <= FACTOR_MAX { "met" } else { "MISSED" };
            writeln!(text, "| {verb} | {} | {each:.0} | {factor:.2} | {met} |", grouped(tables))?;
        }
    }
    Ok(text)
}

/// Creates a database of `tables` tables. Each table has the same two keys: `first` and `first + 1`.
fn make(house: &House<'_>, file: &Path, tables: u64, first: u64) -> anyhow::Result<()> {
    let mut parts = Vec::new();
    for part in 0..tables.div_ceil(PART_TABLES) {
        let db = house.file(&format!("part-{part}.db"));
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
        open(&db, &(sql + "COMMIT"))?;
        parts.push(db);
    }
    let sources = parts.iter().map(|part| part.clone().into_os_string());
    house.sqluice.run(&words!["merge", file].into_iter().chain(sources).collect::<Vec<_>>())?;
    parts.iter().try_for_each(|part| remove(part))?;
    Ok(())
}

/// Runs a verb on a database, and returns its seconds.
fn lap(house: &House<'_>, [one, other]: &[PathBuf; 2], verb: &str) -> anyhow::Result<f64> {
    warm(one)?;
    warm(other)?;
    // An export writes a folder, the other verbs write a file.
    let target = house.file(if verb == "export" { "exported" } else { "target.db" });
    if verb == "index" || verb == "load" {
        std::fs::copy(one, &target)?;
    }
    let words = match verb {
        "copy" => words!["copy", one, target].to_vec(),
        "merge" => words!["merge", target, one, other].to_vec(),
        "export" => words!["export", one, "--to", target, "--format", "csv"].to_vec(),
        "profile" => words!["profile", one, "--to", target].to_vec(),
        "index" => words!["index", target, "CREATE INDEX added ON t0 (before)"].to_vec(),
        "load" => words!["load", target, house.write("added.csv", "a,b\n1,2\n")?].to_vec(),
        other => words![other, one].to_vec(),
    };
    let took = house.sqluice.run(&words)?;
    match target.is_dir() {
        true => std::fs::remove_dir_all(&target)?,
        false => remove(&target)?,
    }
    Ok(took.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadratic_time_in_the_number_of_tables_misses_the_claim() {
        let of = |seconds: [f64; 2]| Seconds::from([(1000, seconds[0]), (10_000, seconds[1])]);
        let seconds = BTreeMap::from([("copy", of([0.1, 1.2])), ("merge", of([0.1, 10.0]))]);
        let text = table(&[1000, 10_000], &seconds).unwrap();
        assert!(text.contains("| copy | 10,000 | 120 | 1.20 | met |"), "{text}");
        assert!(text.contains("| merge | 10,000 | 1000 | 10.00 | MISSED |"), "{text}");
    }
}
