//! B-trees made from sorted items: indexes, and tables whose rows arrived out of order.

pub(crate) mod onto_pages;

use sqluice_core::error::Result;

use crate::sort::Sorted;
use crate::trees::keys::on_conflict::Dropped;
use crate::trees::keys::unique::Unique;
use crate::trees::workers::part_ends::ItemEnds;

/// A B-tree made from the sorted items of one sorter.
pub(crate) struct RunsTree<'a> {
    pub(crate) sorted: &'a Sorted,
    /// `true` if the tree is a table with rowids; `false` for an index or a WITHOUT ROWID table.
    pub(crate) rowids: bool,
    /// The key that no two items may share; `None` if items may share keys.
    pub(crate) unique: Option<Unique<'a>>,
    /// The records that ON CONFLICT leaves out, so that their items are skipped.
    pub(crate) dropped: &'a Dropped,
    /// The root page of the tree, if it exists already.
    pub(crate) root_page: Option<u32>,
}

impl RunsTree<'_> {
    /// Returns the number of parts into which the work on the tree is divided: one for each range of the sorted items. If records are left
    /// out, the tree is a single part. Otherwise all items of a range might be left out, but the part before relies on a next part with
    /// entries.
    pub(crate) fn parts(&self) -> usize {
        let ranges = self.sorted.ranges();
        if self.dropped.is_empty() { ranges } else { ranges.min(1) }
    }

    /// Returns an error if the last item of the part `before` and the first item of the part `after` have the same unique key.
    pub(crate) fn check_ends(&self, before: &ItemEnds, after: &ItemEnds) -> Result<()> {
        match (&self.unique, &before.outer, &after.outer) {
            (Some(unique), Some((_, last)), Some((first, _))) => unique.check(last.item(), first.item()),
            _ => Ok(()),
        }
    }
}
