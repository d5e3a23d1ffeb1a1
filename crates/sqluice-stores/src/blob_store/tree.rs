//! Looks up a blob in pages: its key in the index, its row in the table, and then its bytes.
//!
//! ```text
//!  key ──> index root ─ ... ─ leaf: (key, rowid)           binary search in each page
//!  rowid ─> table root ─ ... ─ leaf: payload size, rowid, [header | key | ... | start of the blob], first overflow page
//!                                                                    │
//!  the blob:  local bytes, then as many overflow pages as necessary, read at once as if they were consecutive
//! ```
//!
//! Overflow pages are consecutive if the blob was written at once. Each overflow page has the number of the next one. If that is
//! another page than the next in the file, reading continues there.
//!
//! The pages are not trusted: an unexpected page gives `None`, and SQLite is asked. SQLite is also asked in rare cases: for a key that
//! does not fit its cell, and for a value that is a number.

use std::cmp::Ordering;
use std::ops::Range;

use sqluice_format::cell::{overflow_page_payload, table_leaf_split};
use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::record;
use sqluice_format::value::SerialType;
use sqluice_format::varint;
use sqluice_format::view::PageView;

use super::layout::Layout;
use super::node::Step;
use super::pages::Pages;

/// The maximum depth: no database is deeper, so a deeper tree contains a cycle.
const DEPTH_MAX: usize = 40;

/// The maximum number of bytes of a chain that are read at once.
const RUN_BYTES_MAX: usize = 1 << 20;

/// The root pages of a layout's table and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Roots {
    pub(super) table: u32,
    /// The number of levels of the table above its leaves.
    pub(super) table_levels: usize,
    pub(super) index: u32,
}

/// The properties of a row that are known before its blob is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The number of stored bytes of the blob; `None` for NULL.
    pub(super) stored: Option<u64>,
    /// The value of the column `sz`, if it exists.
    pub(super) size: Option<i64>,
}

/// A function that returns the range of the blob's stored bytes to read, given its row.
pub(super) type Wanted<'w> = &'w mut dyn FnMut(Row) -> Range<u64>;

impl Pages<'_, '_> {
    /// Looks up a key, and appends the wanted bytes of its blob. Returns `Some(None)` if the key does not exist, and `None` if SQLite
    /// must be asked.
    pub(super) fn look_up(
        &mut self,
        roots: Roots,
        layout: Layout,
        key: &[u8],
        wanted: Wanted<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Option<Row>> {
        let Some(rowid) = self.rowid_of(roots.index, key)? else { return Some(None) };
        let (row, chain) = self.row(roots, rowid, layout, wanted, out)?;
        if let Some(chain) = chain {
            self.follow(chain, out)?;
        }
        Some(Some(row))
    }

    fn rowid_of(&mut self, root: u32, key: &[u8]) -> Option<Option<i64>> {
        let mut number = root;
        for _ in 0..DEPTH_MAX {
            match self.node(number)?.find_key(key)? {
                Step::Found(rowid) => return Some(Some(rowid)),
                Step::Missing => return Some(None),
                Step::Child(child) => number = child,
            }
        }
        None
    }

    /// Returns the number of levels of a table above its leaves, or `None` if SQLite must be asked. All leaves of a tree have the same
    /// depth.
    pub(super) fn levels(&mut self, root: u32) -> Option<usize> {
        let (geometry, mut number) = (self.geometry, root);
        for level in 0..DEPTH_MAX {
            let bytes = self.leaf(number)?;
            let page = PageView::new(&*bytes, number, geometry)?;
            if page.kind().is_leaf() {
                return Some(level);
            }
            number = page.child(0)?;
        }
        None
    }

    /// Finds the row of a rowid, and appends the wanted bytes that are on its leaf. Returns `None` if SQLite must be asked, also if the
    /// index has the rowid and the table does not.
    fn row(
        &mut self,
        roots: Roots,
        rowid: i64,
        layout: Layout,
        wanted: Wanted<'_>,
        out: &mut Vec<u8>,
    ) -> Option<(Row, Option<Chain>)> {
        let (geometry, mut number) = (self.geometry, roots.table);
        for _ in 0..roots.table_levels {
            number = self.node(number)?.child_of(rowid)?;
        }
        let bytes = self.leaf(number)?;
        let page = PageView::new(&*bytes, number, geometry)?;
        if page.kind() != PageKind::LeafTable {
            return None;
        }
        let (mut low, mut high) = (0, page.cells());
        while low < high {
            let middle = usize::midpoint(low, high);
            let cell = page.cell(middle)?;
            let start = varint::read(cell)?.1;
            match (varint::read(cell.get(start..)?)?.0 as i64).cmp(&rowid) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Payload::of(cell, geometry)?.read(layout, wanted, out),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Appends the wanted bytes of a chain of overflow pages. Returns `None` if SQLite must be asked.
    fn follow(&mut self, chain: Chain, out: &mut Vec<u8>) -> Option<()> {
        let (page_bytes, each) = (self.geometry.page_bytes(), overflow_page_payload(self.geometry) as u64);
        let (Chain { mut next, mut at, wanted }, page_count) = (chain, self.page_count);
        while at + each <= wanted.start {
            next = self.next(next)?;
            at += each;
        }
        while at < wanted.end {
            let count = (wanted.end - at).div_ceil(each).min((RUN_BYTES_MAX / page_bytes) as u64) as u32;
            let count = count.min(page_count.checked_sub(next)?.checked_add(1)?);
            let run = self.run(next, count)?;
            let first = next;
            for (page, number) in run.chunks_exact(page_bytes).zip(first..) {
                if number != next || at >= wanted.end {
                    break;
                }
                let (link, payload) = page.split_at_checked(4)?;
                let from = wanted.start.saturating_sub(at) as usize;
                let to = (wanted.end - at).min(each) as usize;
                out.extend_from_slice(payload.get(from..to)?);
                next = record::int(link) as u32;
                at += each;
            }
        }
        Some(())
    }
}

/// The part of a payload that is in a chain of overflow pages.
#[derive(Debug)]
struct Chain {
    next: u32,
    /// The offset in the payload at which page `next` begins.
    at: u64,
    /// The range of the payload's bytes to read.
    wanted: Range<u64>,
}

/// The payload of a cell of a table leaf.
struct Payload<'p> {
    bytes: u64,
    local: &'p [u8],
    next: u32,
}

impl<'p> Payload<'p> {
    fn of(cell: &'p [u8], geometry: Geometry) -> Option<Payload<'p>> {
        let (bytes, start) = varint::read(cell)?;
        let start = start + varint::read(cell.get(start..)?)?.1;
        let split = table_leaf_split(usize::try_from(bytes).ok().filter(|bytes| *bytes < 1 << 31)?, geometry);
        let (local, rest) = cell.get(start..)?.split_at_checked(split.local)?;
        let next = if split.overflow_pages > 0 { record::int(rest.get(..4)?) as u32 } else { 0 };
        Some(Payload { bytes, local, next })
    }

    /// Parses the header of the record, and appends the wanted bytes that are in the cell. Returns the row and, if more of the wanted
    /// bytes are on overflow pages, their chain.
    fn read(&self, layout: Layout, wanted: Wanted<'_>, out: &mut Vec<u8>) -> Option<(Row, Option<Chain>)> {
        let (header, mut at) = varint::read(self.local)?;
        let mut start = header;
        let mut size = None;
        let (data, size_column) = layout.columns();
        for column in 0..=data {
            let (serial, bytes) = varint::read(self.local.get(at..)?).filter(|_| (at as u64) < header)?;
            at += bytes;
            let content = SerialType(serial).content_bytes()?;
            if Some(column) == size_column {
                size = Some(self.int(serial, start, content)?);
            }
            if column < data {
                start = start.checked_add(content)?;
            } else {
                let stored = match serial {
                    0 => None,
                    1..=11 => return None,
                    _ => Some(content),
                };
                return self.take(start, Row { stored, size }, wanted, out);
            }
        }
        None
    }

    /// Returns an integer of the record. Other values return `None`, since SQLite must convert them.
    fn int(&self, serial: u64, start: u64, bytes: u64) -> Option<i64> {
        match serial {
            8 | 9 => Some(serial as i64 - 8),
            1..=6 => {
                let start = usize::try_from(start).ok()?;
                Some(record::int(self.local.get(start..start.checked_add(bytes as usize)?)?))
            }
            _ => None,
        }
    }

    fn take(
        &self,
        start: u64,
        row: Row,
        wanted: Wanted<'_>,
        out: &mut Vec<u8>,
    ) -> Option<(Row, Option<Chain>)> {
        let stored = row.stored.unwrap_or(0);
        if start.checked_add(stored)? > self.bytes {
            return None;
        }
        let wanted = wanted(row);
        let wanted = start + wanted.start.min(stored)..start + wanted.end.min(stored);
        let local = self.local.len() as u64;
        if wanted.start < local && wanted.start < wanted.end {
            out.reserve((wanted.end - wanted.start) as usize);
            out.extend_from_slice(self.local.get(wanted.start as usize..wanted.end.min(local) as usize)?);
        }
        let more = wanted.end > local && wanted.start < wanted.end;
        Some((row, more.then_some(Chain { next: self.next, at: local, wanted })))
    }
}
