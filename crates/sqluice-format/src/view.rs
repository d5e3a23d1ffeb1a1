//! A view of a B-tree page of an existing file ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)). The page is not trusted:
//! every number is checked before use, so a damaged page gives `None` instead of unrelated bytes.
//!
//! ```text
//!  header_at       pointers             pointers_end                              usable bytes
//!  +---------------+--------------------+----------------+----------------------+--------+
//!  | header        | cell pointers      | unallocated    | cells                | reserv.|
//!  +---------------+--------------------+----------------+----------------------+--------+
//!   0, or 100 on page 1                  each cell begins here or later
//!
//!  table leaf       payload bytes, rowid, the local payload, first overflow page
//!  table interior   child, rowid
//!  index leaf       payload bytes, the local payload, first overflow page
//!  index interior   child, then as an index leaf
//! ```
//!
//! The view copies nothing: cells and payloads are ranges of the page.

use std::ops::Range;

use crate::cell::{self, CELL_BYTES_MIN, PAGE_NUMBER_BYTES, Split};
use crate::limits::PAYLOAD_BYTES_MAX;
use crate::page::{CELL_POINTER_BYTES, DATABASE_HEADER_BYTES, Geometry, PageKind};
use crate::value::SerialType;
use crate::varint;

/// The size of the smallest free block: the offset of the next block, and its own size.
const FREE_BLOCK_BYTES_MIN: usize = 4;

/// A B-tree page and its number in the file.
#[derive(Clone, Copy, Debug)]
pub struct PageView<B> {
    bytes: B,
    number: u32,
    geometry: Geometry,
    kind: PageKind,
    header_at: usize,
    cells: usize,
}

/// An entry of a page: its rowid, and the part of its payload that is in the cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellView {
    /// The rowid; 0 in an index.
    pub rowid: i64,
    /// The size of the whole payload.
    pub payload_bytes: usize,
    /// The range of the local payload on the page.
    pub local: Range<usize>,
    /// The first overflow page, if the payload overflows.
    pub overflow: Option<u32>,
}

impl<B: AsRef<[u8]>> PageView<B> {
    /// Creates a view of page `number`. Returns `None` if the bytes are not a B-tree page, or the cell pointers end beyond the page.
    pub fn new(bytes: B, number: u32, geometry: Geometry) -> Option<PageView<B>> {
        let page = bytes.as_ref().get(..geometry.usable_bytes())?;
        let header_at = if number == 1 { DATABASE_HEADER_BYTES } else { 0 };
        let header = page.get(header_at..)?.first_chunk::<8>()?;
        let kind = PageKind::from_byte(header[0])?;
        let cells = usize::from(u16::from_be_bytes([header[3], header[4]]));
        let view = PageView { bytes, number, geometry, kind, header_at, cells };
        (view.pointers_end() <= geometry.usable_bytes()).then_some(view)
    }

    /// Returns the number of the page in the file.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the kind of the page.
    #[inline]
    pub fn kind(&self) -> PageKind {
        self.kind
    }

    /// Returns the number of cells.
    #[inline]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Returns a range of the page's bytes. Every range from this view is valid.
    #[inline]
    pub fn bytes(&self, at: Range<usize>) -> &[u8] {
        &self.bytes.as_ref()[at]
    }

    /// Returns the page's bytes, so that the buffer can be reused.
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// Returns the bytes from the start of a cell to the end of the usable bytes, or `None` if the cell does not begin among these bytes,
    /// after the cell pointers.
    #[inline]
    pub fn cell(&self, index: usize) -> Option<&[u8]> {
        let at = self.cell_at(index)?;
        Some(&self.usable()[at..])
    }

    /// Returns the page number of the child before the cell `index` of an interior page. If `index` is the number of cells, returns the
    /// right-most child. The file may have no page with this number. Returns `None` if the cell is malformed.
    pub fn child(&self, index: usize) -> Option<u32> {
        let at = if index == self.cells { self.header_at + 8 } else { self.cell_at(index)? };
        self.usable().get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
    }

    /// Returns the largest rowid below the child before the cell, on an interior page of a table, or `None` if the cell is malformed.
    pub fn interior_rowid(&self, index: usize) -> Option<i64> {
        let (rowid, _) = varint::read(self.cell(index)?.get(PAGE_NUMBER_BYTES..)?)?;
        Some(rowid as i64)
    }

    /// Returns the entry of a cell: an entry of a leaf, or a divider of an index. Returns `None` if the entry does not fit the page.
    #[inline]
    pub fn entry(&self, index: usize) -> Option<CellView> {
        let at = self.cell_at(index)?;
        let mut next = if self.kind.is_leaf() { at } else { at + PAGE_NUMBER_BYTES };
        let (payload_bytes, n) = self.varint(next)?;
        next += n;
        let mut rowid = 0;
        let is_table = self.kind == PageKind::LeafTable;
        if is_table {
            let (value, n) = self.varint(next)?;
            (rowid, next) = (value as i64, next + n);
        }
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return None;
        }
        let payload_bytes = payload_bytes as usize;
        let (local_max, split): (usize, fn(usize, Geometry) -> Split) = match is_table {
            true => (cell::table_leaf_local_max(self.geometry), cell::table_leaf_split),
            false => (cell::index_local_max(self.geometry), cell::index_split),
        };
        if payload_bytes <= local_max {
            let local = next..next + payload_bytes;
            let fits = local.end <= self.geometry.usable_bytes();
            return fits.then_some(CellView { rowid, payload_bytes, local, overflow: None });
        }
        let local = next..next + split(payload_bytes, self.geometry).local;
        let overflow = u32::from_be_bytes(*self.usable().get(local.end..)?.first_chunk()?);
        Some(CellView { rowid, payload_bytes, local, overflow: Some(overflow) })
    }

    /// Returns the offset of a cell, if it is between the cell pointers and the end of the usable bytes.
    pub(crate) fn start(&self, index: usize) -> Option<usize> {
        self.cell_at(index)
    }

    /// Returns the number of bytes of the page that the format may use.
    pub(crate) fn usable_bytes(&self) -> usize {
        self.geometry.usable_bytes()
    }

    /// Returns the payload size that a cell states, in bytes, or `None` if the cell is malformed.
    pub(crate) fn payload_bytes(&self, index: usize) -> Option<u64> {
        let at = self.cell_at(index)? + if self.kind.is_leaf() { 0 } else { PAGE_NUMBER_BYTES };
        self.varint(at).map(|(bytes, _)| bytes)
    }

    /// Returns a row or an index entry whose payload size is damaged: the size is computed from the serial types of the record instead. The
    /// record must not overflow.
    pub(crate) fn entry_by_record(&self, index: usize) -> Option<CellView> {
        let at = self.cell_at(index)? + if self.kind.is_leaf() { 0 } else { PAGE_NUMBER_BYTES };
        let (_, n) = self.varint(at)?;
        let is_table = self.kind == PageKind::LeafTable;
        let (rowid, record) = match is_table {
            true => self.varint(at + n).map(|(rowid, bytes)| (rowid, at + n + bytes))?,
            false => (0, at + n),
        };
        let (header, mut next) = self.varint(record)?;
        let header = usize::try_from(header).ok()?;
        let mut payload_bytes = header;
        while next < header {
            let (serial, n) = self.varint(record + next)?;
            next += n;
            payload_bytes =
                payload_bytes.checked_add(SerialType(serial).content_bytes()?.try_into().ok()?)?;
        }
        let local = record..record.checked_add(payload_bytes)?;
        let local_max = match is_table {
            true => cell::table_leaf_local_max(self.geometry),
            false => cell::index_local_max(self.geometry),
        };
        let fits = local.end <= self.geometry.usable_bytes() && payload_bytes <= local_max;
        fits.then_some(CellView { rowid: rowid as i64, payload_bytes, local, overflow: None })
    }

    /// Returns the size of a cell on the page, given by its index and by the entry that was read from it.
    #[inline]
    pub fn cell_bytes(&self, index: usize, cell: &CellView) -> usize {
        let start = self.cell_at(index).unwrap_or(cell.local.end);
        let end = cell.local.end + if cell.overflow.is_some() { PAGE_NUMBER_BYTES } else { 0 };
        (end - start.min(end)).max(CELL_BYTES_MIN)
    }

    /// Returns the size of all cells of an interior page, or `None` if a cell ends beyond the page.
    pub fn interior_cell_bytes(&self) -> Option<usize> {
        let cell_bytes = |index: usize| match self.kind {
            PageKind::InteriorTable => {
                let (_, rowid_bytes) = varint::read(self.cell(index)?.get(PAGE_NUMBER_BYTES..)?)?;
                Some((PAGE_NUMBER_BYTES + rowid_bytes).max(CELL_BYTES_MIN))
            }
            _ => Some(self.cell_bytes(index, &self.entry(index)?)),
        };
        (0..self.cells).map(cell_bytes).sum()
    }

    /// Returns `true` if cells of `cell_bytes` bytes in total, the free blocks and the lost bytes fill the page from the start of its cells
    /// on. A page that has lost a cell, or has overlapping cells, has too few or too many bytes.
    pub fn is_filled_by(&self, cell_bytes: usize) -> bool {
        let page = self.usable();
        let half_word = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
        let (content, fragmented) = (half_word(self.header_at + 5), usize::from(page[self.header_at + 7]));
        let content = if content == 0 { 65536 } else { content };
        if content < self.pointers_end() {
            return false;
        }
        let mut free = 0;
        let mut at = half_word(self.header_at + 1);
        let mut least = content;
        while at != 0 {
            if at < least || at + FREE_BLOCK_BYTES_MIN > page.len() {
                return false;
            }
            let (next, bytes) = (half_word(at), half_word(at + 2));
            if bytes < FREE_BLOCK_BYTES_MIN || at + bytes > page.len() {
                return false;
            }
            (free, least) = (free + bytes, at + bytes);
            at = next;
        }
        content + cell_bytes + free + fragmented == page.len()
    }

    /// Returns the offset of a cell, or `None` if it is not between the cell pointers and the end of the usable bytes.
    #[inline]
    fn cell_at(&self, index: usize) -> Option<usize> {
        let pointer = self.pointers() + index * CELL_POINTER_BYTES;
        let at = self.usable().get(pointer..)?.first_chunk().copied().map(u16::from_be_bytes)?;
        let at = usize::from(at);
        (self.pointers_end()..self.geometry.usable_bytes()).contains(&at).then_some(at)
    }

    #[inline]
    fn usable(&self) -> &[u8] {
        &self.bytes.as_ref()[..self.geometry.usable_bytes()]
    }

    #[inline]
    fn pointers(&self) -> usize {
        self.header_at + self.kind.header_bytes()
    }

    #[inline]
    fn pointers_end(&self) -> usize {
        self.pointers() + self.cells * CELL_POINTER_BYTES
    }

    /// Returns the varint at a byte, and its size, or `None` if the varint does not end within the usable bytes.
    #[inline]
    fn varint(&self, at: usize) -> Option<(u64, usize)> {
        match self.usable().get(at)? {
            byte @ ..0x80 => Some((u64::from(*byte), 1)),
            _ => varint::read(&self.usable()[at..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageSize;

    fn geometry() -> Geometry {
        Geometry::new(PageSize::new(512).unwrap(), 0).unwrap()
    }

    /// Returns a leaf with one row: rowid 5 and a payload of 3 bytes.
    fn leaf() -> Vec<u8> {
        let mut page = vec![0; 512];
        page[..8].copy_from_slice(&[13, 0, 0, 0, 1, 1, 251, 0]);
        page[8..10].copy_from_slice(&507u16.to_be_bytes());
        page[507..].copy_from_slice(&[3, 5, 2, 1, 9]);
        page
    }

    #[test]
    fn a_page_view_returns_the_cell_of_a_leaf() {
        let page = leaf();
        let view = PageView::new(&page[..], 2, geometry()).unwrap();
        assert_eq!((view.kind(), view.cells(), view.number()), (PageKind::LeafTable, 1, 2));
        let entry = view.entry(0).unwrap();
        assert_eq!(entry, CellView { rowid: 5, payload_bytes: 3, local: 509..512, overflow: None });
        assert_eq!((view.bytes(entry.local), view.cell(0)), (&[2, 1, 9][..], Some(&[3, 5, 2, 1, 9][..])));
    }

    #[test]
    fn is_filled_by_counts_cells_free_blocks_and_lost_bytes() {
        let mut page = leaf();
        let view = |page: &[u8]| PageView::new(page.to_vec(), 2, geometry()).unwrap();
        let (of_page, cell) = (view(&page), view(&page).entry(0).unwrap());
        let bytes = of_page.cell_bytes(0, &cell);
        assert_eq!(bytes, 5);
        assert!(of_page.is_filled_by(bytes) && !of_page.is_filled_by(0) && !of_page.is_filled_by(bytes + 1));
        // The page has a free block of 9 bytes before the cell, and 2 lost bytes before the free block.
        page[1..3].copy_from_slice(&498u16.to_be_bytes());
        page[5..8].copy_from_slice(&[1, 240, 2]);
        page[498..502].copy_from_slice(&[0, 0, 0, 9]);
        assert!(view(&page).is_filled_by(bytes));
        page[7] = 3;
        assert!(!view(&page).is_filled_by(bytes), "3 lost bytes");
        page[7] = 2;
        page[498..500].copy_from_slice(&498u16.to_be_bytes());
        assert!(!view(&page).is_filled_by(bytes), "the free block follows itself");
    }

    #[test]
    fn a_page_view_returns_none_for_a_cell_beyond_the_page_and_for_an_invalid_header() {
        let with = |at: usize, byte: u8| {
            let mut page = leaf();
            page[at] = byte;
            page
        };
        let entry = |page: &[u8]| PageView::new(page, 2, geometry()).and_then(|view| view.entry(0));
        assert!(entry(&with(507, 4)).is_none(), "a payload of 4 bytes");
        assert!(entry(&with(8, 0)).is_some(), "251 is behind the pointers");
        assert!(entry(&with(9, 4)).is_some(), "so is 260");
        assert!(PageView::new(&with(0, 3)[..], 2, geometry()).is_none(), "no such kind");
        assert!(PageView::new(&with(3, 1)[..], 2, geometry()).is_none(), "more cells than fit");
        assert!(PageView::new(&leaf()[..100], 2, geometry()).is_none(), "half a page");
        let view = with(8, 0);
        let view = PageView::new(&view[..], 1, geometry());
        assert!(view.is_none(), "page 1 has its header behind that of the database");
    }
}
