//! Chunks: finished leaves and their overflow pages, which do not have page numbers yet.
//!
//! A leaf names no other page except the overflow pages of its payloads. So any thread can build a run of leaves before the position of the
//! run in the file is known. The few places that must hold page numbers are kept in a list of links:
//!
//! ```text
//!  page 0        page 1        page 2        page 3
//!  +-------------+-------------+-------------+-------------+
//!  | leaf        | overflow    | overflow    | leaf        |   leaves: [(0, rowid 17), (3, rowid 240)]
//!  |   ...[head]-+>[next]------+>[0]         |             |   links:  [(head, 1), (next, 2)]
//!  +-------------+-------------+-------------+-------------+
//! ```
//!
//! [`Chunk::relocate`] numbers the pages. Until it is cleared, a chunk takes one kind of leaf:
//!
//! * rows in rowid order, by [`Chunk::place`] (the fast way: reserves room for a cell whose bytes the caller writes) or [`Chunk::push`] (a
//!   whole record, which may overflow);
//! * entries of an index in key order, by [`Chunk::push_entry`]. One entry between each two leaves is held out as a divider for the level
//!   above;
//! * leaves of another tree whose pages have the same layout, by [`Chunk::push_leaf`], between other leaves.
//!
//! Invariant: the content of a chunk depends only on the rows and the capacity, and every byte of its pages is written: a recycled chunk
//! gives the same bytes as a new chunk.

mod entries;
mod leaves;
mod rows;

use crate::aligned::AlignedBuffer;
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::page::{self, CELL_POINTER_BYTES, Geometry, PageKind};

pub use entries::Divider;
use entries::Dividers;
pub use leaves::OtherLeaf;
pub use rows::Run;

/// A finished leaf of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The page, as its index in the chunk.
    pub page: u32,
    /// The largest rowid on the leaf; 0 for entries of an index.
    pub last_rowid: i64,
}

/// A place for four bytes that must hold the number of a page of the same chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The offset in the chunk, in bytes.
    pub at: usize,
    /// The page, as its index in the chunk.
    pub to: u32,
}

/// The size to which a chunk's buffer grows first, if the capacity of the chunk is not smaller.
const BYTES_AT_FIRST: usize = 512 << 10;

/// A run of finished pages; see the module's description.
#[derive(Debug)]
pub struct Chunk {
    geometry: Geometry,
    /// The number of pages after which the caller should pass the chunk on.
    capacity: u32,
    /// Memory for at least the pages in use.
    buffer: AlignedBuffer,
    /// The number of pages in use, including the open leaf.
    pages: u32,
    leaves: Vec<Leaf>,
    links: Vec<Link>,
    dividers: Dividers,
    rows: u64,
    open: Option<OpenLeaf>,
}

/// The leaf that takes cells at present. Offsets count from the start of the chunk's pages.
#[derive(Clone, Copy, Debug)]
struct OpenLeaf {
    kind: PageKind,
    page: u32,
    /// The offset of the page.
    base: usize,
    /// The offset of the next cell pointer.
    pointers: usize,
    /// The offset of the cell written last, where the next cell ends.
    content: usize,
    last_rowid: i64,
}

impl Chunk {
    /// Creates an empty chunk for `capacity` pages.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn new(geometry: Geometry, capacity: u32) -> Chunk {
        assert!(capacity > 0, "a chunk has room for a page");
        let mut chunk = Chunk {
            geometry,
            capacity,
            buffer: AlignedBuffer::default(),
            pages: 0,
            leaves: Vec::new(),
            links: Vec::new(),
            dividers: Dividers::default(),
            rows: 0,
            open: None,
        };
        chunk.reserve_pages(1);
        chunk
    }

    /// Empties the chunk for its next use. If a huge row enlarged the buffer, it shrinks again.
    pub fn clear(&mut self) {
        self.pages = 0;
        self.leaves.clear();
        self.links.clear();
        self.dividers.clear();
        self.rows = 0;
        self.open = None;
        if self.buffer.bytes().len() > self.capacity as usize * self.geometry.page_bytes() {
            self.buffer = AlignedBuffer::default();
            self.reserve_pages(1);
        }
    }

    /// Grows the buffer to at least `pages` pages. Up to the capacity, the size doubles, so that a few rows touch little memory. Beyond the
    /// capacity, the buffer grows only as far as necessary.
    fn reserve_pages(&mut self, pages: u32) {
        let bytes = pages as usize * self.geometry.page_bytes();
        let has = self.buffer.bytes().len();
        if bytes > has {
            let all = self.capacity as usize * self.geometry.page_bytes();
            self.buffer.set_len(bytes.max((2 * has).max(BYTES_AT_FIRST).min(all)));
        }
    }

    /// Returns the geometry of the pages.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns `true` if the chunk has no rows or entries.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Returns the number of pages in use.
    pub fn page_count(&self) -> u32 {
        self.pages
    }

    /// Returns the number of rows, or of entries including dividers.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the finished leaves in order. The list is complete after [`Chunk::finish`] or [`Chunk::finish_entries`].
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Returns the places that hold page numbers.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the number of pages that no later row will change: all pages before the open leaf. If the open leaf belongs to an index and
    /// has only one entry, the leaf before it may still change, too, so only the pages before that leaf count.
    pub fn finished_pages(&self) -> u32 {
        let Some(open) = self.open else { return self.pages };
        match self.leaves.last() {
            // A leaf that must give up its only entry gets an entry of the previous leaf, so the previous leaf may still change, too.
            Some(before) if open.kind == PageKind::LeafIndex && open.cells() == 1 => before.page,
            _ => open.page,
        }
    }

    /// Returns the bytes of all pages.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.bytes()[..self.pages as usize * self.geometry.page_bytes()]
    }

    /// Returns the bytes of all pages, for writing the cells that [`Chunk::place`] reserved room for.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes_mut()[..self.pages as usize * self.geometry.page_bytes()]
    }

    /// Grows the buffer by `more` pages. If the chunk would exceed its capacity, returns `false` instead, unless `any` is `true`.
    fn make_room(&mut self, more: u64, any: bool) -> bool {
        let pages = u64::from(self.pages) + more;
        // A row that needs no further page goes to the open leaf, even if an earlier huge row took the chunk beyond its capacity. `place`
        // does the same.
        if more > 0 && pages > u64::from(self.capacity) && !any {
            return false;
        }
        self.reserve_pages(u32::try_from(pages).expect("a record is at most 1 GB"));
        true
    }

    /// Writes the overflowing part of a record to pages of its own. The buffer must have room for these pages.
    fn write_overflow(&mut self, mut rest: &[u8]) {
        let (page_bytes, payload_max) =
            (self.geometry.page_bytes(), cell::overflow_page_payload(self.geometry));
        while !rest.is_empty() {
            let (content, after) = rest.split_at(rest.len().min(payload_max));
            rest = after;
            let at = self.pages as usize * page_bytes;
            self.pages += 1;
            let page = &mut self.bytes_mut()[at..at + page_bytes];
            page[..PAGE_NUMBER_BYTES].fill(0);
            page[PAGE_NUMBER_BYTES..][..content.len()].copy_from_slice(content);
            page[PAGE_NUMBER_BYTES + content.len()..].fill(0);
            if !rest.is_empty() {
                self.links.push(Link { at, to: self.pages });
            }
        }
    }

    /// Finishes the open leaf and begins another on the next page.
    fn begin_leaf(&mut self, kind: PageKind) -> &mut OpenLeaf {
        self.close_leaf();
        self.reserve_pages(self.pages + 1);
        let base = self.pages as usize * self.geometry.page_bytes();
        let leaf = OpenLeaf {
            kind,
            page: self.pages,
            base,
            pointers: base + kind.header_bytes(),
            content: base + self.geometry.usable_bytes(),
            last_rowid: 0,
        };
        self.pages += 1;
        self.open.insert(leaf)
    }

    fn close_leaf(&mut self) {
        let Some(leaf) = self.open.take() else { return };
        let (page_bytes, usable) = (self.geometry.page_bytes(), self.geometry.usable_bytes());
        let page = &mut self.bytes_mut()[leaf.base..leaf.base + page_bytes];
        let (pointers, content) = (leaf.pointers - leaf.base, leaf.content - leaf.base);
        page::write_header(page, leaf.kind, leaf.cells(), content);
        page[pointers..content].fill(0);
        page[usable..].fill(0);
        self.leaves.push(Leaf { page: leaf.page, last_rowid: leaf.last_rowid });
    }

    /// Finishes the last leaf of rows. No rows may be added afterwards.
    pub fn finish(&mut self) {
        self.close_leaf();
    }

    /// Numbers the pages consecutively from `first`, leaving out the lock-byte page, and writes these numbers to links and dividers.
    pub fn relocate(&mut self, first: u32) {
        self.link(|geometry, to| geometry.nth_page(first, to));
        self.dividers.relocate(first, self.geometry);
    }

    /// Numbers the overflow pages consecutively from `first`, for a chunk whose first page is the only leaf and is stored elsewhere.
    ///
    /// # Panics
    /// If the chunk has several leaves, or a divider after its only leaf.
    pub fn relocate_overflow(&mut self, first: u32) {
        assert!(self.leaves.len() == 1 && self.dividers().next().is_none(), "a root stands alone");
        self.link(|geometry, to| geometry.nth_page(first, to - 1));
    }

    /// Writes the page numbers of all links.
    fn link(&mut self, number: impl Fn(Geometry, u32) -> u32) {
        let (geometry, links) = (self.geometry, std::mem::take(&mut self.links));
        let bytes = self.bytes_mut();
        for link in &links {
            let number = number(geometry, link.to);
            bytes[link.at..link.at + PAGE_NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
        }
        self.links = links;
    }
}

impl OpenLeaf {
    #[inline]
    fn has_room(&self, cell_bytes: usize) -> bool {
        self.content - self.pointers >= cell_bytes + CELL_POINTER_BYTES
    }

    /// Returns the number of cells on the leaf.
    fn cells(&self) -> usize {
        (self.pointers - self.base - self.kind.header_bytes()) / CELL_POINTER_BYTES
    }

    /// Takes room for a cell: writes its pointer and returns the offset of the cell.
    #[inline]
    fn take_room(&mut self, cell_bytes: usize, chunk: &mut [u8]) -> usize {
        self.content -= cell_bytes;
        let pointer = ((self.content - self.base) as u16).to_be_bytes();
        chunk[self.pointers..self.pointers + CELL_POINTER_BYTES].copy_from_slice(&pointer);
        self.pointers += CELL_POINTER_BYTES;
        self.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageSize;

    #[test]
    fn a_buffer_is_kept_for_the_next_use_unless_a_huge_row_made_it_larger() {
        let geometry = Geometry::new(PageSize::new(512).unwrap(), 0).unwrap();
        let mut chunk = Chunk::new(geometry, 3);
        let usual = 3 * 512;
        assert_eq!(chunk.buffer.bytes().len(), usual);
        chunk.buffer.bytes_mut().fill(0xaa);
        assert!(chunk.push(1, &[2; 900]));
        chunk.clear();
        assert_eq!((chunk.buffer.bytes().len(), chunk.buffer.bytes()[usual - 1]), (usual, 0xaa));
        assert!(chunk.push(1, &[2; 90_000]));
        assert_eq!(chunk.buffer.bytes().len(), chunk.page_count() as usize * 512);
        chunk.clear();
        assert_eq!(chunk.buffer.bytes().len(), usual);
    }
}
