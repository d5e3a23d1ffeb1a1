//! Finds the rows that are left out when the tables of several databases become one table, because other rows have the same keys.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;

use super::keys::on_conflict::{Member, play, refuse_many};
use super::made_from::united::UnionTree;
use crate::options::OnConflict;

/// The largest number of bytes of memory for a row that shares a key with another row: in the list of its group, as a [`Member`], as the
/// holder of a key, and in the list of left-out rows.
const GROUPED_BYTES: u64 = 120;

/// Finds the rows of several databases that are left out because other rows have the same key. Returns each row as the position of its
/// database and its rowid in that database. Each of `trees` is the table or one of its unique indexes, as the union of that tree in all
/// databases; all unions must list the databases in the same order. The search uses at most `memory_bytes` bytes.
///
/// # Errors
/// If a tree can't be read, or more rows share keys than the memory can hold.
pub(crate) fn repeated_rows(
    trees: &[UnionTree<'_>],
    on_conflict: OnConflict,
    workers: usize,
    memory_bytes: u64,
    cancel: &Cancel,
) -> Result<Vec<(u32, i64)>> {
    let parts: Vec<(usize, usize)> = (trees.iter().enumerate())
        .flat_map(|(tree, union)| (0..union.parts()).map(move |part| (tree, part)))
        .collect();
    let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> Result<Vec<Vec<(u32, i64)>>> {
        let mut groups = Vec::new();
        while let Some(&(tree, part)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            cancel.check()?;
            let mut add = |group: &mut Vec<(u32, i64)>| {
                if group.len() > 1 {
                    let more = group.len() as u64 * GROUPED_BYTES;
                    if bytes.fetch_add(more, Ordering::Relaxed) + more <= memory_bytes {
                        groups.push(std::mem::take(group));
                    }
                }
                group.clear();
            };
            trees[tree].groups(part, &mut add).inspect_err(|_| next.store(parts.len(), Ordering::Relaxed))?;
        }
        Ok(groups)
    };
    let groups = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..workers.clamp(1, parts.len())).map(|_| scope.spawn(work)).collect();
        let mut groups = work();
        for helper in helpers {
            let more = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            groups = groups.and_then(|mut groups| {
                groups.extend(more?);
                Ok(groups)
            });
        }
        groups
    })?;
    refuse_many(trees.first().map_or("", UnionTree::table), bytes.into_inner(), memory_bytes)?;
    let mut members: Vec<Member<(u32, i64)>> = (0..)
        .zip(&groups)
        .flat_map(|(group, rows)| rows.iter().map(move |&row| Member { row, group }))
        .collect();
    members.sort_unstable();
    let mut dropped = play(&members, groups.len() as u32, on_conflict);
    dropped.sort_unstable();
    Ok(dropped)
}
