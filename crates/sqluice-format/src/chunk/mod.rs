//! Chunks: finished leaves and their overflow pages, which do not know their numbers yet.
//!
//! A leaf names no other page, except where a payload overflows; so a run of leaves can be made on any core before it
//! knows where in the file it will stand. What does name a page is on a short list:
//!
//! ```text
//!  page 0        page 1        page 2        page 3
//!  +-------------+-------------+-------------+-------------+
//!  | leaf        | overflow    | overflow    | leaf        |   leaves: [(0, rowid 17), (3, rowid 240)]
//!  |   ...[head]-+>[next]------+>[0]         |             |   links:  [(head, 1), (next, 2)]
//!  +-------------+-------------+-------------+-------------+
//! ```
//!
//! [`Chunk::relocate`] gives the pages their numbers. A chunk takes either kind of leaf, until it is cleared:
//!
//! * rows in rowid order, by [`Chunk::place`] (room for a cell whose bytes the caller writes, the fast way) or
//!   [`Chunk::push`] (a whole record, which may overflow);
//! * entries of an index in key order, by [`Chunk::push_entry`]. Between two leaves one entry is held out as divider,
//!   for the level above.
//! * leaves of another tree whose pages have the same layout, by [`Chunk::push_leaf`], between the others.
//!
//! Invariant: what is in a chunk depends on the rows and the capacity alone, and every byte of its pages is
//! written: a recycled chunk gives the same bytes as a new one.

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

/// A finished leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The page of the chunk.
    pub page: u32,
    /// The largest rowid on it; 0 for entries of an index.
    pub last_rowid: i64,
}

/// Four bytes that must become the number of a page of the same chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where in the chunk, in bytes.
    pub at: usize,
    /// The page of the chunk.
    pub to: u32,
}

/// Bytes of pages that a chunk has room for at first.
const BYTES_AT_FIRST: usize = 512 << 10;

/// A run of finished pages; see the module's description.
#[derive(Debug)]
pub struct Chunk {
    geometry: Geometry,
    /// Pages that it takes before the caller should pass it on.
    capacity: u32,
    /// Room for the pages, and perhaps more.
    buffer: AlignedBuffer,
    /// Pages in use, the open leaf among them.
    pages: u32,
    leaves: Vec<Leaf>,
    links: Vec<Link>,
    dividers: Dividers,
    rows: u64,
    open: Option<OpenLeaf>,
}

/// The leaf that takes cells at present. Places count from the start of the chunk's pages.
#[derive(Clone, Copy, Debug)]
struct OpenLeaf {
    kind: PageKind,
    page: u32,
    /// Where its page begins.
    base: usize,
    /// Where the next cell pointer goes.
    pointers: usize,
    /// Where the cell written last begins: the next one ends here.
    content: usize,
    last_rowid: i64,
}

impl Chunk {
    /// An empty chunk for `capacity` pages.
    ///
    /// # Panics
    /// When that is 0.
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

    /// Empties it for the next use. A buffer that one huge row made larger shrinks again.
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

    /// Makes sure that the buffer holds `pages` pages. It grows twofold up to the capacity, so that few rows touch little memory; beyond that
    /// only for what an empty chunk must take.
    fn reserve_pages(&mut self, pages: u32) {
        let bytes = pages as usize * self.geometry.page_bytes();
        let has = self.buffer.bytes().len();
        if bytes > has {
            let all = self.capacity as usize * self.geometry.page_bytes();
            self.buffer.set_len(bytes.max((2 * has).max(BYTES_AT_FIRST).min(all)));
        }
    }

    /// The layout of its pages.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Whether it has no rows or entries.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Pages in use.
    pub fn page_count(&self) -> u32 {
        self.pages
    }

    /// Rows in it, or entries, dividers among them.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The finished leaves in order, complete after [`Chunk::finish`] or [`Chunk::finish_entries`].
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The places that hold page numbers.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The pages that no later row will touch: all but the open leaf and what belongs to it.
    pub fn finished_pages(&self) -> u32 {
        let Some(open) = self.open else { return self.pages };
        match self.leaves.last() {
            // A leaf that must give its only entry away takes one from that before.
            Some(before) if open.kind == PageKind::LeafIndex && open.cells() == 1 => before.page,
            _ => open.page,
        }
    }

    /// The bytes of all pages.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.bytes()[..self.pages as usize * self.geometry.page_bytes()]
    }

    /// The bytes of all pages, for the cells that [`Chunk::place`] made room for.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes_mut()[..self.pages as usize * self.geometry.page_bytes()]
    }

    /// Makes the buffer large enough for `more` pages; false when they should go to another chunk. If `any`, it has room
    /// for any number.
    fn make_room(&mut self, more: u64, any: bool) -> bool {
        let pages = u64::from(self.pages) + more;
        // A row that needs no further page goes to the open leaf even when a huge row before it took the chunk beyond its
        // capacity: `place` sees it so, too.
        if more > 0 && pages > u64::from(self.capacity) && !any {
            return false;
        }
        self.reserve_pages(u32::try_from(pages).expect("a record is at most 1 GB"));
        true
    }

    /// Writes what of a record does not stay in its cell to pages of its own, for which the chunk has room.
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

    /// Finishes the open leaf and begins another on the next page, for which the chunk has room.
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

    /// Finishes the last leaf of rows. Nothing may be added after it.
    pub fn finish(&mut self) {
        self.close_leaf();
    }

    /// Gives the pages their numbers: `first` and those that follow, the lock-byte page left out. Links and dividers name
    /// them from then on.
    pub fn relocate(&mut self, first: u32) {
        self.link(|geometry, to| geometry.nth_page(first, to));
        self.dividers.relocate(first, self.geometry);
    }

    /// Gives the pages their numbers when the first page is the only leaf, and stands elsewhere: the others count from `first` on.
    ///
    /// # Panics
    /// With several leaves, or a divider after the only one.
    pub fn relocate_overflow(&mut self, first: u32) {
        assert!(self.leaves.len() == 1 && self.dividers().next().is_none(), "a root stands alone");
        self.link(|geometry, to| geometry.nth_page(first, to - 1));
    }

    /// Writes the numbers of the pages that links name.
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

    /// Cells on it.
    fn cells(&self) -> usize {
        (self.pointers - self.base - self.kind.header_bytes()) / CELL_POINTER_BYTES
    }

    /// Takes the room for a cell: writes its pointer, and returns where it begins.
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
