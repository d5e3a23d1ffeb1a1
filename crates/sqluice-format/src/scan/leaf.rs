//! Leaves that can be copied unchanged.
//!
//! ```text
//!  | header | pointers      ...      | free | cell n | ... | cell 2 | cell 1 |
//!                                                                            usable bytes
//! ```
//!
//! The drawing shows a packed leaf: its entries were written in key order, or all at once. Other leaves have gaps where cells were deleted,
//! and cells in any order.

use crate::cell::{self, CELL_BYTES_MIN};
use crate::page::{CELL_POINTER_BYTES, Geometry, is_full};
use crate::varint;
use crate::view::PageView;

/// A leaf without overflowing payloads. Its rowids ascend.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'a> {
    number: u32,
    page: &'a [u8],
    is_index: bool,
    usable_bytes: usize,
    entries: usize,
    last_rowid: i64,
    payload_bytes_max: usize,
    is_packed: bool,
}

/// The size of a leaf's header.
const HEADER_BYTES: usize = 8;

impl<'a> Leaf<'a> {
    /// Returns the leaf if it has entries, none of which overflows, and if all bytes of the page are accounted for. Rowids must ascend from
    /// `last_rowid`. Returns `None` for page 1, which begins with the database header.
    pub fn of<B: AsRef<[u8]>>(
        view: &'a PageView<B>,
        geometry: Geometry,
        mut last_rowid: Option<i64>,
    ) -> Option<Leaf<'a>> {
        let entries = view.cells();
        if view.number() == 1 || entries == 0 || !view.kind().is_leaf() {
            return None;
        }
        let page = view.bytes(0..geometry.page_bytes());
        let (is_index, usable_bytes) = (view.kind().is_index(), geometry.usable_bytes());
        let local_max =
            if is_index { cell::index_local_max(geometry) } else { cell::table_leaf_local_max(geometry) };
        let pointers = &page[HEADER_BYTES..HEADER_BYTES + entries * CELL_POINTER_BYTES];
        let cells_at = HEADER_BYTES + pointers.len();
        let mut payload_bytes_max = 0;
        let mut end = usable_bytes;
        let mut is_packed = true;
        let mut all_bytes = 0;
        for pointer in pointers.chunks_exact(CELL_POINTER_BYTES) {
            let start = usize::from(u16::from_be_bytes([pointer[0], pointer[1]]));
            let cell = page.get(start.max(cells_at)..usable_bytes)?;
            let (payload, mut head) = varint::first(cell)?;
            if !is_index {
                let (rowid, bytes) = varint::first(&cell[head..])?;
                if last_rowid.is_some_and(|last| last >= rowid as i64) {
                    return None;
                }
                last_rowid = Some(rowid as i64);
                head += bytes;
            }
            let payload = usize::try_from(payload).ok().filter(|payload| *payload <= local_max)?;
            let cell_bytes = (head + payload).max(CELL_BYTES_MIN);
            if start < cells_at || cell.len() < cell_bytes {
                return None;
            }
            is_packed &= start + cell_bytes == end;
            all_bytes += cell_bytes;
            payload_bytes_max = payload_bytes_max.max(payload);
            end = start;
        }
        // A packed leaf has no free block and no fragments.
        let expected = [0, 0, page[3], page[4], (end >> 8) as u8, end as u8, 0];
        is_packed &= page[1..HEADER_BYTES] == expected;
        if !is_packed && !view.is_filled_by(all_bytes) {
            return None;
        }
        let last_rowid = if is_index { 0 } else { last_rowid.unwrap_or(0) };
        let number = view.number();
        Some(Leaf { number, page, is_index, usable_bytes, entries, last_rowid, payload_bytes_max, is_packed })
    }

    /// Returns `true` if the cells are contiguous and in order, from the end of the page, and the leaf has no free block.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Returns the number of the page in the file.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the bytes of the page, including reserved bytes.
    pub fn page(&self) -> &'a [u8] {
        self.page
    }

    /// Returns the number of usable bytes of the page.
    pub fn usable_bytes(&self) -> usize {
        self.usable_bytes
    }

    /// Returns `true` if the leaf belongs to an index or a WITHOUT ROWID table.
    pub fn is_index(&self) -> bool {
        self.is_index
    }

    /// Returns the number of entries: at least one.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Returns the largest rowid; 0 in an index.
    pub fn last_rowid(&self) -> i64 {
        self.last_rowid
    }

    /// Returns the size of the largest payload.
    pub fn payload_bytes_max(&self) -> usize {
        self.payload_bytes_max
    }

    /// Returns the rowid, which is 0 in an index, and the record of an entry.
    ///
    /// # Panics
    /// If the leaf has no such entry.
    pub fn entry(&self, entry: usize) -> (i64, &'a [u8]) {
        let cell = &self.page[self.start(entry)..];
        let varint = |at: usize| varint::first(&cell[at..]).expect("the cell was read before");
        let (payload, mut head) = varint(0);
        let mut rowid = 0;
        if !self.is_index {
            let (value, bytes) = varint(head);
            (rowid, head) = (value as i64, head + bytes);
        }
        (rowid, &cell[head..head + payload as usize])
    }

    /// Returns the records, in order.
    pub fn records(&self) -> impl Iterator<Item = &'a [u8]> {
        let leaf = *self;
        (0..leaf.entries).map(move |entry| leaf.entry(entry).1)
    }

    /// Returns `true` if the leaf is packed and has about no room for another entry ([`is_full`]).
    pub fn is_full(&self) -> bool {
        if !self.is_packed {
            return false;
        }
        let content = self.start(self.entries - 1);
        let free = content - HEADER_BYTES - self.entries * CELL_POINTER_BYTES;
        is_full(free, self.usable_bytes - content, self.entries)
    }

    /// Returns the offset of a cell.
    fn start(&self, cell: usize) -> usize {
        let at = HEADER_BYTES + cell * CELL_POINTER_BYTES;
        usize::from(u16::from_be_bytes([self.page[at], self.page[at + 1]]))
    }
}
