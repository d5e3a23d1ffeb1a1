//! The layout of one B-tree page ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).
//!
//! ```text
//!  header | cell pointers | unallocated | cell | freeblock | cell | 3 lost bytes | cell | reserved
//!                                       ^                                               ^
//!                                       content start                                   end of the usable bytes
//!
//!  freeblock     +----------------+------+---------
//!                | next freeblock | size | ...
//!                +----------------+------+---------
//!                 2 bytes          2 bytes: the size of the whole freeblock
//! ```
//!
//! A freeblock has at least 4 bytes. Freeblocks are in ascending order, and at least 4 bytes apart: nearer ones would have been merged.
//!
//! Every byte from the content start on belongs to a cell, a freeblock, or a fragment of at most three bytes. The page header counts the
//! bytes of the fragments.

use super::{half_word, is_table, word};
use crate::cell::{self, CELL_BYTES_MIN, PAGE_NUMBER_BYTES};
use crate::limits::PAYLOAD_BYTES_MAX;
use crate::page::{CELL_POINTER_BYTES, Geometry, PageKind};
use crate::varint;

/// The parsed layout of a page. It is reused from page to page to avoid allocations.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) kind: PageKind,
    pub(super) cells: Vec<Cell>,
    /// The right-most child of an interior page; `None` for a leaf.
    pub(super) right_child: Option<u32>,
    /// The number of bytes in use: bytes before the page header, the page header, cell pointers and cells.
    pub(super) used_bytes: usize,
    /// The faults of the page.
    pub(super) faults: Vec<String>,
    spans: Vec<Span>,
}

/// A range of bytes on a page: the offsets at which it begins and ends.
type Span = (u32, u32);

/// A parsed cell of a B-tree page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The offset of the cell on the page.
    pub(super) start: u32,
    end: u32,
    /// The page with the entries before the cell, if the cell is on an interior page.
    pub(super) child: u32,
    /// The size of the whole payload; 0 on a table's interior page.
    pub(super) payload: u32,
    /// The rowid, if the cell is in a table.
    pub(super) rowid: i64,
    /// The offset of the local payload on the page.
    local_start: u32,
    local_bytes: u32,
    /// The first overflow page, and the number of overflow pages.
    pub(super) overflow: u32,
    pub(super) overflow_pages: u32,
}

impl Cell {
    /// Returns the part of the payload that is in the cell.
    #[inline]
    pub(super) fn local<'p>(&self, page: &'p [u8]) -> &'p [u8] {
        &page[self.local_start as usize..][..self.local_bytes as usize]
    }
}

impl Default for Layout {
    fn default() -> Layout {
        Layout {
            kind: PageKind::LeafTable,
            cells: Vec::new(),
            right_child: None,
            used_bytes: 0,
            faults: Vec::new(),
            spans: Vec::new(),
        }
    }
}

impl Layout {
    /// Parses a page whose B-tree header begins at `header_at`. Returns an error if the page's kind is unknown, or if its cell content area
    /// does not begin between the cell pointers and the end of the page.
    pub(super) fn read(&mut self, page: &[u8], header_at: usize, geometry: Geometry) -> Result<(), String> {
        let usable = geometry.usable_bytes();
        let page = &page[..usable];
        let header = &page[header_at..];
        self.cells.clear();
        self.faults.clear();
        let kind = PageKind::from_byte(header[0])
            .ok_or_else(|| format!("{} is not a kind of B-tree page", header[0]))?;
        let count = half_word(header, 3);
        let content = match half_word(header, 5) {
            0 => 65536,
            start => start,
        };
        let pointers = header_at + kind.header_bytes();
        let pointers_end = pointers + count * CELL_POINTER_BYTES;
        if content > usable || pointers_end > content {
            return Err(format!(
                "{count} cell pointers end at byte {pointers_end}, but cells begin at byte {content} of {usable}"
            ));
        }
        self.kind = kind;
        self.right_child = (!kind.is_leaf()).then(|| word(header, 8));
        self.used_bytes = pointers_end;
        // On a page that was filled in order, each cell ends where the previous cell begins.
        let mut next_end = usable as u32;
        let mut in_order = true;
        for (i, pointer) in
            page[pointers..pointers_end].as_chunks::<CELL_POINTER_BYTES>().0.iter().enumerate()
        {
            let at = usize::from(u16::from_be_bytes(*pointer));
            if at < content || at > usable - CELL_BYTES_MIN {
                self.faults.push(format!("cell {i} is at byte {at}, outside the cell content area"));
                continue;
            }
            match read_cell(page, at, kind, geometry) {
                Some(cell) => {
                    self.used_bytes += (cell.end - cell.start) as usize;
                    in_order &= cell.end == next_end;
                    next_end = cell.start;
                    self.cells.push(cell);
                }
                None => self.faults.push(format!("cell {i} does not fit the page")),
            }
        }
        let (freeblock, fragmented) = (half_word(header, 1), header[7]);
        in_order &= next_end as usize == content && freeblock == 0 && fragmented == 0;
        // If a cell is missing, the bytes between the cells can't be checked.
        if self.faults.is_empty() && !in_order {
            self.spans.clear();
            self.spans.extend(self.cells.iter().map(|cell| (cell.start, cell.end)));
            self.faults.extend(coverage(page, freeblock, content, fragmented, &mut self.spans));
        }
        Ok(())
    }
}

/// Returns the cell at byte `at`, or `None` if the cell does not end on the page, or states a payload larger than SQLite reads.
#[inline]
fn read_cell(page: &[u8], at: usize, kind: PageKind, geometry: Geometry) -> Option<Cell> {
    let mut next = at;
    let varint = |next: &mut usize| match page.get(*next)? {
        byte @ ..0x80 => {
            *next += 1;
            Some(u64::from(*byte))
        }
        _ => {
            let (value, n) = varint::read(&page[*next..])?;
            *next += n;
            Some(value)
        }
    };
    let mut child = 0;
    if !kind.is_leaf() {
        child = word(page, at);
        next += PAGE_NUMBER_BYTES;
    }
    let payload = if kind == PageKind::InteriorTable { 0 } else { varint(&mut next)? };
    let rowid = if is_table(kind) { varint(&mut next)? as i64 } else { 0 };
    if payload > PAYLOAD_BYTES_MAX {
        return None;
    }
    let split = if is_table(kind) { cell::table_leaf_split } else { cell::index_split };
    let split = split(payload as usize, geometry);
    let local_start = next;
    next += split.local;
    let mut overflow = 0;
    if split.overflow_pages > 0 {
        next += PAGE_NUMBER_BYTES;
        overflow = word(page.get(..next)?, next - PAGE_NUMBER_BYTES);
    }
    let end = next.max(at + CELL_BYTES_MIN);
    (end <= page.len()).then_some(Cell {
        start: at as u32,
        end: end as u32,
        child,
        payload: payload as u32,
        rowid,
        local_start: local_start as u32,
        local_bytes: split.local as u32,
        overflow,
        overflow_pages: split.overflow_pages as u32,
    })
}

/// Checks that cells and freeblocks cover every byte from the content start on except the `fragmented` lost bytes. Returns the fault, if
/// any.
fn coverage(
    page: &[u8],
    first_freeblock: usize,
    content: usize,
    fragmented: u8,
    spans: &mut Vec<Span>,
) -> Option<String> {
    let mut at = first_freeblock;
    let mut least = content;
    while at != 0 {
        if at < least || at > page.len() - 4 {
            return Some(format!("a freeblock is at byte {at}, outside {least} to {}", page.len() - 4));
        }
        let size = half_word(page, at + 2);
        if size < 4 || at + size > page.len() {
            return Some(format!("the freeblock at byte {at} has an impossible size: {size} bytes"));
        }
        spans.push((at as u32, (at + size) as u32));
        least = at + size + 4;
        at = half_word(page, at);
    }
    // Most pages have their cells in descending order. A stable sort handles such runs quickly.
    spans.sort();
    let mut end = content;
    let mut lost = 0;
    for &(start, next_end) in &*spans {
        let start = start as usize;
        if start < end {
            return Some(format!("byte {start} is used twice"));
        }
        lost += start - end;
        end = next_end as usize;
    }
    lost += page.len() - end;
    (lost != usize::from(fragmented))
        .then(|| format!("{lost} bytes are lost between the cells, but the page says {fragmented}"))
}
