//! The interior levels of a B-tree, from the bottom up
//! ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).
//!
//! Leaves arrive in order, each with its key: its largest rowid, or the divider after it. Each level gathers children until they fill a
//! page. The page is then written and becomes a child of the level above. Memory: one page of children per level.
//!
//! ```text
//!  children      c0 c1 c2 ... cn
//!  their page    cells (c0, key of c0) ... (cn-1, key of cn-1), right-most child cn
//!  level above   a child: this page, with the key of cn
//! ```
//!
//! So the key of the right-most child moves up. A rowid is then stored twice, a divider is not.
//!
//! A page other than the root needs at least one cell and so two children. A level therefore keeps two children in addition to a full page
//! before it writes that page: even if nothing follows, two are left for the last page.

mod index;
mod table;

pub use index::IndexTree;
pub use table::{Child, TableTree, write_interior};

use crate::page::{self, CELL_POINTER_BYTES, Geometry, PageKind};

/// A receiver of finished pages that numbers them.
pub trait AppendPage {
    /// Takes a page of the geometry's page size. Returns its number.
    fn append_page(&mut self, page: &[u8]) -> u32;
}

/// A page and its key, as the child of an interior page.
trait Branch: Sized {
    /// The kind of the interior pages that hold this key.
    const KIND: PageKind;

    /// Returns the page number.
    fn page(&self) -> u32;

    /// Returns the size of the cell that the page has on the interior page above.
    fn cell_bytes(&self) -> usize;

    /// Writes the cell that the page has on the interior page above. `cell` has exactly the size of the cell.
    fn write_cell(&self, cell: &mut [u8]);

    /// Returns the interior page `page` as a child of the level above. `self` is the right-most child of this page.
    fn above(self, page: u32) -> Self;
}

/// Returns the size of a child's cell and cell pointer.
fn taken_bytes(child: &impl Branch) -> usize {
    child.cell_bytes() + CELL_POINTER_BYTES
}

/// Returns the size of the cells and cell pointers of these children on an interior page of their own. The last child takes none: it is the
/// right-most child in the header.
fn page_cell_bytes(children: &[impl Branch]) -> usize {
    children[..children.len() - 1].iter().map(taken_bytes).sum()
}

/// Returns the number of bytes that an interior page has for cells and cell pointers.
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

/// The children of one level whose interior page has not been written yet.
#[derive(Debug)]
struct Level<B> {
    children: Vec<B>,
    /// The size of all children's cells and cell pointers.
    cell_bytes: usize,
}

impl<B: Branch> Levels<B> {
    fn new(geometry: Geometry) -> Levels<B> {
        Levels { geometry, levels: Vec::new(), page: vec![0; geometry.page_bytes()] }
    }

    /// Adds a child to the level `depth` above the leaves. Writes the pages that become complete.
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

    /// Writes the remaining pages, the root last, and returns the root page.
    fn finish(mut self, pages: &mut impl AppendPage) -> u32 {
        let children = self.reduce(0, pages);
        match &children[..] {
            [leaf] => leaf.page(),
            _ => self.write(children, pages).page(),
        }
    }

    /// Writes the remaining pages until the children that are left fit the root, which has `header_at` bytes less than other pages. Returns
    /// these children.
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

    /// Splits off the last children of a level for a second page: half of them, or two if half does not fit because their keys are longer.
    fn split(&self, children: &mut Vec<B>) -> Vec<B> {
        let half = children.len() / 2;
        let fits = page_cell_bytes(&children[half..]) <= interior_budget(self.geometry);
        children.split_off(if fits { half } else { children.len() - 2 })
    }
}

impl<B: Branch> Level<B> {
    /// Creates a level of children that stood on one page, with or without the right-most child.
    fn of(children: Vec<B>, geometry: Geometry) -> Level<B> {
        let cell_bytes = children.iter().map(taken_bytes).sum();
        let right = children.last().map_or(0, taken_bytes);
        assert!(cell_bytes - right <= interior_budget(geometry), "the children did not stand on one page");
        Level { children, cell_bytes }
    }

    /// Adds a child. Once the level has two children more than fit a page, returns those that fill a page and keeps the two. Until then,
    /// returns `None`.
    fn add(&mut self, child: B, geometry: Geometry) -> Option<Vec<B>> {
        self.cell_bytes += taken_bytes(&child);
        self.children.push(child);
        let kept = self.children.len().checked_sub(2)?;
        let kept_bytes = self.children[kept..].iter().map(taken_bytes).sum::<usize>();
        // `kept` children as cells and another as right-most pointer do not fit, so `kept` children fill a page.
        if self.cell_bytes - kept_bytes <= interior_budget(geometry) {
            return None;
        }
        self.cell_bytes = kept_bytes;
        let rest = self.children.split_off(kept);
        Some(std::mem::replace(&mut self.children, rest))
    }
}
