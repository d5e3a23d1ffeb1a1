//! B-trees made from sorted runs.

pub(crate) mod onto_pages;

use sqluice_core::error::Result;

use crate::sort::Sorted;
use crate::trees::keys::on_conflict::Dropped;
use crate::trees::keys::unique::Unique;
use crate::trees::workers::part_ends::ItemEnds;

/// A B-tree made from sorted runs.
pub(crate) struct RunsTree<'a> {
    pub(crate) sorted: &'a Sorted,
    /// `true` if the tree is a table with rowids; `false` for an index or a WITHOUT ROWID table.
    pub(crate) rowids: bool,
    /// The unique key of the items; `None` if items may share keys.
    pub(crate) unique: Option<Unique<'a>>,
    /// The records whose items are left out.
    pub(crate) dropped: &'a Dropped,
    /// The root page, if the tree exists already.
    pub(crate) root_page: Option<u32>,
}

impl RunsTree<'_> {
    /// Returns the number of parts. If records are left out, the tree is a single part: a range may be empty, which affects the last leaf
    /// of the range before.
    pub(crate) fn parts(&self) -> usize {
        let ranges = self.sorted.ranges();
        if self.dropped.is_empty() { ranges } else { ranges.min(1) }
    }

    /// Returns an error if the last item of a part and the first item of the next part have the same unique key.
    pub(crate) fn check_ends(&self, before: &ItemEnds, after: &ItemEnds) -> Result<()> {
        match (&self.unique, &before.outer, &after.outer) {
            (Some(unique), Some((_, last)), Some((first, _))) => unique.check(last.item(), first.item()),
            _ => Ok(()),
        }
    }
}
