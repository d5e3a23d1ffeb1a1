//! Leaves of another tree, copied unchanged.
//!
//! ```text
//!  rows      [1 2 3]  [4 5 6]  [7 8 9]         one leaf after another
//!  entries   [a b c]  d  [e f g]  h            the entry after a copied leaf is held out as a divider
//! ```
//!
//! The leaf before a copied leaf gets no more entries. To keep leaves full, no leaf is copied before the open leaf is full: entries are
//! pushed one by one until leaves of both trees end at the same entry again.

use std::ops::Range;

use super::{Chunk, Leaf, OpenLeaf};
use crate::cell::CELL_BYTES_MIN;
use crate::page::{CELL_POINTER_BYTES, PageKind, is_full};
use crate::varint;

impl Chunk {
    /// Returns `true` if a leaf of this kind can now be copied unchanged. The open leaf, if any, must be full, unless a divider already
    /// follows it. In an index, a divider must stand before the copied leaf, or the open leaf must be able to give up its last entry as
    /// this divider.
    pub fn takes_leaf(&self, kind: PageKind) -> bool {
        match (&self.open, kind) {
            (None, _) => self.leaves.is_empty() || kind == PageKind::LeafTable || self.dividers.is_pending(),
            (Some(open), PageKind::LeafIndex) => {
                self.dividers.is_pending() || (open.cells() > 1 && open.is_full(self.geometry.usable_bytes()))
            }
            (Some(open), _) => open.is_full(self.geometry.usable_bytes()),
        }
    }

    /// Copies a leaf unchanged, given as its page, the number of its entries, and its largest rowid (0 in an index). None of its entries
    /// may overflow. Returns `false` if the chunk has no room: finish the chunk, pass it on and push the leaf to the next chunk. In an
    /// index, the next entry becomes the divider after the leaf.
    ///
    /// # Panics
    /// If [`Chunk::takes_leaf`] is `false`, or the page has another size.
    pub fn push_leaf(&mut self, kind: PageKind, page: &[u8], entries: usize, last_rowid: i64) -> bool {
        assert!(self.takes_leaf(kind), "the leaf before is full");
        if !self.make_room(1, self.is_empty()) {
            return false;
        }
        if kind == PageKind::LeafIndex && self.open.is_some() && !self.dividers.is_pending() {
            self.give_last_up();
        }
        self.close_leaf();
        self.dividers.confirm();
        let base = self.pages as usize * self.geometry.page_bytes();
        self.leaves.push(Leaf { page: self.pages, last_rowid });
        self.pages += 1;
        self.bytes_mut()[base..].copy_from_slice(page);
        self.rows += entries as u64;
        true
    }

    /// Copies the cells `from..to` of another leaf to the open leaf. None of the cells may overflow ([`Leaf`](crate::scan::Leaf)) or be
    /// larger than a cell of this tree may be. Returns the number of copied cells. If not all cells were copied, the caller pushes the
    /// first remaining cell by itself.
    pub fn push_cells(&mut self, page: &OtherLeaf<'_>, from: usize, to: usize) -> usize {
        if self.dividers.is_pending() {
            return 0;
        }
        let Some(leaf) = &mut self.open else { return 0 };
        let taken = match page.is_packed {
            true => leaf.take_run(page, from..to, self.buffer.bytes_mut()),
            false => leaf.take_cells(page, from..to, self.buffer.bytes_mut()),
        };
        self.rows += taken as u64;
        taken
    }

    /// Sets the largest rowid so far, after cells were copied.
    pub fn set_last_rowid(&mut self, rowid: i64) {
        if let Some(leaf) = &mut self.open {
            leaf.last_rowid = rowid;
        }
    }

    /// Returns `true` if the previous leaf was copied unchanged, so that the next entry of the index is the divider after the leaf.
    #[inline]
    pub(super) fn wants_divider(&self) -> bool {
        self.open.is_none() && !self.leaves.is_empty() && !self.dividers.is_pending()
    }
}

/// A leaf of another tree whose cells are to be copied.
#[derive(Clone, Copy, Debug)]
pub struct OtherLeaf<'a> {
    /// The bytes of the page.
    pub bytes: &'a [u8],
    /// The number of usable bytes of the page.
    pub usable_bytes: usize,
    /// `true` if the leaf belongs to an index or a WITHOUT ROWID table.
    pub is_index: bool,
    /// `true` if the cells are contiguous and in order, from the end of the page.
    pub is_packed: bool,
}

impl OtherLeaf<'_> {
    /// Returns the offset of a cell.
    #[inline]
    fn pointer(&self, cell: usize) -> usize {
        let at = PageKind::LeafTable.header_bytes() + cell * CELL_POINTER_BYTES;
        usize::from(u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]))
    }

    /// Returns the bytes of a cell.
    #[inline]
    fn cell(&self, cell: usize) -> &[u8] {
        let cell = &self.bytes[self.pointer(cell)..];
        let varint = |at: usize| varint::first(&cell[at..]).expect("the leaf was looked at before");
        let (payload, mut head_bytes) = varint(0);
        if !self.is_index {
            head_bytes += varint(head_bytes).1;
        }
        &cell[..(head_bytes + payload as usize).max(CELL_BYTES_MIN)]
    }
}

impl OpenLeaf {
    fn is_full(&self, usable_bytes: usize) -> bool {
        let used = self.base + usable_bytes - self.content;
        is_full(self.content - self.pointers, used, self.cells())
    }

    /// Copies as many cells of a packed leaf as fit, as one run of bytes. Returns their number.
    fn take_run(&mut self, page: &OtherLeaf<'_>, cells: Range<usize>, chunk: &mut [u8]) -> usize {
        let end = if cells.start == 0 { page.usable_bytes } else { page.pointer(cells.start - 1) };
        let (content, base) = (self.content, self.base);
        let (mut start, mut taken) = (end, 0);
        for cell in cells {
            let next = page.pointer(cell);
            if content - self.pointers < end - next + CELL_POINTER_BYTES {
                break;
            }
            start = next;
            let pointer = (content - (end - start) - base) as u16;
            chunk[self.pointers..self.pointers + CELL_POINTER_BYTES].copy_from_slice(&pointer.to_be_bytes());
            self.pointers += CELL_POINTER_BYTES;
            taken += 1;
        }
        self.content -= end - start;
        chunk[self.content..content].copy_from_slice(&page.bytes[start..end]);
        taken
    }

    /// Copies as many cells as fit, one by one. Returns their number.
    fn take_cells(&mut self, page: &OtherLeaf<'_>, cells: Range<usize>, chunk: &mut [u8]) -> usize {
        let mut taken = 0;
        for cell in cells {
            let cell = page.cell(cell);
            if !self.has_room(cell.len()) {
                break;
            }
            let at = self.take_room(cell.len(), chunk);
            chunk[at..at + cell.len()].copy_from_slice(cell);
            taken += 1;
        }
        taken
    }
}
