//! One page of a tree, every number on it looked at before it is used.

use std::ops::Range;

use super::{Damage, Kind, ScanError, Tree};
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::check::ReadPage;
use crate::page::{CELL_POINTER_BYTES, DATABASE_HEADER_BYTES, Geometry, PageKind};
use crate::varint;

/// No payload is larger, whatever `SQLITE_MAX_LENGTH` is.
const PAYLOAD_BYTES_MAX: u64 = i32::MAX as u64;

/// A page of a tree.
#[derive(Debug)]
pub(super) struct Page {
    bytes: Vec<u8>,
    number: u32,
    page_count: u32,
    geometry: Geometry,
    kind: PageKind,
    /// Where its header begins.
    header_at: usize,
    cells: usize,
}

/// What of an entry is on its page.
#[derive(Debug)]
pub(super) struct Cell {
    /// 0 in an index.
    pub(super) rowid: i64,
    /// Bytes of the whole record.
    pub(super) record_bytes: usize,
    /// Where the beginning of the record lies on the page.
    pub(super) local: Range<usize>,
    /// The page with the rest, if there is one.
    pub(super) overflow: Option<u32>,
}

impl Default for Page {
    fn default() -> Page {
        let geometry = Geometry::new(crate::page::PageSize::DEFAULT, 0).expect("4096 bytes are enough");
        Page {
            bytes: Vec::new(),
            number: 0,
            page_count: 0,
            geometry,
            kind: PageKind::LeafTable,
            header_at: 0,
            cells: 0,
        }
    }
}

impl Page {
    /// Reads page `number`, which must be one that the tree may have.
    pub(super) fn read<P: ReadPage>(
        &mut self,
        pages: &mut P,
        tree: &Tree,
        number: u32,
    ) -> Result<(), ScanError<P::Error>> {
        let geometry = tree.geometry;
        if !tree.may_have(number) {
            return Err(Damage { page: number, what: "a tree has no such page" }.into());
        }
        self.bytes.resize(geometry.page_bytes(), 0);
        pages.read_page(number, &mut self.bytes).map_err(ScanError::Stopped)?;
        (self.number, self.page_count, self.geometry) = (number, tree.page_count, geometry);
        self.header_at = if number == 1 { DATABASE_HEADER_BYTES } else { 0 };
        let kind = PageKind::from_byte(self.bytes[self.header_at]);
        let fits = |kind: &PageKind| match tree.kind {
            Kind::Table => matches!(kind, PageKind::InteriorTable | PageKind::LeafTable),
            Kind::Index => matches!(kind, PageKind::InteriorIndex | PageKind::LeafIndex),
        };
        self.kind = kind.filter(fits).ok_or_else(|| self.damage("this is no page of such a tree"))?;
        self.cells = self.half_word(self.header_at + 3);
        if self.pointers_end() > geometry.usable_bytes() {
            return Err(self.damage("its cell pointers end beyond the page").into());
        }
        Ok(())
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.kind.is_leaf()
    }

    #[inline]
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    #[cold]
    pub(super) fn damage(&self, what: &'static str) -> Damage {
        Damage { page: self.number, what }
    }

    /// The child before that cell, or after the last.
    pub(super) fn child(&self, cell: usize) -> Result<u32, Damage> {
        let at = if cell == self.cells { self.header_at + 8 } else { self.cell_at(cell)? };
        let child = self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_be_bytes);
        let child = child.filter(|child| (2..=self.page_count).contains(child));
        child.ok_or_else(|| self.damage("it has a child that is no page of the file"))
    }

    /// The largest rowid below the child before that cell.
    pub(super) fn interior_rowid(&self, cell: usize) -> Result<i64, Damage> {
        let at = self.cell_at(cell)? + PAGE_NUMBER_BYTES;
        let (rowid, _) = self.varint(at).ok_or_else(|| self.damage("a cell ends beyond the page"))?;
        Ok(rowid as i64)
    }

    /// An entry: of a leaf, or a divider.
    #[inline]
    pub(super) fn entry(&self, cell: usize) -> Result<Cell, Damage> {
        let at = self.cell_at(cell)?;
        let found = self.entry_at(at).filter(|cell| {
            cell.local.end + if cell.overflow.is_some() { PAGE_NUMBER_BYTES } else { 0 }
                <= self.geometry.usable_bytes()
        });
        found.ok_or_else(|| self.damage("a cell ends beyond the page"))
    }

    /// The bytes of the page there.
    #[inline]
    pub(super) fn bytes(&self, at: Range<usize>) -> &[u8] {
        &self.bytes[at]
    }

    #[inline]
    fn entry_at(&self, at: usize) -> Option<Cell> {
        let mut next = if self.is_leaf() { at } else { at + PAGE_NUMBER_BYTES };
        let (record_bytes, n) = self.varint(next)?;
        next += n;
        let mut rowid = 0;
        let is_table = self.kind == PageKind::LeafTable;
        if is_table {
            let (value, n) = self.varint(next)?;
            (rowid, next) = (value as i64, next + n);
        }
        if record_bytes > PAYLOAD_BYTES_MAX {
            return None;
        }
        let record_bytes = record_bytes as usize;
        let split = if is_table { cell::table_leaf_split } else { cell::index_split };
        let split = split(record_bytes, self.geometry);
        let local = next..next + split.local;
        let mut overflow = None;
        if split.overflow_pages > 0 {
            overflow = Some(u32::from_be_bytes(*self.bytes.get(local.end..)?.first_chunk()?));
        }
        Some(Cell { rowid, record_bytes, local, overflow })
    }

    /// Where a cell begins.
    #[inline]
    fn cell_at(&self, cell: usize) -> Result<usize, Damage> {
        let at = self.half_word(self.pointers() + cell * CELL_POINTER_BYTES);
        if (self.pointers_end()..self.geometry.usable_bytes()).contains(&at) {
            Ok(at)
        } else {
            Err(self.damage("a cell is outside the cells"))
        }
    }

    #[inline]
    fn pointers(&self) -> usize {
        self.header_at + self.kind.header_bytes()
    }

    #[inline]
    fn pointers_end(&self) -> usize {
        self.pointers() + self.cells * CELL_POINTER_BYTES
    }

    #[inline]
    fn half_word(&self, at: usize) -> usize {
        usize::from(u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]))
    }

    /// The varint there and its bytes.
    #[inline]
    fn varint(&self, at: usize) -> Option<(u64, usize)> {
        match self.bytes.get(at)? {
            byte @ ..0x80 => Some((u64::from(*byte), 1)),
            _ => varint::read(&self.bytes[at..]),
        }
    }
}
