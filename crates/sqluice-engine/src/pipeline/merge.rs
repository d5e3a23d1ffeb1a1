//! What is sorted, range by range, onto pages.

use sqluice_core::error::Result;

use super::merge_tree::{Ends, MergeTree};
use super::message::{Edges, Task};
use super::unique::CANCEL_ITEMS;
use super::worker::{Done, Filling};
use crate::sort::Merge;

/// Merges one part of a tree onto pages.
pub(super) fn merge(
    tree: &MergeTree<'_>,
    filling: &mut Filling<'_, '_>,
    task: Task,
) -> (Result<Done>, Edges) {
    let Task::Part(part) = task else { unreachable!("what is sorted is merged") };
    let mut ends = Ends::default();
    let ranges = if tree.dropped.is_empty() { part..part + 1 } else { 0..tree.sorted.ranges() };
    let last = ranges.end == tree.sorted.ranges();
    let merged = ranges.into_iter().try_for_each(|range| {
        let merge = tree.sorted.range(range)?;
        if tree.rowids {
            merge_rows(tree, merge, filling, &mut ends)
        } else {
            merge_entries(tree, merge, filling, &mut ends)
        }
    });
    let merged = merged.and_then(|()| {
        if tree.rowids {
            filling.finish_leaves();
        } else {
            filling.finish_entries(!last)?;
        }
        Ok(Done::default())
    });
    (merged, Edges::Sorted(Box::new(ends)))
}

fn merge_rows(
    tree: &MergeTree<'_>,
    merge: Merge<'_>,
    filling: &mut Filling<'_, '_>,
    ends: &mut Ends,
) -> Result<()> {
    let mut items = 0;
    merge.try_for_each(|item, prefix| {
        items += 1;
        if items % CANCEL_ITEMS == 0 {
            filling.cancelled()?;
            filling.hash_finished();
        }
        ends.largest_rowid = Some(item.rowid);
        if tree.dropped.contains(item.number) {
            return Ok(());
        }
        ends.check(tree.unique.as_ref(), item, prefix)?;
        filling.push_row(item.rowid, item.record)
    })
}

fn merge_entries(
    tree: &MergeTree<'_>,
    merge: Merge<'_>,
    filling: &mut Filling<'_, '_>,
    ends: &mut Ends,
) -> Result<()> {
    let mut items = 0;
    merge.try_for_each(|item, prefix| {
        items += 1;
        if items % CANCEL_ITEMS == 0 {
            filling.cancelled()?;
            filling.hash_finished();
        }
        if tree.dropped.contains(item.number) {
            return Ok(());
        }
        ends.check(tree.unique.as_ref(), item, prefix)?;
        filling.push_entry(item.record)
    })
}
