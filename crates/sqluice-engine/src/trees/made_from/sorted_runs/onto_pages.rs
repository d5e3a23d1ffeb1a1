//! Writes sorted items onto pages, part by part: merges the sorted runs within a range of keys.

use sqluice_core::error::Result;

use super::RunsTree;
use crate::sort::RunsInOrder;
use crate::trees::keys::unique::CANCEL_ITEMS;
use crate::trees::workers::message::Task;
use crate::trees::workers::part_ends::{ItemEnds, PartEnds};
use crate::trees::workers::worker::{Done, Filling};

/// Merges the items of one part of the tree, and passes their rows or index entries to `filling`, which puts them onto pages. Also returns
/// the first and the last item, which the writer compares with the parts before and after.
pub(crate) fn write_part(
    tree: &RunsTree<'_>,
    filling: &mut Filling<'_, '_>,
    task: Task,
) -> (Result<Done>, PartEnds) {
    let Task::Part(part) = task else { unreachable!("sorted runs are read by parts") };
    let mut ends = ItemEnds::default();
    let ranges = if tree.dropped.is_empty() { part..part + 1 } else { 0..tree.sorted.ranges() };
    let last = ranges.end == tree.sorted.ranges();
    let written = ranges.into_iter().try_for_each(|range| {
        let items = tree.sorted.range(range)?;
        if tree.rowids {
            write_rows(tree, items, filling, &mut ends)
        } else {
            write_entries(tree, items, filling, &mut ends)
        }
    });
    let written = written.and_then(|()| {
        if tree.rowids {
            filling.finish_leaves();
        } else {
            filling.finish_entries(!last)?;
        }
        Ok(Done::default())
    });
    (written, PartEnds::Items(Box::new(ends)))
}

fn write_rows(
    tree: &RunsTree<'_>,
    items: RunsInOrder<'_>,
    filling: &mut Filling<'_, '_>,
    ends: &mut ItemEnds,
) -> Result<()> {
    let mut count = 0;
    items.try_for_each(|item, prefix| {
        count += 1;
        if count % CANCEL_ITEMS == 0 {
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

fn write_entries(
    tree: &RunsTree<'_>,
    items: RunsInOrder<'_>,
    filling: &mut Filling<'_, '_>,
    ends: &mut ItemEnds,
) -> Result<()> {
    let mut count = 0;
    items.try_for_each(|item, prefix| {
        count += 1;
        if count % CANCEL_ITEMS == 0 {
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
