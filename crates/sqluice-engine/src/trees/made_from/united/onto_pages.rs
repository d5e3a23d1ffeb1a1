//! Merges the entries of several databases into one tree, and writes them onto pages, part by part.

use sqluice_core::error::Result;
use sqluice_format::scan::Kind;

use super::{LastEntry, UnionTree};
use crate::trees::keys::unique::CANCEL_ITEMS;
use crate::trees::workers::message::Task;
use crate::trees::workers::part_ends::PartEnds;
use crate::trees::workers::worker::{Done, Filling};

/// Merges the entries of one part of a united tree, and passes them to `filling`, which puts them onto pages. Returns an error if two
/// pieces share a unique key.
pub(crate) fn unite(
    tree: &UnionTree<'_>,
    filling: &mut Filling<'_, '_>,
    task: Task,
) -> (Result<Done>, PartEnds) {
    let Task::Part(part) = task else { unreachable!("a tree is copied by parts") };
    let mut last: Option<LastEntry> = None;
    let mut entries = 0;
    let (visited, positions) = tree.visit(part, &mut |entry| {
        entries += 1;
        if entries % CANCEL_ITEMS == 0 {
            filling.cancelled()?;
            filling.hash_finished();
        }
        if tree.is_unique() {
            if last.as_ref().is_some_and(|last| tree.repeats(last, entry)) {
                return Err(tree.repeated(last.as_ref().unwrap_or(&LastEntry::default()), entry));
            }
            last.get_or_insert_default().set(entry);
        }
        match tree.kind() {
            Kind::Table => filling.push_row(entry.rowid, entry.record),
            Kind::Index => filling.push_entry(entry.record),
        }
    });
    let done = visited.and_then(|()| {
        match tree.kind() {
            Kind::Table => filling.finish_leaves(),
            Kind::Index => filling.finish_entries(part + 1 < tree.parts())?,
        }
        Ok(Done::default())
    });
    (done, PartEnds::Positions(Box::new(positions)))
}
