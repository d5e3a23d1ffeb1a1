//! B-trees that are made from sorted runs.

use sqluice_core::error::Result;

use super::conflicts::Dropped;
use super::part_ends::ItemEnds;
use super::unique::Unique;
use crate::sort::Sorted;

/// A B-tree that is made from sorted runs.
pub(super) struct RunsTree<'a> {
    pub(super) sorted: &'a Sorted,
    /// Whether it is a table's, with rowids; else an index's.
    pub(super) rowids: bool,
    /// No two items may be equal by this.
    pub(super) unique: Option<Unique<'a>>,
    /// Records whose items are left out.
    pub(super) dropped: &'a Dropped,
    /// The page of its root, if that exists already.
    pub(super) root_page: Option<u32>,
}

impl RunsTree<'_> {
    /// The number of parts. Where items are left out, a range may be empty, which the leaves before it must know.
    pub(super) fn parts(&self) -> usize {
        let ranges = self.sorted.ranges();
        if self.dropped.is_empty() { ranges } else { ranges.min(1) }
    }

    /// The error for two parts whose ends have the same key.
    pub(super) fn check_ends(&self, before: &ItemEnds, after: &ItemEnds) -> Result<()> {
        match (&self.unique, &before.outer, &after.outer) {
            (Some(unique), Some((_, last)), Some((first, _))) => unique.check(last.item(), first.item()),
            _ => Ok(()),
        }
    }
}
