//! Finds the rows that are left out because another row has the same key ([ON CONFLICT](https://www.sqlite.org/lang_conflict.html)).
//!
//! SQLite inserts rows one after another. The earlier rows and all keys of the table decide if a row stays: with two unique keys and
//! IGNORE, the second of `(1, 1), (1, 2), (3, 2)` is refused because of the first, so the third stays. So the groups of records that share
//! a key are found, for each unique key of the table; such records are few. Then only the inserts of these records are simulated, in the
//! order of the input.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;

use crate::options::OnConflict;
use crate::sort::Sorted;
use crate::trees::keys::unique::Unique;

/// The records that ON CONFLICT leaves out: their numbers in the input, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Dropped(Vec<u64>);

impl Dropped {
    /// Returns `true` if no record is left out.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of records that are left out.
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns `true` if the record with this number is left out.
    #[inline]
    pub(crate) fn contains(&self, number: u64) -> bool {
        !self.0.is_empty() && self.0.binary_search(&number).is_ok()
    }
}

/// The largest number of bytes of memory for a record in a group of records that share a key: as a [`Member`], as the holder of a key, and
/// in the list of left-out records.
const RECORD_BYTES: u64 = 48;

/// The largest number of bytes of memory for a record in a group if the table has a single unique key. Then no inserts are simulated, and a
/// record is only in the list of left-out records, whose capacity may be twice its length.
const DROPPED_BYTES: u64 = 16;

/// The membership of a row in a group of rows that share a key. A row that shares several keys is in several groups. The values of `row`
/// sort in the order in which the rows are inserted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member<R> {
    pub(crate) row: R,
    pub(crate) group: u32,
}

/// Finds the records that `on_conflict` leaves out because another record has the same key. `keys` has each unique key of the table, and
/// the items sorted by this key. The search uses at most `memory_bytes` bytes.
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
                // If the memory or the group numbers are used up, nothing more is kept. `bytes` still grows, because the error message
                // names the memory that is needed. `max` makes it an error if the group numbers run out first.
                _ if bytes > memory_bytes || groups == u32::MAX => bytes = bytes.max(memory_bytes + 1),
                // With a single key, the first record of each group stays with IGNORE, and the last with REPLACE.
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

/// Returns an error if `bytes`, the memory that is needed for the rows that share keys, is more than `memory_bytes`.
pub(crate) fn refuse_many(table: &str, bytes: u64, memory_bytes: u64) -> Result<()> {
    if bytes <= memory_bytes {
        return Ok(());
    }
    let more = (bytes - memory_bytes).div_ceil(1 << 20);
    Err(Error::input(format!("too many rows of {table} have the same keys"))
        .hint(message![format!("give at least {more} MiB more: "), Setting::Memory]))
}

/// Simulates the inserts of the rows in `members`, which must be sorted, and returns the rows that are left out. `groups` is the number of
/// groups of rows that share a key.
pub(crate) fn play<R: Copy + Ord>(members: &[Member<R>], groups: u32, on_conflict: OnConflict) -> Vec<R> {
    // For each group, the row that has been inserted with the key of the group; `None` if no row has it.
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

/// Removes the row `gone`, which another row replaces, as the holder of all its keys.
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
    fn a_row_that_is_left_out_for_one_key_causes_no_conflict_by_another_key() {
        // The rows (1, 1), (1, 2), (3, 2), with a unique key on each column.
        let groups: [&[u64]; 2] = [&[0, 1], &[1, 2]];
        assert_eq!(dropped(&groups, OnConflict::Ignore), [1]);
        assert_eq!(dropped(&groups, OnConflict::Replace), [0, 1]);
    }

    #[test]
    fn with_a_single_key_ignore_keeps_the_first_row_and_replace_the_last() {
        let groups: [&[u64]; 2] = [&[3, 5, 8], &[4, 6]];
        assert_eq!(dropped(&groups, OnConflict::Ignore), [5, 6, 8]);
        assert_eq!(dropped(&groups, OnConflict::Replace), [3, 4, 5]);
    }
}
