//! What lies where on one B-tree page ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).
//!
//! ```text
//!  header | cell pointers | unallocated | cell | free-  | cell | 3 lost | cell | reserved
//!                                       ^      | block  |      | bytes  |      ^
//!                                content start                              usable
//!
//!  freeblock     +----------------+------+---------
//!                | next freeblock | size | ...         at least 4 bytes, in ascending order, and never
//!                +----------------+------+---------    less than 4 bytes apart: those would be one
//!                 2 bytes          2, of all of it
//! ```
//!
//! Every byte from the content start on belongs to one cell or one freeblock, or is a fragment of at most three bytes,
//! and the page header counts those.

use std::ops::Range;

use super::{half_word, is_table, word};
use crate::cell::{self, CELL_BYTES_MIN, PAGE_NUMBER_BYTES};
use crate::page::{CELL_POINTER_BYTES, Geometry, PageKind};
use crate::varint;

/// No payload is larger, whatever `SQLITE_MAX_LENGTH` is.
const PAYLOAD_BYTES_MAX: u64 = i32::MAX as u64;

/// A page taken apart.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) kind: PageKind,
    pub(super) cells: Vec<Cell>,
    /// The last child of an interior page.
    pub(super) right_child: Option<u32>,
    /// Bytes in use: whatever comes before the page header, the header, cell pointers and cells.
    pub(super) used_bytes: usize,
    /// What is wrong.
    pub(super) faults: Vec<String>,
}

/// A cell taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Where it lies on the page.
    pub(super) span: Range<usize>,
    /// The page with what comes before it, on an interior page.
    pub(super) child: Option<u32>,
    /// The rowid, in a table.
    pub(super) rowid: Option<i64>,
    /// Bytes of its whole payload; `None` on a table's interior page.
    pub(super) payload: Option<u64>,
    /// Where the local payload lies on the page.
    pub(super) local: Range<usize>,
    /// Where the rest of it is.
    pub(super) overflow: Option<Overflow>,
}

/// A payload's rest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow {
    pub(super) first_page: u32,
    pub(super) pages: usize,
}

/// Takes a page apart whose B-tree header begins at `header_at`; `Err` when it can't be told what it is.
pub(super) fn read(page: &[u8], header_at: usize, geometry: Geometry) -> Result<Layout, String> {
    let usable = geometry.usable_bytes();
    let page = &page[..usable];
    let header = &page[header_at..];
    let kind =
        PageKind::from_byte(header[0]).ok_or_else(|| format!("{} is no kind of B-tree page", header[0]))?;
    let count = half_word(header, 3);
    let content = match half_word(header, 5) {
        0 => 65536,
        start => start,
    };
    let pointers = header_at + kind.header_bytes();
    let pointers_end = pointers + count * CELL_POINTER_BYTES;
    if content > usable || pointers_end > content {
        return Err(format!(
            "{count} cell pointers end at byte {pointers_end}, cells begin at byte {content} of {usable}"
        ));
    }
    let mut layout = Layout {
        kind,
        cells: Vec::with_capacity(count),
        right_child: (!kind.is_leaf()).then(|| word(header, 8)),
        used_bytes: pointers_end,
        faults: Vec::new(),
    };
    for i in 0..count {
        let at = half_word(page, pointers + i * CELL_POINTER_BYTES);
        if at < content || at > usable - CELL_BYTES_MIN {
            layout.faults.push(format!("cell {i} is at byte {at}, outside the cells"));
            continue;
        }
        match read_cell(page, at, kind, geometry) {
            Some(cell) => {
                layout.used_bytes += cell.span.len();
                layout.cells.push(cell);
            }
            None => layout.faults.push(format!("cell {i} does not fit the page")),
        }
    }
    // With a cell missing, nothing can be said about what lies between the cells.
    if layout.faults.is_empty() {
        let spans = layout.cells.iter().map(|cell| cell.span.clone()).collect();
        layout.faults.extend(coverage(page, half_word(header, 1), content, header[7], spans));
    }
    Ok(layout)
}

/// The cell at byte `at`; `None` when it would not end on the page.
fn read_cell(page: &[u8], at: usize, kind: PageKind, geometry: Geometry) -> Option<Cell> {
    let mut next = at;
    let varint = |next: &mut usize| {
        let (value, n) = varint::read(&page[*next..])?;
        *next += n;
        Some(value)
    };
    let child = (!kind.is_leaf()).then(|| word(page, at));
    if child.is_some() {
        next += PAGE_NUMBER_BYTES;
    }
    let payload = if kind == PageKind::InteriorTable { None } else { Some(varint(&mut next)?) };
    let rowid = if is_table(kind) { Some(varint(&mut next)? as i64) } else { None };
    let mut cell = Cell { span: at..next, child, rowid, payload, local: next..next, overflow: None };
    if let Some(payload) = payload {
        if payload > PAYLOAD_BYTES_MAX {
            return None;
        }
        let split = if is_table(kind) { cell::table_leaf_split } else { cell::index_split };
        let split = split(payload as usize, geometry);
        next += split.local;
        cell.local.end = next;
        if split.overflow_pages > 0 {
            next += PAGE_NUMBER_BYTES;
            let first_page = word(page.get(..next)?, next - PAGE_NUMBER_BYTES);
            cell.overflow = Some(Overflow { first_page, pages: split.overflow_pages });
        }
    }
    cell.span.end = next.max(at + CELL_BYTES_MIN);
    (cell.span.end <= page.len()).then_some(cell)
}

/// Whether cells and freeblocks account for every byte from the content start on but the `fragmented` lost ones.
fn coverage(
    page: &[u8],
    first_freeblock: usize,
    content: usize,
    fragmented: u8,
    mut spans: Vec<Range<usize>>,
) -> Option<String> {
    let mut at = first_freeblock;
    let mut least = content;
    while at != 0 {
        if at < least || at > page.len() - 4 {
            return Some(format!("a freeblock is at byte {at}, outside {least} to {}", page.len() - 4));
        }
        let size = half_word(page, at + 2);
        if size < 4 || at + size > page.len() {
            return Some(format!("the freeblock at byte {at} has {size} bytes"));
        }
        spans.push(at..at + size);
        least = at + size + 4;
        at = half_word(page, at);
    }
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut end = content;
    let mut lost = 0;
    for span in spans {
        if span.start < end {
            return Some(format!("byte {} is used twice", span.start));
        }
        lost += span.start - end;
        end = span.end;
    }
    lost += page.len() - end;
    (lost != usize::from(fragmented))
        .then(|| format!("{lost} bytes are lost between the cells, the page says {fragmented}"))
}
