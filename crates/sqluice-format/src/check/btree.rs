//! Walks a B-tree from its root ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).

use super::claims::{Checker, Use};
use super::layout::{self, Cell, Layout, Overflow};
use super::scan::RecordScan;
use super::{ReadPage, is_table, word};
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::page::DATABASE_HEADER_BYTES;
use crate::record::RecordError;

/// SQLite goes no deeper, and a tree of so many levels could not be filled.
const DEPTH_MAX: u32 = 20;

/// What is remembered on the way through a tree.
pub(super) struct Walk<'k> {
    /// Whether its pages are those of a table.
    pub(super) table: bool,
    /// The largest rowid so far.
    last_rowid: Option<i64>,
    /// Takes payloads, for the schema table.
    keep: Option<&'k mut Keep<'k>>,
}

/// Takes the first bytes of each payload, and the payload's size.
pub(super) struct Keep<'k> {
    pub(super) bytes_max: usize,
    pub(super) take: &'k mut dyn FnMut(&[u8], u64),
}

impl<'k> Walk<'k> {
    pub(super) fn new(table: bool, keep: Option<&'k mut Keep<'k>>) -> Walk<'k> {
        Walk { table, last_rowid: None, keep }
    }
}

impl<P: ReadPage> Checker<'_, P> {
    /// Reads the tree below page `number`, which is claimed, `level` levels below the root. Rowids in it are at most
    /// `upper`. Returns its depth, unless that could not be found out.
    pub(super) fn subtree(
        &mut self,
        walk: &mut Walk<'_>,
        number: u32,
        level: u32,
        upper: Option<i64>,
    ) -> Result<Option<u32>, P::Error> {
        if level == DEPTH_MAX {
            self.problem(Some(number), format!("the tree has more than {DEPTH_MAX} levels"));
            return Ok(None);
        }
        let page = self.read(number)?;
        let header_at = if number == 1 { DATABASE_HEADER_BYTES } else { 0 };
        match layout::read(&page, header_at, self.geometry) {
            Ok(layout) if is_table(layout.kind) == walk.table => {
                return self.page(walk, number, level, upper, &page, layout);
            }
            Ok(layout) => {
                self.problem(Some(number), format!("a page of kind {} has no place here", layout.kind as u8));
            }
            Err(what) => self.problem(Some(number), what),
        }
        Ok(None)
    }

    fn page(
        &mut self,
        walk: &mut Walk<'_>,
        number: u32,
        level: u32,
        upper: Option<i64>,
        page: &[u8],
        layout: Layout,
    ) -> Result<Option<u32>, P::Error> {
        for what in layout.faults {
            self.problem(Some(number), what);
        }
        let leaf = layout.kind.is_leaf();
        // An empty table is one empty leaf. Page 1 has 100 bytes less than its only child may need.
        if layout.cells.is_empty() && !(level == 0 && (leaf || number == 1)) {
            self.problem(Some(number), "a page other than an empty root has no cells".to_owned());
        }
        let unused_bytes = self.geometry.usable_bytes().saturating_sub(layout.used_bytes);
        let tree = self.tree();
        *(if leaf { &mut tree.leaf_pages } else { &mut tree.interior_pages }) += 1;
        tree.used_bytes += layout.used_bytes as u64;
        tree.unused_bytes += unused_bytes as u64;
        let mut depths = Depths::default();
        for cell in &layout.cells {
            if let Some(child) = cell.child {
                depths.add(self.child(walk, child, number, level, cell.rowid.or(upper))?);
            }
            self.rowid(walk, number, cell, upper);
            if let Some(payload) = cell.payload {
                self.tree().rows += 1;
                self.tree().payload_bytes += payload;
                self.payload(walk, number, page, cell, payload)?;
            }
        }
        if let Some(child) = layout.right_child {
            depths.add(self.child(walk, child, number, level, upper)?);
        }
        if depths.differ {
            self.problem(Some(number), "its children are not equally deep".to_owned());
        }
        Ok(if leaf { Some(1) } else { depths.first.map(|depth| depth + 1) })
    }

    fn child(
        &mut self,
        walk: &mut Walk<'_>,
        child: u32,
        parent: u32,
        level: u32,
        upper: Option<i64>,
    ) -> Result<Option<u32>, P::Error> {
        if !self.claim(child, Use::Child, parent)? {
            return Ok(None);
        }
        self.subtree(walk, child, level + 1, upper)
    }

    /// Rowids ascend, those on interior pages among them: each is at least the last one below its child.
    fn rowid(&mut self, walk: &mut Walk<'_>, number: u32, cell: &Cell, upper: Option<i64>) {
        let Some(rowid) = cell.rowid else { return };
        let ascends = match walk.last_rowid {
            None => true,
            Some(last) if cell.child.is_some() => rowid >= last,
            Some(last) => rowid > last,
        };
        if !ascends {
            self.problem(Some(number), format!("rowid {rowid} does not ascend"));
        } else if upper.is_some_and(|upper| rowid > upper) {
            self.problem(Some(number), format!("rowid {rowid} is larger than the page above allows"));
        }
        walk.last_rowid = Some(rowid);
    }

    /// Reads a payload from its cell and overflow pages.
    fn payload(
        &mut self,
        walk: &mut Walk<'_>,
        number: u32,
        page: &[u8],
        cell: &Cell,
        payload: u64,
    ) -> Result<(), P::Error> {
        let mut scan = RecordScan::new(payload);
        let mut kept = Vec::new();
        let keep_max = walk.keep.as_ref().map_or(0, |keep| keep.bytes_max);
        let mut feed = |bytes: &[u8]| {
            scan.feed(bytes);
            kept.extend_from_slice(&bytes[..bytes.len().min(keep_max - kept.len())]);
        };
        let local = &page[cell.local.clone()];
        feed(local);
        if let Some(overflow) = &cell.overflow
            && !self.overflow(number, overflow, payload - local.len() as u64, &mut feed)?
        {
            return Ok(());
        }
        match scan.finish() {
            Ok(()) => {
                if let Some(keep) = &mut walk.keep {
                    (keep.take)(&kept, payload);
                }
            }
            Err(error) => {
                let why = match error {
                    RecordError::Header => "its header does not end where it should",
                    RecordError::ReservedType => "it has a serial type of 10 or 11",
                    RecordError::Body => "its values do not take the bytes that there are",
                };
                self.problem(
                    Some(number),
                    format!("the cell at byte {} is no record: {why}", cell.span.start),
                );
            }
        }
        Ok(())
    }

    /// Reads a chain of overflow pages with `left` bytes; false when it breaks off.
    fn overflow(
        &mut self,
        leaf: u32,
        overflow: &Overflow,
        mut left: u64,
        feed: &mut impl FnMut(&[u8]),
    ) -> Result<bool, P::Error> {
        let (mut parent, mut next, mut usage) = (leaf, overflow.first_page, Use::FirstOverflow);
        for _ in 0..overflow.pages {
            if next == 0 {
                self.problem(Some(parent), "an overflow chain ends too early".to_owned());
                return Ok(false);
            }
            if !self.claim(next, usage, parent)? {
                return Ok(false);
            }
            let page = self.read(next)?;
            let bytes = left.min(cell::overflow_page_payload(self.geometry) as u64);
            feed(&page[PAGE_NUMBER_BYTES..][..bytes as usize]);
            left -= bytes;
            let used = PAGE_NUMBER_BYTES as u64 + bytes;
            let unused = self.geometry.usable_bytes() as u64 - used;
            let tree = self.tree();
            tree.overflow_pages += 1;
            tree.used_bytes += used;
            tree.unused_bytes += unused;
            (parent, next, usage) = (next, word(&page, 0), Use::LaterOverflow);
        }
        if next != 0 {
            self.problem(Some(parent), format!("an overflow chain goes on to page {next} after its end"));
        }
        Ok(true)
    }
}

/// Whether depths are equal.
#[derive(Default)]
struct Depths {
    first: Option<u32>,
    differ: bool,
}

impl Depths {
    fn add(&mut self, depth: Option<u32>) {
        if let Some(depth) = depth {
            self.differ |= *self.first.get_or_insert(depth) != depth;
        }
    }
}
