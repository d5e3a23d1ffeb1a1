//! The rows of a full-text index: the shadow tables of an [FTS5](https://www.sqlite.org/fts5.html) table.
//!
//! An FTS5 table `t` keeps its index in ordinary tables, so an index is written as rows:
//!
//! ```text
//!  t_data (id INTEGER PRIMARY KEY, block BLOB)
//!    1     averages: number of rows, tokens of each column
//!    10    structure: cookie, levels, segments
//!    s<<37 | p                     leaf page p of segment s
//!    s<<37 | 1<<36 | h<<31 | p     doclist index of the term that lies last on page p, at height h
//!  t_idx (segid, term, pgno)       for each page that has terms: its first term, shortened; page<<1 | 1 with a doclist index
//!  t_docsize (id, sz)              the tokens of each column, for each row
//! ```
//!
//! A segment is one sorted sequence of terms. A term on disk is a byte for its index, `0` for whole tokens and `1`, `2`, ... for prefix
//! indexes, and the token. Each term has a doclist: the rows that have the term, and the positions in each row.
//!
//! ```text
//!  leaf    +--------------+-------------+--------------------------+--------------------------------+
//!          | first rowid  | content end | content: terms, doclists | footer: distances of terms     |
//!          +--------------+-------------+--------------------------+--------------------------------+
//!           16 bits        16 bits                                  varints
//!
//!  first rowid: the offset of the first rowid on the page if it precedes all terms, else 0; content end: an offset
//!
//!  term    first on its page: length, bytes             others: bytes shared with the term before, further bytes, these bytes
//!  doclist rowid, entry, delta, entry, ...              the first rowid on a page is absolute again
//!  entry   detail=full     2 * bytes, positions of column 0, 01, column, positions, ...   position: delta + 2
//!          detail=column   2 * bytes, columns: delta + 2
//!          detail=none     nothing
//!
//!  doclist index   height (0: root), first child page, its first rowid, deltas of rowids; 00 for a page on which no rowid starts
//! ```
//!
//! All numbers but the first two of a leaf are varints. Rowids are unsigned numbers of 64 bits there, and ascend as signed numbers.
//!
//! The modules, the lowest layer first:
//!
//! * `term`: terms, and the prefixes of tokens; `doclist`: doclists and their entries
//! * `doclist_index`: the pages of a term, by the rowids on them; `segment`: terms in order in, pages out
//! * `totals`: the rows about the whole table
//! * [`read`]: readers of all rows, which trust no byte
//! * [`check`]: a check of all rows
//!
//! Invariant: for the same terms, [`SegmentWriter`] writes the bytes that SQLite's `optimize` makes of two or more segments.

pub mod check;
mod doclist;
mod doclist_index;
pub mod read;
mod segment;
mod term;
mod totals;

pub use doclist::{Detail, Doclist, DoclistCursor, Entry, EntryList, MalformedDoclist};
pub use segment::{Segment, SegmentError, SegmentRows, SegmentWriter};
pub use term::{PREFIX_INDEXES_MAX, TOKEN_BYTES_MAX, index_byte, prefix_bytes};
pub use totals::{AVERAGES_ID, STRUCTURE_ID, averages, level_of, push_docsize, structure, structure_of_none};

use crate::varint;

/// The size of a page in bytes that FTS5 uses by default.
pub const PAGE_BYTES_DEFAULT: usize = 4050;

/// The smallest page size that FTS5 accepts.
pub const PAGE_BYTES_MIN: usize = 32;

/// The largest page size. FTS5 accepts 65,536, too, but can't read such pages: their size is a number of 16 bits.
pub const PAGE_BYTES_MAX: usize = 65_535;

/// A row of `t_data`: its `id` and its `block`.
pub type DataRow = (i64, Vec<u8>);

/// Appends a number, most of which have one or two bytes.
#[inline]
fn push_number(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x80 => out.push(value as u8),
        0x80..0x4000 => out.extend_from_slice(&[(value >> 7) as u8 | 0x80, value as u8 & 0x7f]),
        _ => varint::push(out, value),
    }
}

/// Reads a number, most of which have one or two bytes. Returns the number and its bytes, or `None` if `bytes` ends within the number.
#[inline]
fn first_number(bytes: &[u8]) -> Option<(u64, usize)> {
    match *bytes {
        [byte @ ..0x80, ..] => Some((byte.into(), 1)),
        [first, byte @ ..0x80, ..] => Some((u64::from(first & 0x7f) << 7 | u64::from(byte), 2)),
        _ => varint::read(bytes),
    }
}

/// Returns the `id` of a page in `t_data`. `height` is `None` for a leaf, or the height of a page of a doclist index.
fn page_id(segment: u16, height: Option<u32>, page: u32) -> i64 {
    let index = height.map_or(0, |height| 1 << 36 | i64::from(height) << 31);
    i64::from(segment) << 37 | index | i64::from(page)
}
