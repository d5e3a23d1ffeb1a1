//! The interior levels of a B-tree, from the bottom up
//! ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).
//!
//! Leaves arrive in order, each with its key: the largest rowid on it, or the divider that follows it. Each level
//! gathers children until they fill a page; the page is written and becomes a child of the level above. Memory is one
//! page's worth of children a level.
//!
//! ```text
//!  children  c0 c1 c2 ... cn         the page of these: cells (c0, key of c0) ... (cn-1, key of cn-1), right-most cn
//!                                    and in the level above: a child with the key of cn
//! ```
//!
//! So the key of the right-most child moves up: a rowid is then stored twice, a divider is not.
//!
//! A page other than the root needs at least one cell, that is two children. So a level holds two children back
//! beyond a full page before it writes that page: whatever follows, two are left for the last page.

mod index;
mod table;

pub use index::IndexTree;
pub use table::{Child, TableTree, write_interior};

use crate::page::{self, CELL_POINTER_BYTES, Geometry, PageKind};

/// Takes the pages that are made and says what number each gets.
pub trait AppendPage {
    /// Takes one page of the geometry's page size; returns its number.
    fn append_page(&mut self, page: &[u8]) -> u32;
}

/// A page and its key.
trait Branch: Sized {
    /// The kind of the pages above.
    const KIND: PageKind;

    /// The page's number.
    fn page(&self) -> u32;

    /// Bytes of it as a cell.
    fn cell_bytes(&self) -> usize;

    /// Writes the cell, which is just as long.
    fn write_cell(&self, cell: &mut [u8]);

    /// The child that a page becomes whose right-most child this is.
    fn above(self, page: u32) -> Self;
}

/// Bytes that a child takes as a cell, its cell pointer included.
fn taken_bytes(child: &impl Branch) -> usize {
    child.cell_bytes() + CELL_POINTER_BYTES
}

/// Bytes that children take on a page of their own: the last is the right-most pointer of the header.
fn page_cell_bytes(children: &[impl Branch]) -> usize {
    children[..children.len() - 1].iter().map(taken_bytes).sum()
}

/// Bytes that an interior page has for cells and cell pointers.
fn interior_budget(geometry: Geometry) -> usize {
    geometry.usable_bytes() - PageKind::InteriorTable.header_bytes()
}

/// Writes an interior page with `children` to `page`, whose B-tree header begins at `header_at`.
fn write_page<B: Branch>(page: &mut [u8], header_at: usize, geometry: Geometry, children: &[B]) {
    let (right, cells) = children.split_last().expect("an interior page has a child");
    assert!(!cells.is_empty() || header_at > 0, "an interior page needs two children");
    let pointers = header_at + B::KIND.header_bytes();
    assert!(page_cell_bytes(children) <= geometry.usable_bytes() - pointers, "the children do not fit");
    page[header_at..].fill(0);
    let mut content = geometry.usable_bytes();
    for (i, child) in cells.iter().enumerate() {
        let end = content;
        content -= child.cell_bytes();
        child.write_cell(&mut page[content..end]);
        let pointer = pointers + i * CELL_POINTER_BYTES;
        page[pointer..pointer + CELL_POINTER_BYTES].copy_from_slice(&(content as u16).to_be_bytes());
    }
    page::write_header(&mut page[header_at..], B::KIND, cells.len(), content);
    page[header_at + 8..header_at + 12].copy_from_slice(&right.page().to_be_bytes());
}

/// The interior pages above a sequence of leaves.
#[derive(Debug)]
struct Levels<B> {
    geometry: Geometry,
    levels: Vec<Level<B>>,
    page: Vec<u8>,
}

/// Children that have no page yet.
#[derive(Debug)]
struct Level<B> {
    children: Vec<B>,
    /// What they would all take as cells.
    cell_bytes: usize,
}

impl<B: Branch> Levels<B> {
    fn new(geometry: Geometry) -> Levels<B> {
        Levels { geometry, levels: Vec::new(), page: vec![0; geometry.page_bytes()] }
    }

    /// Adds a child to the level `depth` above the leaves; writes the pages that it completes.
    fn add(&mut self, depth: usize, child: B, pages: &mut impl AppendPage) {
        if depth == self.levels.len() {
            self.levels.push(Level { children: Vec::new(), cell_bytes: 0 });
        }
        if let Some(full) = self.levels[depth].add(child, self.geometry) {
            let parent = self.write(full, pages);
            self.add(depth + 1, parent, pages);
        }
    }

    fn write(&mut self, mut children: Vec<B>, pages: &mut impl AppendPage) -> B {
        write_page(&mut self.page, 0, self.geometry, &children);
        let page = pages.append_page(&self.page);
        children.pop().expect("a page has children").above(page)
    }

    /// Writes what is left, the root last, and returns its page.
    fn finish(mut self, pages: &mut impl AppendPage) -> u32 {
        let children = self.reduce(0, pages);
        match &children[..] {
            [leaf] => leaf.page(),
            _ => self.write(children, pages).page(),
        }
    }

    /// Writes what the levels hold until one page's worth of children is left, `header_at` bytes less than a page.
    fn reduce(&mut self, header_at: usize, pages: &mut impl AppendPage) -> Vec<B> {
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
            let rest = if fits { Vec::new() } else { self.split(&mut children) };
            for group in [children, rest] {
                if !group.is_empty() {
                    let parent = self.write(group, pages);
                    self.add(depth + 1, parent, pages);
                }
            }
            depth += 1;
        }
    }

    /// Takes what should go to a second page off the last children of a level: half of them, or if that does not fit,
    /// because their keys are longer, two.
    fn split(&self, children: &mut Vec<B>) -> Vec<B> {
        let half = children.len() / 2;
        let fits = page_cell_bytes(&children[half..]) <= interior_budget(self.geometry);
        children.split_off(if fits { half } else { children.len() - 2 })
    }
}

impl<B: Branch> Level<B> {
    /// Children that stood on one page, with the right-most one or without.
    fn of(children: Vec<B>, geometry: Geometry) -> Level<B> {
        let cell_bytes = children.iter().map(taken_bytes).sum();
        let right = children.last().map_or(0, taken_bytes);
        assert!(cell_bytes - right <= interior_budget(geometry), "the children did not stand on one page");
        Level { children, cell_bytes }
    }

    /// Adds a child. When two more have arrived than fit a page, returns those that fill it and keeps the two.
    fn add(&mut self, child: B, geometry: Geometry) -> Option<Vec<B>> {
        self.cell_bytes += taken_bytes(&child);
        self.children.push(child);
        let kept = self.children.len().checked_sub(2)?;
        let kept_bytes = self.children[kept..].iter().map(taken_bytes).sum::<usize>();
        // `kept` children as cells and one more as right-most pointer: does not fit, so `kept` is what does.
        if self.cell_bytes - kept_bytes <= interior_budget(geometry) {
            return None;
        }
        self.cell_bytes = kept_bytes;
        let rest = self.children.split_off(kept);
        Some(std::mem::replace(&mut self.children, rest))
    }
}
