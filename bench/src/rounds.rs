//! Runs the ways of a comparison in rounds: each round runs a lap of every way, every second round in reverse order.

use std::collections::BTreeMap;

use anyhow::ensure;
use sqluice_lab::turn;

use crate::lap::{Column, Lap, head, row};
use crate::options::say;

/// The laps of one round, by the names of their ways.
pub type Round = BTreeMap<&'static str, Lap>;

/// A way to do the compared work, such as `sqluice load` or SQLite's `.import`. `T` is the state of the comparison.
#[derive(Debug)]
pub struct Way<T, R> {
    /// The name, in records and in the output of the run.
    pub name: &'static str,
    /// The part of the comparison to which the way belongs: the group of ways that run in the same rounds.
    pub part: &'static str,
    /// The title in the table.
    pub title: &'static str,
    /// The function that runs a lap.
    pub run: fn(&mut T) -> R,
}

/// Creates a way. The name is short, because a comparison is a list of calls.
pub fn way<T, R>(
    part: &'static str,
    name: &'static str,
    title: &'static str,
    run: fn(&mut T) -> R,
) -> Way<T, R> {
    Way { name, part, title, run }
}

/// Returns the ways of the parts in `parts`; all ways if `parts` is empty.
///
/// # Errors
/// When no way belongs to one of the parts.
pub fn only<T, R>(ways: Vec<Way<T, R>>, parts: &[String]) -> anyhow::Result<Vec<Way<T, R>>> {
    for part in parts {
        let mut known: Vec<&str> = ways.iter().map(|way| way.part).collect();
        known.dedup();
        ensure!(known.contains(&&**part), "there is no part {part}; choose one of: {}", known.join(", "));
    }
    let wanted = |way: &Way<T, R>| parts.is_empty() || parts.iter().any(|part| part == way.part);
    Ok(ways.into_iter().filter(wanted).collect())
}

/// Runs `count` rounds of all ways. `lap` runs a lap, or returns `None` if the way does not run in this round.
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

/// Runs all rounds of the ways of one part and adds the laps to `rounds`, for comparisons whose parts run one after the other. An empty
/// `part` stands for all ways.
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

/// Formats a table with a row for each way that has laps. `first` is the head of the column with the ways' titles.
pub fn table<T, R>(first: &str, columns: &[Column<'_>], ways: &[Way<T, R>], rounds: &[Round]) -> String {
    let rows = ways.iter().map(|way| row(way.title, columns, &laps(rounds, way.name)));
    head(first, columns) + &rows.collect::<String>()
}
