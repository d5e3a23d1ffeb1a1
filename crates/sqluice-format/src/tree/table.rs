//! The interior levels of a table, whose keys are rowids.

use super::{AppendPage, Branch, Level, Levels, write_page};
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::page::{Geometry, PageKind};
use crate::varint;

/// A page and the largest rowid below the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The page number.
    pub page: u32,
    /// The largest rowid in the page's subtree.
    pub last_rowid: i64,
}

impl Branch for Child {
    const KIND: PageKind = PageKind::InteriorTable;

    fn page(&self) -> u32 {
        self.page
    }

    fn cell_bytes(&self) -> usize {
        cell::table_interior_bytes(self.last_rowid)
    }

    fn write_cell(&self, cell: &mut [u8]) {
        cell[..PAGE_NUMBER_BYTES].copy_from_slice(&self.page.to_be_bytes());
        varint::write(&mut cell[PAGE_NUMBER_BYTES..], self.last_rowid as u64);
    }

    fn above(self, page: u32) -> Child {
        Child { page, ..self }
    }
}

/// Writes a table interior page with `children` to `page`, whose B-tree header begins at `header_at` (100 on page 1).
///
/// The root on page 1 may have a single child: a leaf may need the 100 bytes that page 1 lacks.
///
/// # Panics
/// If `children` has fewer than two elements (one on page 1), or they do not fit.
pub fn write_interior(page: &mut [u8], header_at: usize, geometry: Geometry, children: &[Child]) {
    write_page(page, header_at, geometry, children);
}

/// A builder of the interior pages above the leaves of a table.
#[derive(Debug)]
pub struct TableTree {
    levels: Levels<Child>,
}

impl TableTree {
    /// Creates a tree without leaves.
    pub fn new(geometry: Geometry) -> TableTree {
        TableTree { levels: Levels::new(geometry) }
    }

    /// Creates a tree that continues an existing tree. `levels` are the children of the pages on its right edge: first those that are
    /// leaves, last those of the root. The right-most child of each page above the leaves' parents is left out, because it will be rebuilt.
    ///
    /// # Panics
    /// If the children of a level do not fit a page.
    pub fn growing(geometry: Geometry, levels: Vec<Vec<Child>>) -> TableTree {
        let mut tree = TableTree::new(geometry);
        tree.levels.levels = levels.into_iter().map(|children| Level::of(children, geometry)).collect();
        tree
    }

    /// Adds the next leaf. Writes the interior pages that become complete.
    pub fn add_leaf(&mut self, leaf: Child, pages: &mut impl AppendPage) {
        self.levels.add(0, leaf, pages);
    }

    /// Writes the remaining pages, the root last, and returns the root page.
    ///
    /// # Panics
    /// If no leaf was added: an empty table is one empty leaf.
    pub fn finish(self, pages: &mut impl AppendPage) -> u32 {
        self.levels.finish(pages)
    }

    /// Writes the remaining pages except the root, and returns the children of the root. They fit a page whose B-tree header begins at
    /// `header_at` (100 on page 1). If there is a single child, it is a leaf.
    ///
    /// # Panics
    /// If no leaf was added.
    pub fn finish_root(mut self, header_at: usize, pages: &mut impl AppendPage) -> Vec<Child> {
        self.levels.reduce(header_at, pages)
    }
}
