//! Which rows are left out, when several have the same key ([ON CONFLICT](https://www.sqlite.org/lang_conflict.html)).
//!
//! To SQLite rows come one after another, and whether one stays depends on those before it, by all keys of the table:
//! with two unique keys and IGNORE, of `(1, 1), (1, 2), (3, 2)` the second falls to the first, so the third stays. So each
//! key tells which records share it, which are few, and for these the inserts are played in the order of the input.

use std::collections::HashMap;

use super::merge::Unique;
use crate::error::{Error, Result};
use crate::plan::OnConflict;
use crate::progress::Cancel;
use crate::sort::Sorted;

/// Records that are left out, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Dropped(Vec<u64>);

impl Dropped {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether that record is one.
    #[inline]
    pub(super) fn contains(&self, number: u64) -> bool {
        !self.0.is_empty() && self.0.binary_search(&number).is_ok()
    }
}

/// Bytes that a record in a group takes here, roughly.
const RECORD_BYTES: u64 = 64;

/// A record and one of the groups that it is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    number: u64,
    group: u32,
}

/// Finds the records that are left out. Takes at most `memory_bytes`.
pub(super) fn resolve(
    keys: &[(&Sorted, Unique<'_>)],
    on_conflict: OnConflict,
    memory_bytes: u64,
    cancel: &Cancel,
) -> Result<Dropped> {
    let mut members: Vec<Member> = Vec::new();
    let mut groups = 0;
    for (sorted, unique) in keys {
        let mut too_many = false;
        unique.groups(sorted, cancel, &mut |numbers| {
            too_many |= (members.len() + numbers.len()) as u64 * RECORD_BYTES > memory_bytes;
            if !too_many {
                members.extend(numbers.iter().map(|&number| Member { number, group: groups }));
                groups += 1;
            }
        })?;
        if too_many {
            let message = format!("too many rows of {} have the same keys", unique.table.name);
            return Err(Error::input(message).hint("give more --memory"));
        }
    }
    members.sort_unstable();
    Ok(Dropped(play(&members, on_conflict)))
}

/// The records that do not stay, ascending.
fn play(members: &[Member], on_conflict: OnConflict) -> Vec<u64> {
    // Which record has the key of a group.
    let mut holders: HashMap<u32, u64> = HashMap::new();
    let mut dropped = Vec::new();
    for of_record in members.chunk_by(|a, b| a.number == b.number) {
        let number = of_record[0].number;
        let held = of_record.iter().filter_map(|member| holders.get(&member.group)).copied();
        let mut before: Vec<u64> = held.collect();
        before.sort_unstable();
        before.dedup();
        if on_conflict == OnConflict::Ignore && !before.is_empty() {
            dropped.push(number);
            continue;
        }
        for gone in before {
            free_keys(&mut holders, gone, members);
            dropped.push(gone);
        }
        holders.extend(of_record.iter().map(|member| (member.group, number)));
    }
    dropped.sort_unstable();
    dropped
}

/// Frees the keys of a record that goes.
fn free_keys(holders: &mut HashMap<u32, u64>, gone: u64, members: &[Member]) {
    let first = members.partition_point(|member| member.number < gone);
    for member in members[first..].iter().take_while(|member| member.number == gone) {
        holders.remove(&member.group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(groups: &[&[u64]], on_conflict: OnConflict) -> Vec<u64> {
        let members = (0..)
            .zip(groups)
            .flat_map(|(group, numbers)| numbers.iter().map(move |&number| Member { number, group }));
        let mut members: Vec<Member> = members.collect();
        members.sort_unstable();
        play(&members, on_conflict)
    }

    #[test]
    fn a_row_that_falls_frees_its_other_keys() {
        // (1, 1), (1, 2), (3, 2)
        let groups: [&[u64]; 2] = [&[0, 1], &[1, 2]];
        assert_eq!(dropped(&groups, OnConflict::Ignore), [1]);
        assert_eq!(dropped(&groups, OnConflict::Replace), [0, 1]);
    }

    #[test]
    fn one_key_keeps_the_first_or_the_last() {
        let groups: [&[u64]; 2] = [&[3, 5, 8], &[4, 6]];
        assert_eq!(dropped(&groups, OnConflict::Ignore), [5, 6, 8]);
        assert_eq!(dropped(&groups, OnConflict::Replace), [3, 4, 5]);
    }
}
