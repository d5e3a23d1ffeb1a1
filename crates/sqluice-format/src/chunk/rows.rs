//! Rows in rowid order, as cells of table leaves ([`cell`] draws them).

use super::{Chunk, Link, OpenLeaf};
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::page::{CELL_POINTER_BYTES, PageKind};
use crate::varint;

impl Chunk {
    /// Makes room for a cell of `cell_bytes` bytes and returns where in [`Chunk::bytes_mut`] it begins, or `None`
    /// when the chunk is full: then pass it on and place the cell in the next.
    ///
    /// # Panics
    /// When the cell is larger than an empty leaf, which a payload that is all local never is.
    #[inline]
    pub fn place(&mut self, cell_bytes: usize, rowid: i64) -> Option<u32> {
        if !self.open.is_some_and(|leaf| leaf.has_room(cell_bytes)) {
            self.open_leaf(cell_bytes)?;
        }
        let leaf = self.open.as_mut()?;
        leaf.last_rowid = rowid;
        let at = leaf.take_room(cell_bytes, self.buffer.bytes_mut());
        self.rows += 1;
        Some(at as u32)
    }

    /// Makes room for up to `places.len()` cells of the same size at once, fills in where each begins, and returns how
    /// many that were: fewer than asked for when the chunk is full. Their rowids run up from `first_rowid` by one.
    ///
    /// # Panics
    /// As [`Chunk::place`].
    pub fn place_run(&mut self, cell_bytes: usize, first_rowid: i64, places: &mut [u32]) -> usize {
        let mut placed = 0;
        while placed < places.len() {
            let leaf = match &mut self.open {
                Some(leaf) if leaf.has_room(cell_bytes) => leaf,
                _ => match self.open_leaf(cell_bytes) {
                    Some(leaf) => leaf,
                    None => break,
                },
            };
            let room = (leaf.content - leaf.pointers) / (cell_bytes + CELL_POINTER_BYTES);
            let n = room.min(places.len() - placed);
            let (mut content, base, pointers) = (leaf.content, leaf.base, leaf.pointers);
            leaf.content -= n * cell_bytes;
            leaf.pointers += n * CELL_POINTER_BYTES;
            // In this order, for the last rowid may be the largest integer.
            leaf.last_rowid = first_rowid + ((placed + n) as i64 - 1);
            let pointers = &mut self.buffer.bytes_mut()[pointers..pointers + n * CELL_POINTER_BYTES];
            let pointers = pointers.chunks_exact_mut(CELL_POINTER_BYTES);
            for (place, pointer) in places[placed..placed + n].iter_mut().zip(pointers) {
                content -= cell_bytes;
                *place = content as u32;
                pointer.copy_from_slice(&((content - base) as u16).to_be_bytes());
            }
            placed += n;
        }
        self.rows += placed as u64;
        placed
    }

    /// Adds a row given as a whole record, with overflow pages if it needs them. Returns whether it found room: if
    /// not, pass the chunk on and push the row to the next. An empty chunk takes a row of any size.
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

    /// Finishes the open leaf and begins another, for a cell of `cell_bytes`; `None` when that would be one page
    /// too many.
    fn open_leaf(&mut self, cell_bytes: usize) -> Option<&mut OpenLeaf> {
        let room = self.geometry.usable_bytes() - PageKind::LeafTable.header_bytes();
        assert!(cell_bytes + CELL_POINTER_BYTES <= room, "a cell of {cell_bytes} bytes fits no leaf");
        if self.pages >= self.capacity {
            return None;
        }
        Some(self.begin_leaf(PageKind::LeafTable))
    }
}
