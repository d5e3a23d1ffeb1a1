//! The interior levels of an index or a WITHOUT ROWID table, whose keys are dividers: entries that are on no leaf.

use super::{AppendPage, Branch, Levels, write_page};
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::page::{Geometry, PageKind};

/// A page and the entry after all entries below the page.
#[derive(Debug)]
struct Child {
    page: u32,
    /// The divider's cell without the child page; empty after the last page of a level.
    divider: Box<[u8]>,
}

impl Branch for Child {
    const KIND: PageKind = PageKind::InteriorIndex;

    fn page(&self) -> u32 {
        self.page
    }

    fn cell_bytes(&self) -> usize {
        cell::index_interior_bytes(self.divider.len())
    }

    fn write_cell(&self, cell: &mut [u8]) {
        assert!(!self.divider.is_empty(), "a leaf came after the last one");
        cell[..PAGE_NUMBER_BYTES].copy_from_slice(&self.page.to_be_bytes());
        cell[PAGE_NUMBER_BYTES..].copy_from_slice(&self.divider);
    }

    fn above(self, page: u32) -> Child {
        Child { page, ..self }
    }
}

/// A builder of the interior pages above the leaves of an index.
#[derive(Debug)]
pub struct IndexTree {
    levels: Levels<Child>,
}

impl IndexTree {
    /// Creates a tree without leaves.
    pub fn new(geometry: Geometry) -> IndexTree {
        IndexTree { levels: Levels::new(geometry) }
    }

    /// Adds the next leaf and the divider after it, in the form of [`Divider::cell`](crate::chunk::Divider::cell) with the overflow page's
    /// number written. The divider is `None` only after the last leaf. Writes the interior pages that become complete.
    ///
    /// # Panics
    /// If a leaf follows the last leaf. [`IndexTree::finish`] may be the first to notice.
    pub fn add(&mut self, leaf_page: u32, divider: Option<&[u8]>, pages: &mut impl AppendPage) {
        let child = Child { page: leaf_page, divider: divider.unwrap_or_default().into() };
        self.levels.add(0, child, pages);
    }

    /// Writes the remaining pages, the root last, and returns the root page.
    ///
    /// # Panics
    /// If no leaf was added (an empty index is one empty leaf), or if a divider follows the last leaf.
    pub fn finish(self, pages: &mut impl AppendPage) -> u32 {
        self.check_last();
        self.levels.finish(pages)
    }

    /// Writes the remaining pages except the root, and the root to `page`, whose number the caller knows.
    ///
    /// # Panics
    /// Like [`IndexTree::finish`], and if the tree has a single leaf, which is then the root.
    pub fn finish_root(mut self, page: &mut [u8], pages: &mut impl AppendPage) {
        self.check_last();
        let children = self.levels.reduce(0, pages);
        write_page(page, 0, self.levels.geometry, &children);
    }

    fn check_last(&self) {
        let last = self.levels.levels.first().and_then(|level| level.children.last());
        assert!(last.is_none_or(|last| last.divider.is_empty()), "a divider is left over");
    }
}
