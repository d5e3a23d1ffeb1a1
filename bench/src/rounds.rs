//! Ways, and rounds of their laps: each round runs every way once, every second round in reverse order.

use std::collections::BTreeMap;

use anyhow::ensure;
use sqluice_lab::turn;

use crate::lap::{Column, Lap, head, row};
use crate::options::say;

/// The laps of one round, by the names of their ways.
pub type Round = BTreeMap<&'static str, Lap>;

/// A way to do what is compared. `T` is the state of the comparison.
#[derive(Debug)]
pub struct Way<T, R> {
    /// The name, in records and in the output of the run.
    pub name: &'static str,
    /// The part of the comparison that the way belongs to.
    pub part: &'static str,
    /// The title in the table.
    pub title: &'static str,
    /// The function that runs a lap.
    pub run: fn(&mut T) -> R,
}

/// Creates a way; short, since a comparison is a list of them.
pub fn way<T, R>(
    part: &'static str,
    name: &'static str,
    title: &'static str,
    run: fn(&mut T) -> R,
) -> Way<T, R> {
    Way { name, part, title, run }
}

/// Keeps the ways of some parts; all of them if none is named.
///
/// # Errors
/// When there is no such part.
pub fn only<T, R>(ways: Vec<Way<T, R>>, parts: &[String]) -> anyhow::Result<Vec<Way<T, R>>> {
    for part in parts {
        let mut known: Vec<&str> = ways.iter().map(|way| way.part).collect();
        known.dedup();
        ensure!(known.contains(&&**part), "there is no part {part}; choose one of: {}", known.join(", "));
    }
    let wanted = |way: &Way<T, R>| parts.is_empty() || parts.iter().any(|part| part == way.part);
    Ok(ways.into_iter().filter(wanted).collect())
}

/// Runs `count` rounds; `lap` returns `None` for a way that is not part of the round.
///
/// # Errors
/// The errors of `lap`.
pub fn rounds<T, R>(
    count: u16,
    ways: &[Way<T, R>],
    lap: impl FnMut(&Way<T, R>, u16) -> anyhow::Result<Option<Lap>>,
) -> anyhow::Result<Vec<Round>> {
    let mut rounds = vec![Round::new(); usize::from(count)];
    add_rounds(&mut rounds, "", ways, lap)?;
    Ok(rounds)
}

/// Adds the laps of the ways of a part to rounds, if the parts of a comparison run one after the other. An empty part is all of them.
///
/// # Errors
/// The errors of `lap`.
pub fn add_rounds<T, R>(
    rounds: &mut [Round],
    part: &str,
    ways: &[Way<T, R>],
    mut lap: impl FnMut(&Way<T, R>, u16) -> anyhow::Result<Option<Lap>>,
) -> anyhow::Result<()> {
    let ways: Vec<&Way<T, R>> = ways.iter().filter(|way| part.is_empty() || way.part == part).collect();
    let (count, part) = (rounds.len(), if part.is_empty() { String::new() } else { format!("{part}: ") });
    for (round, number) in rounds.iter_mut().zip(1..) {
        say(&format!("\n{part}round {number} of {count}\n"))?;
        for at in turn(u32::from(number), ways.len()) {
            if let Some(lap) = lap(ways[at], number)? {
                round.insert(ways[at].name, lap);
            }
        }
    }
    Ok(())
}

/// Returns the laps of a way in all rounds that have one.
pub fn laps<'a>(rounds: &'a [Round], name: &str) -> Vec<&'a Lap> {
    rounds.iter().filter_map(|round| round.get(name)).collect()
}

/// Formats a table of the laps of each way.
pub fn table<T, R>(first: &str, columns: &[Column<'_>], ways: &[Way<T, R>], rounds: &[Round]) -> String {
    let rows = ways.iter().map(|way| row(way.title, columns, &laps(rounds, way.name)));
    head(first, columns) + &rows.collect::<String>()
}
