//! The pages of a database file, read by a single reader while its lock keeps the file unchanged.
//!
//! ```text
//!  interior pages, leaves of the index     cached in a form that is fast to search ([`super::node`])
//!  leaves of the table, overflow chains    not cached: each belongs to a blob or two; with a memory map, used in place
//! ```
//!
//! In this module, `None` means that the pages give no answer, and the caller must ask SQLite.

use std::ops::Deref;

use sqluice_format::page::Geometry;

use super::file::{Fetched, RawFile};
use super::node::Node;

/// The number of cache slots in which a given page may be.
const WAYS: usize = 4;

/// The pages that a reader keeps from call to call. A page number determines [`WAYS`] slots, so no list of recently used pages is needed. A
/// table of a hundred thousand blobs has about a thousand cached pages.
#[derive(Default)]
pub(super) struct Cache {
    nodes: Vec<Node>,
    /// The next slot to overwrite, counted among the [`WAYS`] slots of a page number.
    turn: usize,
    page: Vec<u8>,
    run: Vec<u8>,
}

impl Cache {
    /// Empties the cache and makes room for `bytes` bytes of pages.
    pub(super) fn reset(&mut self, bytes: usize, geometry: Geometry) {
        let sets = (bytes / geometry.page_bytes() / WAYS).max(2);
        self.nodes.clear();
        self.nodes.resize_with(sets * WAYS, Node::default);
    }
}

/// The pages of a file.
pub(super) struct Pages<'c, 'k> {
    pub(super) file: RawFile<'c>,
    pub(super) cache: &'k mut Cache,
    pub(super) geometry: Geometry,
    pub(super) page_count: u32,
    /// `true` if at least a part of the file is mapped into memory.
    pub(super) mapped: bool,
}

/// Bytes of the file, in the memory map or in a buffer.
pub(super) enum Bytes<'c, 'k> {
    Mapped(Fetched<'c>),
    Held(&'k [u8]),
}

impl Deref for Bytes<'_, '_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(fetched) => fetched,
            Bytes::Held(bytes) => bytes,
        }
    }
}

impl<'c> Pages<'c, '_> {
    /// Returns the prepared form of page `number`, from the cache or, if the cache does not have it, from the file.
    pub(super) fn node(&mut self, number: u32) -> Option<&Node> {
        let set = number as usize % (self.cache.nodes.len() / WAYS) * WAYS;
        let cached = self.cache.nodes[set..set + WAYS].iter().position(|node| node.number == number);
        if let Some(way) = cached {
            return Some(&self.cache.nodes[set + way]);
        }
        let (file, geometry, at) = (self.file, self.geometry, self.offset(number, 1)?);
        let Cache { nodes, page, turn, .. } = &mut *self.cache;
        page.resize(geometry.page_bytes(), 0);
        file.read(at, page)?;
        *turn = (*turn + 1) % WAYS;
        let node = &mut nodes[set + *turn];
        node.fill(page, number, geometry)?;
        Some(node)
    }

    /// Returns the bytes of page `number`, a leaf of a table.
    pub(super) fn leaf(&mut self, number: u32) -> Option<Bytes<'c, '_>> {
        let at = self.offset(number, 1)?;
        if let Some(fetched) = self.fetch(at, 1) {
            return Some(Bytes::Mapped(fetched));
        }
        self.cache.page.resize(self.geometry.page_bytes(), 0);
        self.file.read(at, &mut self.cache.page)?;
        Some(Bytes::Held(&self.cache.page))
    }

    /// Returns the bytes of `count` consecutive pages from page `first` on.
    pub(super) fn run(&mut self, first: u32, count: u32) -> Option<Bytes<'c, '_>> {
        let at = self.offset(first, count)?;
        if let Some(fetched) = self.fetch(at, count) {
            return Some(Bytes::Mapped(fetched));
        }
        let bytes = count as usize * self.geometry.page_bytes();
        if self.cache.run.len() < bytes {
            self.cache.run.resize(bytes, 0);
        }
        let run = self.cache.run.get_mut(..bytes)?;
        self.file.read(at, run)?;
        Some(Bytes::Held(run))
    }

    /// Returns the page number at the start of the overflow page `number`: the next page of its chain, or 0 at the end of the chain.
    pub(super) fn next(&mut self, number: u32) -> Option<u32> {
        let mut next = [0; 4];
        self.file.read(self.offset(number, 1)?, &mut next)?;
        Some(u32::from_be_bytes(next))
    }

    fn fetch(&self, at: u64, count: u32) -> Option<Fetched<'c>> {
        let bytes = count as usize * self.geometry.page_bytes();
        if self.mapped { self.file.fetch(at, bytes) } else { None }
    }

    /// Returns the offset in the file of page `first`, or `None` if the database ends before the last of `count` pages.
    fn offset(&self, first: u32, count: u32) -> Option<u64> {
        let last = first.checked_add(count.checked_sub(1)?)?;
        (first > 0 && last <= self.page_count).then(|| self.geometry.offset(first))
    }
}
