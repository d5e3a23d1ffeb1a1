//! Rounds of laps: each round runs every way once, every second round in reverse order.

use std::collections::BTreeMap;

use crate::lap::{HEAD, Lap, row};
use crate::options::say;

/// The laps of one round.
pub type Round<W> = BTreeMap<W, Lap>;

/// Runs `count` rounds.
///
/// # Errors
/// The errors of `lap`.
pub fn rounds<W: Copy + Ord>(
    count: u16,
    ways: &[W],
    mut lap: impl FnMut(W) -> anyhow::Result<Lap>,
) -> anyhow::Result<Vec<Round<W>>> {
    let mut rounds = Vec::new();
    for number in 1..=count {
        say(&format!("\nround {number} of {count}\n"))?;
        let mut ways = ways.to_vec();
        if number % 2 == 0 {
            ways.reverse();
        }
        rounds.push(ways.into_iter().map(|way| Ok((way, lap(way)?))).collect::<anyhow::Result<_>>()?);
    }
    Ok(rounds)
}

/// Formats a table of the laps of each way.
pub fn table<W: Copy + Ord>(ways: &[W], title: impl Fn(W) -> &'static str, rounds: &[Round<W>]) -> String {
    let mut text = HEAD.to_owned();
    for &way in ways {
        let laps: Vec<&Lap> = rounds.iter().filter_map(|round| round.get(&way)).collect();
        text += &(row(title(way), &laps) + "\n");
    }
    text
}

/// Returns the seconds of one way, divided by those of another in the same round.
pub fn seconds<W: Ord>(round: &Round<W>, one: W, other: W) -> Option<f64> {
    ratio(round, one, other, |lap| lap.seconds)
}

/// Returns a value of one way, divided by that of another in the same round.
pub fn ratio<W: Ord>(round: &Round<W>, one: W, other: W, value: fn(&Lap) -> f64) -> Option<f64> {
    Some(value(round.get(&one)?) / value(round.get(&other)?))
}
