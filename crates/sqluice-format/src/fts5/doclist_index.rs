//! The doclist index of a term whose doclist takes many pages: the first rowid of each page, so that a search can skip pages.
//!
//! ```text
//!  height 1    [ 00 | first page at height 0 | its first rowid | delta, delta, ... ]       the root: its first byte is 00
//!
//!  height 0    [ 01 | first leaf | its first rowid | delta ... ] [ 01 | ... ] ...          other pages: their first byte is 01
//! ```
//!
//! Each delta leads to the first rowid of the next page. At height 0, a 00 stands for a leaf on which no rowid starts.
//!
//! A page is full when it has as many bytes as a page of the segment. The next page is then begun, and the level above gets an entry for
//! it.

use super::{DataRow, page_id};
use crate::varint;

/// The smallest number of pages for which a term has a doclist index: the pages after the page of the term on which its doclist goes on and
/// no other term starts.
pub(super) const PAGES_MIN: u32 = 4;

/// The doclist index of the term that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct DoclistIndex {
    /// The page on which the term lies.
    term_page: u32,
    /// The number of pages after the page of the term on which its doclist goes on and no other term starts.
    pages: u32,
    levels: Vec<Level>,
}

/// The page that is being filled at one height.
#[derive(Clone, Debug)]
struct Level {
    page: u32,
    block: Vec<u8>,
    /// The first and the last rowid of the page, once it has some.
    rowids: Option<(i64, i64)>,
}

impl DoclistIndex {
    /// Begins a term on page `page`. The index of the term before must have been [taken](DoclistIndex::take).
    pub(super) fn begin_term(&mut self, page: u32) {
        self.term_page = page;
    }

    /// Counts a page on which the doclist of the term goes on and no other term starts. `has_rowid` is `true` if a rowid starts on the
    /// page.
    pub(super) fn end_page(&mut self, has_rowid: bool) {
        self.pages += 1;
        if let Some(lowest) = self.levels.first_mut().filter(|level| !has_rowid && !level.block.is_empty()) {
            lowest.block.push(0);
        }
    }

    /// Adds a leaf and the first rowid that starts on it. Pages of the doclist index that are full go to `rows`.
    pub(super) fn push(
        &mut self,
        (segment, page_bytes): (u16, usize),
        leaf: u32,
        rowid: i64,
        rows: &mut Vec<DataRow>,
    ) {
        if self.levels.is_empty() {
            self.levels.push(Level { page: self.term_page, block: Vec::new(), rowids: None });
        }
        let mut child = leaf;
        for height in 0.. {
            let is_root = height + 1 == self.levels.len();
            let level = &mut self.levels[height];
            let is_full = level.block.len() >= page_bytes;
            let first = level.rowids.map_or(rowid, |(first, _)| first);
            let full_page = level.page;
            if is_full {
                let mut block = std::mem::take(&mut level.block);
                block[0] = 1;
                rows.push((page_id(segment, Some(height as u32), full_page), block));
                level.page += 1;
                level.rowids = None;
            }
            match &mut level.rowids {
                Some((_, last)) => {
                    varint::push(&mut level.block, rowid.wrapping_sub(*last) as u64);
                    *last = rowid;
                }
                None => {
                    level.block = head(u8::from(is_full), child, rowid);
                    level.rowids = Some((rowid, rowid));
                }
            }
            child = level.page;
            if !is_full {
                return;
            }
            if is_root {
                // The page that was full has become a child of a new root.
                let block = head(0, full_page, first);
                self.levels.push(Level { page: full_page, block, rowids: Some((first, first)) });
            }
        }
    }

    /// Ends the doclist index. If the term has at least [`PAGES_MIN`] further pages, appends the last pages of the index to `rows` and
    /// returns `true`.
    pub(super) fn take(&mut self, segment: u16, rows: &mut Vec<DataRow>) -> bool {
        let DoclistIndex { pages, levels, .. } = std::mem::take(self);
        let has_index = pages >= PAGES_MIN && !levels.is_empty();
        if has_index {
            for (height, level) in levels.into_iter().enumerate() {
                rows.push((page_id(segment, Some(height as u32), level.page), level.block));
            }
        }
        has_index
    }
}

/// Returns the start of a page: its kind, its first child and the first rowid of this child.
fn head(kind: u8, child: u32, rowid: i64) -> Vec<u8> {
    let mut block = vec![kind];
    varint::push(&mut block, u64::from(child));
    varint::push(&mut block, rowid as u64);
    block
}
