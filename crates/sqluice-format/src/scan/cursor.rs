//! A cursor that moves through a tree entry by entry, for reading several trees side by side.
//!
//! ```text
//!  levels    interior page, child 1        the current page of each level, and its current child or cell
//!            interior page, child 0
//!            leaf, cell 3            <──   the entry; in an index, it may also be a cell of an interior page
//! ```

use super::overflow::Overflowing;
use super::page::Page;
use super::{DEPTH_MAX, Damage, Kind, ScanError, Tree};
use crate::check::ReadPage;

/// A position in a tree. Memory: one page per level, and the longest record that overflows.
#[derive(Debug)]
pub struct Cursor {
    tree: Tree,
    levels: Vec<Level>,
    /// The number of levels in use. A cursor without levels is at no entry.
    depth: usize,
    /// The number of interior levels above the leaves; `None` before a leaf has been read.
    leaf_level: Option<usize>,
    /// The number of pages that may still be read.
    pages_left: u32,
    rowid: i64,
    place: RecordPlace,
    record: Vec<u8>,
    overflow_page: Vec<u8>,
}

/// The current page of one level of the tree, between the root and the current leaf.
#[derive(Debug, Default)]
struct Level {
    page: Page,
    /// The index of the current cell of a leaf, or of the current child of an interior page.
    at: usize,
}

/// The place of the record of the current entry.
#[derive(Clone, Copy, Debug)]
enum RecordPlace {
    /// The record is a range of bytes of the page of this level.
    OnPage { level: usize, start: usize, end: usize },
    /// The record overflows, and is in the buffer in which it was assembled.
    Assembled,
}

/// The position of an entry in the file: its page number, and the index of its cell on the page.
pub type Position = (u32, u32);

impl Cursor {
    /// Creates a cursor that is at no entry.
    pub fn new(tree: Tree) -> Cursor {
        Cursor {
            tree,
            levels: Vec::new(),
            depth: 0,
            leaf_level: None,
            pages_left: tree.page_count,
            rowid: 0,
            place: RecordPlace::Assembled,
            record: Vec::new(),
            overflow_page: Vec::new(),
        }
    }

    /// Returns the rowid of the current entry; 0 in an index.
    #[inline]
    pub fn rowid(&self) -> i64 {
        self.rowid
    }

    /// Returns the record of the current entry.
    #[inline]
    pub fn record(&self) -> &[u8] {
        match self.place {
            RecordPlace::OnPage { level, start, end } => self.levels[level].page.bytes(start..end),
            RecordPlace::Assembled => &self.record,
        }
    }

    /// Returns the position of the current entry in the file, or `None` if the cursor is at no entry.
    pub fn position(&self) -> Option<Position> {
        let level = &self.levels[..self.depth].last()?;
        Some((level.page.number(), level.at as u32))
    }

    /// Moves to the first entry for which `before` is `false`. In a table, `before` gets a rowid and an empty record; in an index, 0 and a
    /// record. Returns `false` if no entry is left. The entries must be in order.
    ///
    /// # Errors
    /// When `pages` returns an error, or the tree is damaged.
    pub fn seek<P: ReadPage>(
        &mut self,
        pages: &mut P,
        mut before: impl FnMut(i64, &[u8]) -> bool,
    ) -> Result<bool, ScanError<P::Error>> {
        self.depth = 0;
        self.pages_left = self.tree.page_count;
        let mut page = self.tree.root_page;
        loop {
            self.enter(pages, page)?;
            let level = self.depth - 1;
            let (mut low, mut high) = (0, self.levels[level].page.cells());
            while low < high {
                let middle = low.midpoint(high);
                let is_before = match self.tree.kind {
                    // No rowid below the child exceeds the rowid of the cell.
                    Kind::Table => before(self.rowid_of(level, middle)?, &[]),
                    Kind::Index => {
                        self.load(pages, level, middle)?;
                        before(0, self.record())
                    }
                };
                (low, high) = if is_before { (middle + 1, high) } else { (low, middle) };
            }
            self.levels[level].at = low;
            if self.levels[level].page.is_leaf() {
                return self.settle(pages);
            }
            page = self.levels[level].page.child(low)?;
        }
    }

    /// Moves to the last entry. Returns `false` if the tree is empty.
    ///
    /// # Errors
    /// Like [`Cursor::seek`].
    pub fn last<P: ReadPage>(&mut self, pages: &mut P) -> Result<bool, ScanError<P::Error>> {
        self.depth = 0;
        self.pages_left = self.tree.page_count;
        let mut page = self.tree.root_page;
        loop {
            self.enter(pages, page)?;
            let level = self.depth - 1;
            let Level { page: last, at } = &mut self.levels[level];
            if !last.is_leaf() {
                *at = last.cells();
                page = last.child(*at)?;
                continue;
            }
            let Some(cell) = last.cells().checked_sub(1) else {
                // Only the root may be empty.
                self.depth = 0;
                return Ok(false);
            };
            *at = cell;
            self.load(pages, level, cell)?;
            return Ok(true);
        }
    }

    /// Moves to the next entry. Returns `false` if no entry is left.
    ///
    /// # Errors
    /// Like [`Cursor::seek`].
    #[inline]
    pub fn next<P: ReadPage>(&mut self, pages: &mut P) -> Result<bool, ScanError<P::Error>> {
        let Some(level) = self.depth.checked_sub(1) else { return Ok(false) };
        if self.levels[level].page.is_leaf() {
            self.levels[level].at += 1;
            if self.levels[level].at < self.levels[level].page.cells() {
                self.load(pages, level, self.levels[level].at)?;
                return Ok(true);
            }
        } else {
            // The next entry after a divider is below the child to its right.
            self.levels[level].at += 1;
            self.descend(pages)?;
        }
        self.settle(pages)
    }

    /// Loads the entry at the current place of the leaf or, behind the leaf's last cell, the next entry.
    fn settle<P: ReadPage>(&mut self, pages: &mut P) -> Result<bool, ScanError<P::Error>> {
        while let Some(level) = self.depth.checked_sub(1) {
            let Level { page, at } = &mut self.levels[level];
            if *at < page.cells() {
                if page.is_leaf() || self.tree.kind == Kind::Index {
                    let at = *at;
                    self.load(pages, level, at)?;
                    return Ok(true);
                }
                *at += 1;
                self.descend(pages)?;
                continue;
            }
            self.depth -= 1;
        }
        Ok(false)
    }

    /// Descends to the first cell of the leaf below the current child of the last level.
    fn descend<P: ReadPage>(&mut self, pages: &mut P) -> Result<(), ScanError<P::Error>> {
        loop {
            let Level { page, at } = &self.levels[self.depth - 1];
            if page.is_leaf() {
                return Ok(());
            }
            let child = page.child(*at)?;
            self.enter(pages, child)?;
        }
    }

    /// Reads a page as an additional level.
    fn enter<P: ReadPage>(&mut self, pages: &mut P, page: u32) -> Result<(), ScanError<P::Error>> {
        self.take_page(page)?;
        if self.depth > DEPTH_MAX as usize {
            return Err(Damage { page, what: "the tree is too deep" }.into());
        }
        if self.depth == self.levels.len() {
            self.levels.push(Level::default());
        }
        let level = &mut self.levels[self.depth];
        level.page.read(pages, &self.tree, page)?;
        level.at = 0;
        if level.page.is_leaf() && *self.leaf_level.get_or_insert(self.depth) != self.depth {
            return Err(level.page.damage("a leaf is not as deep as others").into());
        }
        self.depth += 1;
        Ok(())
    }

    fn take_page(&mut self, page: u32) -> Result<(), Damage> {
        let left = self.pages_left.checked_sub(1);
        self.pages_left = left.ok_or(Damage { page, what: "the tree has more pages than the file" })?;
        Ok(())
    }

    /// Returns the rowid of a cell on a leaf or an interior page.
    fn rowid_of(&self, level: usize, cell: usize) -> Result<i64, Damage> {
        let page = &self.levels[level].page;
        if page.is_leaf() { page.entry(cell).map(|cell| cell.rowid) } else { page.interior_rowid(cell) }
    }

    /// Makes the entry of a cell the current entry.
    #[inline]
    fn load<P: ReadPage>(
        &mut self,
        pages: &mut P,
        level: usize,
        cell: usize,
    ) -> Result<(), ScanError<P::Error>> {
        let page = &self.levels[level].page;
        let cell = page.entry(cell)?;
        self.rowid = cell.rowid;
        let (start, end) = (cell.local.start, cell.local.end);
        self.place = RecordPlace::OnPage { level, start, end };
        match cell.overflow {
            None => Ok(()),
            Some(first) => self.assemble(pages, level, cell.payload_bytes, (start..end, first)),
        }
    }

    #[cold]
    fn assemble<P: ReadPage>(
        &mut self,
        pages: &mut P,
        level: usize,
        payload_bytes: usize,
        (local, first): (std::ops::Range<usize>, u32),
    ) -> Result<(), ScanError<P::Error>> {
        let page = &self.levels[level].page;
        let payload = Overflowing { page: page.number(), local: page.bytes(local), payload_bytes, first };
        // A chain is no longer than the file. Chains read on the way down are not counted: they may be read again.
        let mut left = self.tree.page_count;
        let room = (&mut self.record, &mut self.overflow_page);
        payload.assemble(pages, (&self.tree, usize::MAX), room, |page| {
            let taken = left.checked_sub(1).ok_or(Damage { page, what: "an overflow chain has no end" });
            taken.map(|rest| left = rest)
        })?;
        self.place = RecordPlace::Assembled;
        Ok(())
    }
}
