//! Pages for one reader, of a file that does not change meanwhile.
//!
//! ```text
//!  interior pages, leaves of the index     kept, ready to be searched ([`super::node`])
//!  leaves of the table, overflow chains    read again: each belongs to a blob or two; with a memory map, used where they are
//! ```
//!
//! `None` says throughout that the pages do not answer: SQLite is asked, then.

use std::ops::Deref;

use sqluice_format::page::Geometry;

use super::file::{Fetched, RawFile};
use super::node::Node;

/// Places that a page may have in the cache.
const WAYS: usize = 4;

/// What a reader keeps from call to call. A page has [`WAYS`] places, by its number: a table of a hundred thousand blobs has a
/// thousand such pages, and no list of what was used last has to be kept.
#[derive(Default)]
pub(super) struct Cache {
    nodes: Vec<Node>,
    /// The place that the next page takes.
    turn: usize,
    page: Vec<u8>,
    run: Vec<u8>,
}

impl Cache {
    /// Forgets everything, and makes room for that number of bytes of pages.
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
    /// Whether it has a memory map, of a part of the file at least.
    pub(super) mapped: bool,
}

/// Bytes of the file, wherever they are.
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
    /// A page that many searches pass through, ready for them.
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

    /// A leaf of a table.
    pub(super) fn leaf(&mut self, number: u32) -> Option<Bytes<'c, '_>> {
        let at = self.offset(number, 1)?;
        if let Some(fetched) = self.fetch(at, 1) {
            return Some(Bytes::Mapped(fetched));
        }
        self.cache.page.resize(self.geometry.page_bytes(), 0);
        self.file.read(at, &mut self.cache.page)?;
        Some(Bytes::Held(&self.cache.page))
    }

    /// Pages that lie one after the other.
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

    /// The page that an overflow page names.
    pub(super) fn next(&mut self, number: u32) -> Option<u32> {
        let mut next = [0; 4];
        self.file.read(self.offset(number, 1)?, &mut next)?;
        Some(u32::from_be_bytes(next))
    }

    fn fetch(&self, at: u64, count: u32) -> Option<Fetched<'c>> {
        let bytes = count as usize * self.geometry.page_bytes();
        if self.mapped { self.file.fetch(at, bytes) } else { None }
    }

    /// Where `count` pages begin, if the database has them.
    fn offset(&self, first: u32, count: u32) -> Option<u64> {
        let last = first.checked_add(count.checked_sub(1)?)?;
        (first > 0 && last <= self.page_count).then(|| self.geometry.offset(first))
    }
}
