//! Which rows are left out, when several have the same key ([ON CONFLICT](https://www.sqlite.org/lang_conflict.html)).
//!
//! SQLite inserts rows one after another, and whether one stays depends on those before it, by all keys of the table:
//! with two unique keys and IGNORE, of `(1, 1), (1, 2), (3, 2)` the second is refused because of the first, so the third stays. So each
//! key shows which records share it, which are few, and for these the inserts are played in the order of the input.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;

use crate::options::OnConflict;
use crate::sort::Sorted;
use crate::trees::keys::unique::Unique;

/// Records that are left out, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Dropped(Vec<u64>);

impl Dropped {
    /// Whether it has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their number.
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether that record is one.
    #[inline]
    pub(crate) fn contains(&self, number: u64) -> bool {
        !self.0.is_empty() && self.0.binary_search(&number).is_ok()
    }
}

/// Bytes that a record in a group takes here, at most: as a member, as the holder of a key and as one that is left out.
const RECORD_BYTES: u64 = 48;

/// Bytes of an entry with a single key: only what is left out is kept, and a list may take twice what it holds.
const DROPPED_BYTES: u64 = 16;

/// A row, known by where it stands in the order of insertion, and one of the groups that it is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member<R> {
    pub(crate) row: R,
    pub(crate) group: u32,
}

/// Finds the records that are left out. Takes at most `memory_bytes`.
pub(crate) fn resolve(
    keys: &[(&Sorted, Unique<'_>)],
    on_conflict: OnConflict,
    memory_bytes: u64,
    cancel: &Cancel,
) -> Result<Dropped> {
    let mut members: Vec<Member<u64>> = Vec::new();
    let mut dropped: Vec<u64> = Vec::new();
    let mut groups = 0;
    let mut bytes = 0;
    for (sorted, unique) in keys {
        unique.groups(sorted, cancel, &mut |numbers| {
            bytes += numbers.len() as u64 * if keys.len() == 1 { DROPPED_BYTES } else { RECORD_BYTES };
            match (numbers, on_conflict) {
                // They are only counted.
                _ if bytes > memory_bytes || groups == u32::MAX => bytes = bytes.max(memory_bytes + 1),
                // A single key decides by itself.
                ([_, later @ ..], OnConflict::Ignore) if keys.len() == 1 => dropped.extend(later),
                ([before @ .., _], OnConflict::Replace) if keys.len() == 1 => dropped.extend(before),
                _ => {
                    members.extend(numbers.iter().map(|&number| Member { row: number, group: groups }));
                    groups += 1;
                }
            }
        })?;
    }
    refuse_many(keys.first().map_or("", |(_, unique)| &unique.table.name), bytes, memory_bytes)?;
    members.sort_unstable();
    dropped.extend(play(&members, groups, on_conflict));
    dropped.sort_unstable();
    Ok(Dropped(dropped))
}

/// The error for rows that share keys and do not fit in memory.
pub(crate) fn refuse_many(table: &str, bytes: u64, memory_bytes: u64) -> Result<()> {
    if bytes <= memory_bytes {
        return Ok(());
    }
    let more = (bytes - memory_bytes).div_ceil(1 << 20);
    Err(Error::input(format!("too many rows of {table} have the same keys"))
        .hint(message![format!("give at least {more} MiB more: "), Setting::Memory]))
}

/// The rows that do not stay.
pub(crate) fn play<R: Copy + Ord>(members: &[Member<R>], groups: u32, on_conflict: OnConflict) -> Vec<R> {
    // Which row has the key of a group.
    let mut holders: Vec<Option<R>> = vec![None; groups as usize];
    let mut dropped = Vec::new();
    for of_row in members.chunk_by(|a, b| a.row == b.row) {
        let mut before: Vec<R> = of_row.iter().filter_map(|member| holders[member.group as usize]).collect();
        before.sort_unstable();
        before.dedup();
        let row = of_row[0].row;
        if on_conflict == OnConflict::Ignore && !before.is_empty() {
            dropped.push(row);
            continue;
        }
        for gone in before {
            free_keys(&mut holders, gone, members);
            dropped.push(gone);
        }
        for member in of_row {
            holders[member.group as usize] = Some(row);
        }
    }
    dropped
}

/// Frees the keys of a row that goes.
fn free_keys<R: Copy + Ord>(holders: &mut [Option<R>], gone: R, members: &[Member<R>]) {
    let first = members.partition_point(|member| member.row < gone);
    for member in members[first..].iter().take_while(|member| member.row == gone) {
        holders[member.group as usize] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(groups: &[&[u64]], on_conflict: OnConflict) -> Vec<u64> {
        let members = (0..)
            .zip(groups)
            .flat_map(|(group, numbers)| numbers.iter().map(move |&row| Member { row, group }));
        let mut members: Vec<Member<u64>> = members.collect();
        members.sort_unstable();
        let mut dropped = play(&members, groups.len() as u32, on_conflict);
        dropped.sort_unstable();
        dropped
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
