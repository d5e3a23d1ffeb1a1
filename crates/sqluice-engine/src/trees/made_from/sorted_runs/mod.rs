//! B-trees that are made from sorted runs.

pub(crate) mod onto_pages;

use sqluice_core::error::Result;

use crate::sort::Sorted;
use crate::trees::keys::on_conflict::Dropped;
use crate::trees::keys::unique::Unique;
use crate::trees::workers::part_ends::ItemEnds;

/// A B-tree that is made from sorted runs.
pub(crate) struct RunsTree<'a> {
    pub(crate) sorted: &'a Sorted,
    /// Whether it is a table's, with rowids; else an index's.
    pub(crate) rowids: bool,
    /// No two items may be equal by this.
    pub(crate) unique: Option<Unique<'a>>,
    /// Records whose items are left out.
    pub(crate) dropped: &'a Dropped,
    /// The page of its root, if that exists already.
    pub(crate) root_page: Option<u32>,
}

impl RunsTree<'_> {
    /// The number of parts. Where items are left out, a range may be empty, which the leaves before it must know.
    pub(crate) fn parts(&self) -> usize {
        let ranges = self.sorted.ranges();
        if self.dropped.is_empty() { ranges } else { ranges.min(1) }
    }

    /// The error for two parts whose ends have the same key.
    pub(crate) fn check_ends(&self, before: &ItemEnds, after: &ItemEnds) -> Result<()> {
        match (&self.unique, &before.outer, &after.outer) {
            (Some(unique), Some((_, last)), Some((first, _))) => unique.check(last.item(), first.item()),
            _ => Ok(()),
        }
    }
}
