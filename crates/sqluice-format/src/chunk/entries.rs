//! Entries of an index in key order, as cells of index leaves and as the dividers between leaves ([`cell`] draws them).
//!
//! ```text
//!  level above          divider         divider         divider, if entries follow in another chunk
//!                      /       \       /       \       /
//!  leaves    [a b c d]    e     [f g h]    i     [j k]    l
//! ```
//!
//! An entry that does not fit the open leaf is held out as a pending divider. The next entry begins a new leaf, which confirms the divider.
//! If no further entry follows, the pending divider moves to a leaf of its own, and the previous leaf's last entry becomes the divider: a
//! divider must stand between two leaves.

use super::{Chunk, Link, OpenLeaf};
use crate::cell::{self, PAGE_NUMBER_BYTES, Split};
use crate::page::{CELL_POINTER_BYTES, Geometry, PageKind};
use crate::varint;

/// The entry between two leaves, or after the last leaf of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divider<'a> {
    /// The interior cell without its child page: payload size, local payload, and the number of the first overflow page, if any.
    /// [`Chunk::relocate`] sets this number.
    pub cell: &'a [u8],
    /// The page of the chunk on which the overflow chain begins, if the entry overflows.
    pub overflow: Option<u32>,
}

/// The entries that were held out as dividers.
#[derive(Debug, Default)]
pub(super) struct Dividers {
    /// The cells of the dividers, one after another.
    bytes: Vec<u8>,
    list: Vec<Held>,
    /// `true` if the last divider stands after the open leaf and no leaf follows it yet.
    pending: bool,
}

/// The place of a divider's cell.
#[derive(Clone, Copy, Debug)]
struct Held {
    start: usize,
    overflow: Option<u32>,
}

/// Copies a few bytes, most often 8 to 16. Copies 8 to 16 bytes as two words, which may overlap: this is faster than a call.
#[inline]
fn copy_short(from: &[u8], to: &mut [u8]) {
    if let (8..=16, Some(first), Some(last)) = (from.len(), from.first_chunk::<8>(), from.last_chunk::<8>()) {
        let end = to.len();
        to[..8].copy_from_slice(first);
        to[end - 8..].copy_from_slice(last);
    } else {
        to.copy_from_slice(from);
    }
}

impl Chunk {
    /// Returns the dividers in order: one between each two leaves, and one more after the last leaf if the chunk was finished with `more`.
    /// The list is complete after [`Chunk::finish_entries`].
    pub fn dividers(&self) -> impl ExactSizeIterator<Item = Divider<'_>> {
        let dividers = &self.dividers;
        (0..dividers.list.len()).map(|i| dividers.get(i))
    }

    /// Adds an index entry, given as a whole record, with overflow pages if necessary. Returns `false` if the chunk has no room: finish the
    /// chunk, pass it on and push the entry to the next chunk. A chunk of fewer than two entries takes an entry of any size.
    #[inline]
    pub fn push_entry(&mut self, record: &[u8]) -> bool {
        let payload = record.len();
        // The fast path: nearly every entry is short and fits the open leaf.
        if (3..0x80).contains(&payload)
            && payload <= cell::index_local_max(self.geometry)
            && !self.dividers.pending
            && let Some(leaf) = &mut self.open
            && leaf.has_room(1 + payload)
        {
            let chunk = self.buffer.bytes_mut();
            let at = leaf.take_room(1 + payload, chunk);
            let cell = &mut chunk[at..at + 1 + payload];
            cell[0] = payload as u8;
            copy_short(record, &mut cell[1..]);
            self.rows += 1;
            return true;
        }
        self.push_any_entry(record, self.rows < 2)
    }

    /// Adds an entry even if the chunk has no room: the chunk may then exceed its capacity.
    pub fn push_last_entry(&mut self, record: &[u8]) {
        self.push_any_entry(record, true);
    }

    /// Adds any entry, including one that needs a leaf, overflow pages, padding or a place between two leaves.
    fn push_any_entry(&mut self, record: &[u8], any: bool) -> bool {
        let split = cell::index_split(record.len(), self.geometry);
        let cell_bytes = cell::index_leaf_bytes(record.len(), split);
        if self.wants_divider() {
            // The leaf before was copied unchanged, and this entry is the divider after it. The entry is added even if the chunk has no
            // room, because a chunk can't end without the divider.
            self.make_room(split.overflow_pages as u64, true);
            self.hold_out(record, split);
            self.rows += 1;
            return true;
        }
        let new_leaf = self.open.is_none() || self.dividers.pending;
        // Every chunk with two entries can be finished, as a leaf and a divider. If entries overflow, the last eighth of the pages is kept
        // for overflow pages of the last leaf, so that the leaf becomes full.
        let late = !self.links.is_empty() && self.pages > self.capacity - self.capacity / 8;
        if new_leaf && late && !any {
            return false;
        }
        if !self.make_room(u64::from(new_leaf) + split.overflow_pages as u64, any) {
            return false;
        }
        if new_leaf {
            self.dividers.pending = false;
            self.begin_leaf(PageKind::LeafIndex);
        }
        match &mut self.open {
            Some(leaf) if leaf.has_room(cell_bytes) => {
                let at = leaf.take_room(cell_bytes, self.buffer.bytes_mut());
                self.write_entry(at, cell_bytes, record, split);
            }
            _ => self.hold_out(record, split),
        }
        self.rows += 1;
        true
    }

    /// Writes an entry to its cell and overflow pages.
    fn write_entry(&mut self, at: usize, cell_bytes: usize, record: &[u8], split: Split) {
        let cell = &mut self.bytes_mut()[at..at + cell_bytes];
        let n = varint::write(cell, record.len() as u64);
        cell[n..n + split.local].copy_from_slice(&record[..split.local]);
        if split.overflow_pages > 0 {
            self.links.push(Link { at: at + n + split.local, to: self.pages });
            self.write_overflow(&record[split.local..]);
        } else {
            cell[n + split.local..].fill(0);
        }
    }

    /// Holds an entry out as the divider after the open leaf.
    fn hold_out(&mut self, record: &[u8], split: Split) {
        let start = self.dividers.bytes.len();
        let overflow = (split.overflow_pages > 0).then_some(self.pages);
        varint::push(&mut self.dividers.bytes, record.len() as u64);
        self.dividers.bytes.extend_from_slice(&record[..split.local]);
        if overflow.is_some() {
            self.dividers.bytes.extend_from_slice(&[0; PAGE_NUMBER_BYTES]);
            self.write_overflow(&record[split.local..]);
        }
        self.dividers.list.push(Held { start, overflow });
        self.dividers.pending = true;
    }

    /// Finishes the last leaf of entries. No entries may be added afterwards. `more` says that further entries of the index follow in
    /// another chunk: the last entry of this chunk then becomes the divider before them. Otherwise, the chunk may exceed its capacity by
    /// one page.
    ///
    /// # Panics
    /// If `more` is `true` and the chunk has fewer than two entries.
    pub fn finish_entries(&mut self, more: bool) {
        match (more, self.dividers.pending) {
            (true, false) => self.give_last_up(),
            (false, true) => self.take_pending_back(),
            (true, true) | (false, false) => {}
        }
        self.close_leaf();
    }

    /// Makes the last entry of the last leaf the divider after this leaf.
    pub(super) fn give_last_up(&mut self) {
        let cells = self.open.map_or(0, |leaf| leaf.cells());
        assert!(cells + self.leaves.len() > 1, "two entries or more precede others of an index");
        let last = self.take_last_cell();
        if cells == 1 {
            // The leaf must not stay empty: it gets the entry before it, which is the divider, and the previous leaf gives up its last
            // entry as the new divider. The previous leaf was full, so it has entries to spare.
            let (before, overflow) = self.dividers.pop();
            self.put_cell(&before, overflow);
            self.close_leaf();
            let leaf = self.leaves.pop();
            self.reopen_leaf();
            let (divider, overflow) = self.take_last_cell();
            self.dividers.push(&divider, overflow);
            self.close_leaf();
            self.leaves.extend(leaf);
        }
        self.dividers.push(&last.0, last.1);
    }

    /// Moves the pending divider to a leaf of its own. The last entry of the open leaf becomes the divider before the new leaf.
    fn take_pending_back(&mut self) {
        let (pending, overflow) = self.dividers.pop();
        let last = self.take_last_cell();
        self.dividers.push(&last.0, last.1);
        self.reserve_pages(self.pages + 1);
        self.begin_leaf(PageKind::LeafIndex);
        self.put_cell(&pending, overflow);
    }

    /// Removes the last cell of the open leaf. Returns the cell as a divider, and the page on which its overflow chain begins.
    fn take_last_cell(&mut self) -> (Vec<u8>, Option<u32>) {
        let leaf = self.open.as_mut().expect("a leaf is open");
        let cell = &self.buffer.bytes()[leaf.content..];
        let (payload, _) = varint::read(cell).expect("an entry begins with its size");
        let split = cell::index_split(payload as usize, self.geometry);
        let divider = cell[..cell::divider_bytes(payload as usize, split)].to_vec();
        let at = leaf.content;
        leaf.content += cell::index_leaf_bytes(payload as usize, split);
        leaf.pointers -= CELL_POINTER_BYTES;
        let head = at + divider.len() - PAGE_NUMBER_BYTES;
        let link = self.links.iter().rposition(|link| link.at == head).filter(|_| split.overflow_pages > 0);
        (divider, link.map(|link| self.links.remove(link).to))
    }

    /// Appends a divider to the open leaf as a cell.
    fn put_cell(&mut self, divider: &[u8], overflow: Option<u32>) {
        let leaf = self.open.as_mut().expect("a leaf is open");
        let cell_bytes = divider.len().max(cell::CELL_BYTES_MIN);
        let chunk = self.buffer.bytes_mut();
        let at = leaf.take_room(cell_bytes, chunk);
        chunk[at..at + divider.len()].copy_from_slice(divider);
        chunk[at + divider.len()..at + cell_bytes].fill(0);
        if let Some(to) = overflow {
            self.links.push(Link { at: at + divider.len() - PAGE_NUMBER_BYTES, to });
        }
    }

    /// Reopens the leaf that was finished last. The cells of a leaf from [`Chunk::push_leaf`] are contiguous, too.
    fn reopen_leaf(&mut self) {
        let leaf = self.leaves.pop().expect("a leaf is finished");
        let base = leaf.page as usize * self.geometry.page_bytes();
        let header = &self.bytes()[base..base + PageKind::LeafIndex.header_bytes()];
        let half_word = |at: usize| usize::from(u16::from_be_bytes([header[at], header[at + 1]]));
        let pointers = base + header.len() + half_word(3) * CELL_POINTER_BYTES;
        // The leaf has cells, so the content start is not 65536, which is stored as 0.
        let content = base + half_word(5);
        self.open = Some(OpenLeaf {
            kind: PageKind::LeafIndex,
            page: leaf.page,
            base,
            pointers,
            content,
            last_rowid: leaf.last_rowid,
        });
    }
}

impl Dividers {
    /// Returns `true` if no leaf follows the last divider yet.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.pending
    }

    /// Confirms the last divider, because a leaf follows it now.
    pub(super) fn confirm(&mut self) {
        self.pending = false;
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
        self.pending = false;
    }

    /// Writes the numbers of the dividers' overflow pages. `first` is the number of the chunk's first page.
    pub(super) fn relocate(&mut self, first: u32, geometry: Geometry) {
        let ends =
            self.list.iter().skip(1).map(|next| next.start).chain([self.bytes.len()]).collect::<Vec<_>>();
        for (held, end) in self.list.iter().zip(ends) {
            if let Some(to) = held.overflow {
                let number = geometry.nth_page(first, to);
                self.bytes[end - PAGE_NUMBER_BYTES..end].copy_from_slice(&number.to_be_bytes());
            }
        }
    }

    fn get(&self, i: usize) -> Divider<'_> {
        let end = self.list.get(i + 1).map_or(self.bytes.len(), |next| next.start);
        let Held { start, overflow } = self.list[i];
        Divider { cell: &self.bytes[start..end], overflow }
    }

    fn push(&mut self, cell: &[u8], overflow: Option<u32>) {
        self.list.push(Held { start: self.bytes.len(), overflow });
        self.bytes.extend_from_slice(cell);
    }

    fn pop(&mut self) -> (Vec<u8>, Option<u32>) {
        let Held { start, overflow } = self.list.pop().expect("a divider exists");
        (self.bytes.split_off(start), overflow)
    }
}
