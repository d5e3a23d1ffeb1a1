//! Rows in rowid order, as cells of table leaves ([`cell`] draws them).

use std::slice;

use super::{Chunk, Link, OpenLeaf};
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::page::{CELL_POINTER_BYTES, PageKind};
use crate::varint;

/// Cells of the same size, contiguous on a page, in the order in which pages are filled: from the end.
///
/// ```text
///  start
///  | cell rows - 1 | ... | cell 1 | cell 0 |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The offset in the chunk at which the last cell begins, in bytes.
    pub start: u32,
    /// The number of cells, which is the number of rows.
    pub rows: u32,
}

impl Chunk {
    /// Reserves room for a cell of `cell_bytes` bytes and returns its offset in [`Chunk::bytes_mut`]. Returns `None` if the chunk is full:
    /// pass it on and place the cell in the next chunk.
    ///
    /// # Panics
    /// If the cell does not fit an empty leaf. A cell whose payload is entirely local always fits.
    pub fn place(&mut self, cell_bytes: usize, rowid: i64) -> Option<u32> {
        let mut place = 0;
        (self.place_each(&[cell_bytes as u32], |_| rowid, slice::from_mut(&mut place)) == 1).then_some(place)
    }

    /// Reserves room for cells of any size, and writes the offset of each to `places`. Returns the number of cells placed, which is less
    /// than the number of `cell_bytes` if the chunk is full.
    ///
    /// # Panics
    /// Like [`Chunk::place`], and if `places` has fewer elements than `cell_bytes`.
    pub fn place_each(
        &mut self,
        cell_bytes: &[u32],
        rowid: impl Fn(usize) -> i64,
        places: &mut [u32],
    ) -> usize {
        let places = &mut places[..cell_bytes.len()];
        let mut placed = 0;
        while placed < cell_bytes.len() {
            let Some(mut leaf) = self.leaf_for(cell_bytes[placed] as usize) else { break };
            let bytes = self.buffer.bytes_mut();
            let before = placed;
            for (place, &cell_bytes) in places[placed..].iter_mut().zip(&cell_bytes[placed..]) {
                if !leaf.has_room(cell_bytes as usize) {
                    break;
                }
                *place = leaf.take_room(cell_bytes as usize, bytes) as u32;
                placed += 1;
            }
            debug_assert!(placed > before, "a leaf was looked for that has room");
            leaf.last_rowid = rowid(placed - 1);
            self.open = Some(leaf);
        }
        self.rows += placed as u64;
        placed
    }

    /// Reserves room for up to `rows` cells of the same size and appends their places to `runs`. Returns the number of cells placed, which
    /// is less than `rows` if the chunk is full. The rowids ascend by one from `first_rowid`.
    ///
    /// # Panics
    /// Like [`Chunk::place`].
    pub fn place_run(
        &mut self,
        cell_bytes: usize,
        first_rowid: i64,
        rows: usize,
        runs: &mut Vec<Run>,
    ) -> usize {
        let mut placed = 0;
        while placed < rows {
            let Some(mut leaf) = self.leaf_for(cell_bytes) else { break };
            let room = (leaf.content - leaf.pointers) / (cell_bytes + CELL_POINTER_BYTES);
            let n = room.min(rows - placed);
            let pointers = &mut self.buffer.bytes_mut()[leaf.pointers..][..n * CELL_POINTER_BYTES];
            // The arithmetic is 16-bit, like the pointers, so that the compiler can vectorize it. 65,536 wraps to 0.
            let mut content = (leaf.content - leaf.base) as u16;
            for pointer in pointers.as_chunks_mut().0 {
                content = content.wrapping_sub(cell_bytes as u16);
                *pointer = content.to_be_bytes();
            }
            leaf.content -= n * cell_bytes;
            leaf.pointers += n * CELL_POINTER_BYTES;
            placed += n;
            // The order of the additions avoids an overflow: the last rowid may be the largest integer.
            leaf.last_rowid = first_rowid + (placed as i64 - 1);
            self.open = Some(leaf);
            runs.push(Run { start: leaf.content as u32, rows: n as u32 });
        }
        self.rows += placed as u64;
        placed
    }

    /// Adds a row, given as a whole record, with overflow pages if necessary. Returns `false` if the chunk has no room: pass the chunk on
    /// and push the row to the next chunk. An empty chunk takes a row of any size.
    pub fn push(&mut self, rowid: i64, record: &[u8]) -> bool {
        let split = cell::table_leaf_split(record.len(), self.geometry);
        let overflow_head = if split.overflow_pages > 0 { PAGE_NUMBER_BYTES } else { 0 };
        let head_bytes = varint::len(record.len() as u64) + varint::len(rowid as u64);
        let cell_bytes = head_bytes + split.local + overflow_head;
        let fits_leaf = self.open.is_some_and(|leaf| leaf.has_room(cell_bytes));
        let more = u64::from(!fits_leaf) + split.overflow_pages as u64;
        if !self.make_room(more, self.is_empty()) {
            return false;
        }
        let Some(at) = self.place(cell_bytes, rowid).map(|at| at as usize) else { return false };
        let bytes = self.bytes_mut();
        let mut to = at;
        to += varint::write(&mut bytes[to..], record.len() as u64);
        to += varint::write(&mut bytes[to..], rowid as u64);
        bytes[to..to + split.local].copy_from_slice(&record[..split.local]);
        if split.overflow_pages > 0 {
            self.links.push(Link { at: to + split.local, to: self.pages });
            self.write_overflow(&record[split.local..]);
        }
        true
    }

    /// Returns a leaf with room for a cell of `cell_bytes` bytes: the open leaf, or a new leaf after it. Returns `None` if a new leaf would
    /// exceed the capacity.
    #[inline]
    fn leaf_for(&mut self, cell_bytes: usize) -> Option<OpenLeaf> {
        match self.open {
            Some(leaf) if leaf.has_room(cell_bytes) => Some(leaf),
            _ => self.next_leaf(cell_bytes),
        }
    }

    fn next_leaf(&mut self, cell_bytes: usize) -> Option<OpenLeaf> {
        let room = self.geometry.usable_bytes() - PageKind::LeafTable.header_bytes();
        assert!(cell_bytes + CELL_POINTER_BYTES <= room, "a cell of {cell_bytes} bytes fits no leaf");
        if self.pages >= self.capacity {
            return None;
        }
        Some(*self.begin_leaf(PageKind::LeafTable))
    }
}
