//! The interior levels of a table B-tree, from the bottom up
//! ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).
//!
//! Leaves arrive in order as (page, last rowid). Each level gathers children until they fill a page; the page is
//! written and becomes a child of the level above. Memory is one page's worth of children a level.
//!
//! ```text
//!  children  c0 c1 c2 ... cn         the page of these: cells (c0, key of c0) ... (cn-1, key of cn-1), right-most cn
//!                                    and in the level above: a child with the key of cn
//! ```
//!
//! A page other than the root needs at least one cell, that is two children. So a level holds two children back
//! beyond a full page before it writes that page: whatever comes next, two are left for the last page.

use crate::cell;
use crate::page::{self, CELL_POINTER_BYTES, Geometry, PageKind};
use crate::varint;

/// A page and the largest rowid below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The page's number.
    pub page: u32,
    /// The largest rowid in its subtree.
    pub last_rowid: i64,
}

/// Takes the pages that are made and says what number each gets.
pub trait AppendPage {
    /// Takes one page of the geometry's page size; returns its number.
    fn append_page(&mut self, page: &[u8]) -> u32;
}

/// Builds the interior pages above a sequence of leaves.
#[derive(Debug)]
pub struct TableTree {
    geometry: Geometry,
    levels: Vec<Level>,
    page: Vec<u8>,
}

/// Children that have no page yet.
#[derive(Debug, Default)]
struct Level {
    children: Vec<Child>,
    /// What they would all take as cells.
    cell_bytes: usize,
}

/// Bytes that a child takes as a cell, its cell pointer included.
fn cell_bytes(child: &Child) -> usize {
    cell::table_interior_bytes(child.last_rowid) + CELL_POINTER_BYTES
}

/// Bytes that children take on a page of their own: the last is the right-most pointer of the header.
fn page_cell_bytes(children: &[Child]) -> usize {
    children[..children.len() - 1].iter().map(cell_bytes).sum()
}

/// Bytes that an interior page has for cells and cell pointers.
fn interior_budget(geometry: Geometry) -> usize {
    geometry.usable_bytes() - PageKind::InteriorTable.header_bytes()
}

/// Writes a table interior page with `children` to `page`, whose B-tree header begins at `header_at` (100 on page 1).
///
/// The root on page 1 may have a single child: a leaf that has room for everything needs 100 bytes more than page 1 has.
///
/// # Panics
/// When there are fewer than two children (one on page 1), or they do not fit.
pub fn write_interior(page: &mut [u8], header_at: usize, geometry: Geometry, children: &[Child]) {
    let (right, cells) = children.split_last().expect("an interior page has a child");
    assert!(!cells.is_empty() || header_at > 0, "an interior page needs two children");
    let pointers = header_at + PageKind::InteriorTable.header_bytes();
    assert!(page_cell_bytes(children) <= geometry.usable_bytes() - pointers, "the children do not fit");
    page[header_at..].fill(0);
    let mut content = geometry.usable_bytes();
    for (i, child) in cells.iter().enumerate() {
        content -= cell::table_interior_bytes(child.last_rowid);
        page[content..content + 4].copy_from_slice(&child.page.to_be_bytes());
        varint::write(&mut page[content + 4..], child.last_rowid as u64);
        let pointer = pointers + i * CELL_POINTER_BYTES;
        page[pointer..pointer + CELL_POINTER_BYTES].copy_from_slice(&(content as u16).to_be_bytes());
    }
    page::write_header(&mut page[header_at..], PageKind::InteriorTable, cells.len(), content);
    page[header_at + 8..header_at + 12].copy_from_slice(&right.page.to_be_bytes());
}

impl TableTree {
    /// A tree without leaves.
    pub fn new(geometry: Geometry) -> TableTree {
        TableTree { geometry, levels: Vec::new(), page: vec![0; geometry.page_bytes()] }
    }

    /// Adds the next leaf; writes the interior pages that it completes.
    pub fn add_leaf(&mut self, leaf: Child, pages: &mut impl AppendPage) {
        self.add(0, leaf, pages);
    }

    /// Adds a child to the level `depth` above the leaves.
    fn add(&mut self, depth: usize, child: Child, pages: &mut impl AppendPage) {
        if depth == self.levels.len() {
            self.levels.push(Level::default());
        }
        if let Some(full) = self.levels[depth].add(child, self.geometry) {
            let parent = self.write_page(&full, pages);
            self.add(depth + 1, parent, pages);
        }
    }

    fn write_page(&mut self, children: &[Child], pages: &mut impl AppendPage) -> Child {
        write_interior(&mut self.page, 0, self.geometry, children);
        let page = pages.append_page(&self.page);
        Child { page, last_rowid: children[children.len() - 1].last_rowid }
    }

    /// Writes what is left, the root last, and returns its page.
    ///
    /// # Panics
    /// When no leaf was added: an empty table is one empty leaf.
    pub fn finish(mut self, pages: &mut impl AppendPage) -> u32 {
        match *self.reduce(0, pages) {
            [leaf] => leaf.page,
            ref children => self.write_page(children, pages).page,
        }
    }

    /// Writes what is left except the root, and returns the children of the root: they fit behind the `header_at`
    /// bytes that the caller has at the start of its page (100 on page 1). A single child is a leaf.
    ///
    /// # Panics
    /// When no leaf was added.
    pub fn finish_root(mut self, header_at: usize, pages: &mut impl AppendPage) -> Vec<Child> {
        self.reduce(header_at, pages)
    }

    /// Writes what the levels hold until one page's worth of children is left, `header_at` bytes less than a page.
    fn reduce(&mut self, header_at: usize, pages: &mut impl AppendPage) -> Vec<Child> {
        assert!(!self.levels.is_empty(), "a tree has at least one leaf");
        let mut depth = 0;
        loop {
            let top = depth + 1 == self.levels.len();
            let mut children = std::mem::take(&mut self.levels[depth].children);
            let room = interior_budget(self.geometry) - if top { header_at } else { 0 };
            let fits = page_cell_bytes(&children) <= room;
            if top && fits {
                return children;
            }
            let rest = if fits { Vec::new() } else { children.split_off(children.len() / 2) };
            for group in [children, rest] {
                if !group.is_empty() {
                    let parent = self.write_page(&group, pages);
                    self.add(depth + 1, parent, pages);
                }
            }
            depth += 1;
        }
    }
}

impl Level {
    /// Adds a child. When two more have come than fit a page, returns those that fill it and keeps the two.
    fn add(&mut self, child: Child, geometry: Geometry) -> Option<Vec<Child>> {
        self.cell_bytes += cell_bytes(&child);
        self.children.push(child);
        let kept = self.children.len().checked_sub(2)?;
        let kept_bytes = self.children[kept..].iter().map(cell_bytes).sum::<usize>();
        // `kept` children as cells and one more as right-most pointer: does not fit, so `kept` is what does.
        if self.cell_bytes - kept_bytes <= interior_budget(geometry) {
            return None;
        }
        self.cell_bytes = kept_bytes;
        let rest = self.children.split_off(kept);
        Some(std::mem::replace(&mut self.children, rest))
    }
}
