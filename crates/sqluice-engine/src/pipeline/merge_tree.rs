//! B-trees that are built of what is sorted, and how the parts of one must fit each other.

use sqluice_core::error::Result;

use super::conflicts::Dropped;
use super::unique::{OwnedItem, Unique};
use crate::sort::{Item, Sorted};

/// A B-tree that is made of what is sorted.
pub(super) struct MergeTree<'a> {
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

/// The ends of a part.
#[derive(Default)]
pub(super) struct Ends {
    /// The first and the last item, where they must differ from those of other parts.
    edge: Option<(OwnedItem, OwnedItem)>,
    /// The prefix of the last item.
    prefix: u128,
    /// The largest rowid of all rows, including those that were left out.
    pub(super) largest_rowid: Option<i64>,
}

impl MergeTree<'_> {
    /// The number of parts. Where items are left out, a range may be empty, which the leaves before it must know.
    pub(super) fn parts(&self) -> usize {
        let ranges = self.sorted.ranges();
        if self.dropped.is_empty() { ranges } else { ranges.min(1) }
    }

    /// The error for two parts whose ends have the same key.
    pub(super) fn check_ends(&self, before: &Ends, after: &Ends) -> Result<()> {
        match (&self.unique, &before.edge, &after.edge) {
            (Some(unique), Some((_, last)), Some((first, _))) => unique.check(last.item(), first.item()),
            _ => Ok(()),
        }
    }
}

impl Ends {
    /// Takes the next item, which has this prefix, unless it has the key of the one before.
    #[inline]
    pub(super) fn check(&mut self, unique: Option<&Unique<'_>>, item: Item<'_>, prefix: u128) -> Result<()> {
        match unique {
            None => Ok(()),
            Some(unique) => self.check_unique(unique, item, prefix),
        }
    }

    fn check_unique(&mut self, unique: &Unique<'_>, item: Item<'_>, prefix: u128) -> Result<()> {
        match &mut self.edge {
            edge @ None => *edge = Some((OwnedItem::of(item), OwnedItem::of(item))),
            Some((_, last)) => {
                if prefix == self.prefix || !unique.is_whole_order() {
                    unique.check(last.item(), item)?;
                }
                last.set(item);
            }
        }
        self.prefix = prefix;
        Ok(())
    }
}
