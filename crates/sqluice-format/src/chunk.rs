//! Chunks: finished table leaves and their overflow pages, which do not know their numbers yet.
//!
//! A table leaf names no other page, except where a payload overflows; so a run of leaves can be made on any
//! core before anyone knows where in the file it will stand. What does name a page is on a short list:
//!
//! ```text
//!  page 0        page 1        page 2        page 3
//!  +-------------+-------------+-------------+-------------+
//!  | leaf        | overflow    | overflow    | leaf        |   leaves: [(0, rowid 17), (3, rowid 240)]
//!  |   ...[head]-+>[next]------+>[0]         |             |   links:  [(head, 1), (next, 2)]
//!  +-------------+-------------+-------------+-------------+
//! ```
//!
//! [`Chunk::relocate`] gives the pages their numbers. Rows come in rowid order, by [`Chunk::place`] (room for a cell
//! whose bytes the caller writes, the fast way) or [`Chunk::push`] (a whole record, which may overflow).
//!
//! Invariant: what is in a chunk depends on the rows and the capacity alone, and every byte of its pages is
//! written: a recycled chunk gives the same bytes as a new one.

use crate::aligned::AlignedBuffer;
use crate::cell::{self, PAGE_NUMBER_BYTES, Split};
use crate::page::{self, CELL_POINTER_BYTES, Geometry, PageKind};
use crate::varint;

/// A finished leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Which page of the chunk.
    pub page: u32,
    /// The largest rowid on it.
    pub last_rowid: i64,
}

/// Four bytes that must become the number of a page of the same chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where in the chunk, in bytes.
    pub at: usize,
    /// Which page of the chunk.
    pub to: u32,
}

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
    rows: u64,
    open: Option<OpenLeaf>,
}

/// The leaf that takes cells at present. Places count from the start of the chunk's pages.
#[derive(Clone, Copy, Debug)]
struct OpenLeaf {
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
            rows: 0,
            open: None,
        };
        chunk.reserve_pages(capacity);
        chunk
    }

    /// Empties it for the next use. A buffer that one huge row made larger shrinks again.
    pub fn clear(&mut self) {
        self.pages = 0;
        self.leaves.clear();
        self.links.clear();
        self.rows = 0;
        self.open = None;
        if self.buffer.bytes().len() > self.capacity as usize * self.geometry.page_bytes() {
            self.buffer = AlignedBuffer::default();
            self.reserve_pages(self.capacity);
        }
    }

    /// Makes sure that the buffer holds `pages` pages. Only an empty chunk ever grows: what does not fit any other goes
    /// to the next.
    fn reserve_pages(&mut self, pages: u32) {
        let bytes = pages as usize * self.geometry.page_bytes();
        self.buffer.set_len(bytes.max(self.buffer.bytes().len()));
    }

    /// The layout of its pages.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Whether there are no rows in it.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Pages in use.
    pub fn page_count(&self) -> u32 {
        self.pages
    }

    /// Rows in it.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The finished leaves in order, complete after [`Chunk::finish`].
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The places that hold page numbers.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The pages that no later row will touch: all but the open leaf and what belongs to it.
    pub fn finished_pages(&self) -> u32 {
        self.open.map_or(self.pages, |leaf| leaf.page)
    }

    /// The bytes of all pages.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.bytes()[..self.pages as usize * self.geometry.page_bytes()]
    }

    /// The bytes of all pages, for the cells that [`Chunk::place`] made room for.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes_mut()[..self.pages as usize * self.geometry.page_bytes()]
    }

    /// Makes room for a cell of `cell_bytes` bytes and returns where in [`Chunk::bytes_mut`] it begins, or `None`
    /// when the chunk is full: then pass it on and place the cell in the next.
    ///
    /// # Panics
    /// When the cell is larger than an empty leaf, which a payload that is all local never is.
    #[inline]
    pub fn place(&mut self, cell_bytes: usize, rowid: i64) -> Option<u32> {
        let leaf = match &mut self.open {
            Some(leaf) if leaf.content - leaf.pointers >= cell_bytes + CELL_POINTER_BYTES => leaf,
            _ => self.open_leaf(cell_bytes)?,
        };
        leaf.content -= cell_bytes;
        let pointer = leaf.pointers;
        leaf.pointers += CELL_POINTER_BYTES;
        leaf.last_rowid = rowid;
        let (base, content) = (leaf.base, leaf.content);
        self.buffer.bytes_mut()[pointer..pointer + CELL_POINTER_BYTES]
            .copy_from_slice(&((content - base) as u16).to_be_bytes());
        self.rows += 1;
        Some(content as u32)
    }

    /// Makes room for up to `places.len()` cells of the same size at once, fills in where each begins, and returns how
    /// many that were: fewer than asked for when the chunk is full. Their rowids run up from `first_rowid` by one.
    ///
    /// # Panics
    /// As [`Chunk::place`].
    pub fn place_run(&mut self, cell_bytes: usize, first_rowid: i64, places: &mut [u32]) -> usize {
        let mut placed = 0;
        while placed < places.len() {
            let leaf = match &mut self.open {
                Some(leaf) if leaf.content - leaf.pointers >= cell_bytes + CELL_POINTER_BYTES => leaf,
                _ => match self.open_leaf(cell_bytes) {
                    Some(leaf) => leaf,
                    None => break,
                },
            };
            let room = (leaf.content - leaf.pointers) / (cell_bytes + CELL_POINTER_BYTES);
            let n = room.min(places.len() - placed);
            let (mut content, base, pointers) = (leaf.content, leaf.base, leaf.pointers);
            leaf.content -= n * cell_bytes;
            leaf.pointers += n * CELL_POINTER_BYTES;
            // In this order, for the last rowid may be the largest integer.
            leaf.last_rowid = first_rowid + ((placed + n) as i64 - 1);
            let pointers = &mut self.buffer.bytes_mut()[pointers..pointers + n * CELL_POINTER_BYTES];
            let pointers = pointers.chunks_exact_mut(CELL_POINTER_BYTES);
            for (place, pointer) in places[placed..placed + n].iter_mut().zip(pointers) {
                content -= cell_bytes;
                *place = content as u32;
                pointer.copy_from_slice(&((content - base) as u16).to_be_bytes());
            }
            placed += n;
        }
        self.rows += placed as u64;
        placed
    }

    /// Adds a row given as a whole record, with overflow pages if it needs them. Returns whether it found room: if
    /// not, pass the chunk on and push the row to the next. An empty chunk takes a row of any size.
    pub fn push(&mut self, rowid: i64, record: &[u8]) -> bool {
        let split = cell::table_leaf_split(record.len(), self.geometry);
        let overflow_head = if split.overflow_pages > 0 { PAGE_NUMBER_BYTES } else { 0 };
        let head_bytes = varint::len(record.len() as u64) + varint::len(rowid as u64);
        let cell_bytes = head_bytes + split.local + overflow_head;
        if !self.make_room(cell_bytes, split) {
            return false;
        }
        let Some(at) = self.place(cell_bytes, rowid).map(|at| at as usize) else { return false };
        let first_overflow = self.pages;
        self.pages += split.overflow_pages as u32;
        let bytes = self.bytes_mut();
        let mut to = at;
        to += varint::write(&mut bytes[to..], record.len() as u64);
        to += varint::write(&mut bytes[to..], rowid as u64);
        bytes[to..to + split.local].copy_from_slice(&record[..split.local]);
        if split.overflow_pages > 0 {
            self.links.push(Link { at: to + split.local, to: first_overflow });
            self.write_overflow(first_overflow, &record[split.local..]);
        }
        true
    }

    /// Makes the buffer large enough for a cell and its overflow pages; false when they should go to another chunk.
    fn make_room(&mut self, cell_bytes: usize, split: Split) -> bool {
        let fits_leaf =
            self.open.is_some_and(|leaf| leaf.content - leaf.pointers >= cell_bytes + CELL_POINTER_BYTES);
        let more = u64::from(!fits_leaf) + split.overflow_pages as u64;
        let pages = u64::from(self.pages) + more;
        // A row that needs no further page goes to the open leaf even when a huge row before it took the chunk beyond its
        // capacity: `place` sees it so, too.
        if more > 0 && pages > u64::from(self.capacity) && !self.is_empty() {
            return false;
        }
        self.reserve_pages(u32::try_from(pages).expect("a record is at most 1 GB"));
        true
    }

    fn write_overflow(&mut self, first: u32, mut rest: &[u8]) {
        let (page_bytes, payload_max) =
            (self.geometry.page_bytes(), cell::overflow_page_payload(self.geometry));
        let mut number = first;
        while !rest.is_empty() {
            let (content, after) = rest.split_at(rest.len().min(payload_max));
            rest = after;
            let at = number as usize * page_bytes;
            let page = &mut self.bytes_mut()[at..at + page_bytes];
            page[..PAGE_NUMBER_BYTES].fill(0);
            page[PAGE_NUMBER_BYTES..][..content.len()].copy_from_slice(content);
            page[PAGE_NUMBER_BYTES + content.len()..].fill(0);
            number += 1;
            if !rest.is_empty() {
                self.links.push(Link { at, to: number });
            }
        }
    }

    /// Finishes the open leaf and begins another, for a cell of `cell_bytes`; `None` when that would be one page
    /// too many.
    fn open_leaf(&mut self, cell_bytes: usize) -> Option<&mut OpenLeaf> {
        let room = self.geometry.usable_bytes() - PageKind::LeafTable.header_bytes();
        assert!(cell_bytes + CELL_POINTER_BYTES <= room, "a cell of {cell_bytes} bytes fits no leaf");
        if self.pages >= self.capacity {
            return None;
        }
        self.close_leaf();
        let base = self.pages as usize * self.geometry.page_bytes();
        let leaf = OpenLeaf {
            page: self.pages,
            base,
            pointers: base + PageKind::LeafTable.header_bytes(),
            content: base + self.geometry.usable_bytes(),
            last_rowid: 0,
        };
        self.pages += 1;
        Some(self.open.insert(leaf))
    }

    fn close_leaf(&mut self) {
        let Some(leaf) = self.open.take() else { return };
        let (page_bytes, usable) = (self.geometry.page_bytes(), self.geometry.usable_bytes());
        let page = &mut self.bytes_mut()[leaf.base..leaf.base + page_bytes];
        let header = PageKind::LeafTable.header_bytes();
        let (pointers, content) = (leaf.pointers - leaf.base, leaf.content - leaf.base);
        let cells = (pointers - header) / CELL_POINTER_BYTES;
        page::write_header(page, PageKind::LeafTable, cells, content);
        page[pointers..content].fill(0);
        page[usable..].fill(0);
        self.leaves.push(Leaf { page: leaf.page, last_rowid: leaf.last_rowid });
    }

    /// Finishes the last leaf. Nothing may be added after it.
    pub fn finish(&mut self) {
        self.close_leaf();
    }

    /// Gives the pages their numbers: `first` and those that follow, the lock-byte page left out.
    pub fn relocate(&mut self, first: u32) {
        let (geometry, links) = (self.geometry, std::mem::take(&mut self.links));
        let bytes = self.bytes_mut();
        for link in &links {
            let number = geometry.nth_page(first, link.to);
            bytes[link.at..link.at + PAGE_NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
        }
        self.links = links;
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
