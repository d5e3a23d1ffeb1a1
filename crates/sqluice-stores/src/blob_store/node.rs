//! A page of an index or a table, decoded into a form that is fast to search, for pages that many searches visit.
//!
//! ```text
//!  index    north/bergen  north/oslo  north/tromsø        prefix: "north/"
//!           heads  62657267656e0000 6f736c6f00000000 ...  the next 8 bytes as numbers: searched first, and contiguous in memory
//!           keys   bergen | oslo | tromsø                 each key without the prefix, for keys with equal heads
//!           rowids, and the children of an interior page
//!  table    rowids and children, of an interior page
//! ```
//!
//! A search in the raw page costs a cache miss of the processor and the decoding of a varint for most of its steps. Preparing a page once
//! serves a few hundred searches. With a hundred thousand blobs, a binary search would still spend most of its time on cache misses, each
//! of which starts only after the one before. So a search has only two steps ([`Sorted`]), and each step compares numbers that are
//! contiguous in memory.

use std::cmp::Ordering;

use sqluice_format::cell::index_local_max;
use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::record;
use sqluice_format::value::SerialType;
use sqluice_format::varint;
use sqluice_format::view::PageView;

/// A page, prepared for searches; see the module's description.
#[derive(Default)]
pub(super) struct Node {
    /// The page number; 0 if no page is prepared.
    pub(super) number: u32,
    /// The common prefix of all keys.
    prefix: Vec<u8>,
    /// The first 8 bytes of each key after the prefix, padded with zeros; or the rowids of a table.
    heads: Sorted,
    entries: Vec<Entry>,
    keys: Vec<u8>,
    /// The child pages, one more than keys or rowids; empty in a leaf.
    children: Vec<u32>,
}

/// An entry of an index page: a key and its rowid.
struct Entry {
    rowid: i64,
    /// The end of the key in `keys`, which stores keys without the prefix.
    end: u32,
}

/// Numbers in ascending order (`all`), and every n-th of them in a second list (`firsts`).
#[derive(Default)]
struct Sorted {
    all: Vec<u64>,
    firsts: Vec<u64>,
    /// The number of elements of `all` for each element of `firsts`.
    block: usize,
}

impl Sorted {
    fn clear(&mut self) {
        self.all.clear();
    }

    fn push(&mut self, number: u64) {
        self.all.push(number);
    }

    /// Builds the second list, once all numbers have been added.
    fn end(&mut self) {
        self.block = self.all.len().isqrt().next_multiple_of(8).max(8);
        self.firsts.clear();
        self.firsts.extend(self.all.iter().step_by(self.block));
    }

    /// Returns the number of elements that are less than `number`.
    fn below(&self, number: u64) -> usize {
        let smaller =
            |numbers: &[u64]| numbers.iter().map(|other| usize::from(*other < number)).sum::<usize>();
        // `start` begins the last block whose first number is less than `number`. All numbers of earlier blocks are less, and no number
        // of a later block is.
        let start = smaller(&self.firsts).saturating_sub(1) * self.block;
        start + smaller(&self.all[start..self.all.len().min(start + self.block)])
    }
}

/// The result of the search in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The key was found, with its rowid.
    Found(i64),
    Child(u32),
    Missing,
}

impl Node {
    /// Prepares a page. Returns `None` if SQLite must search the page instead: a leaf of a table, a malformed page, or an index page with
    /// a key that is no text or has an overflow page.
    pub(super) fn fill(&mut self, page: &[u8], number: u32, geometry: Geometry) -> Option<()> {
        // The number is set only after the page is complete.
        self.number = 0;
        self.heads.clear();
        self.entries.clear();
        self.keys.clear();
        self.children.clear();
        let page = PageView::new(page, number, geometry)?;
        match page.kind() {
            PageKind::InteriorTable => {
                for at in 0..page.cells() {
                    self.heads.push(ordered(varint::read(page.cell(at)?.get(4..)?)?.0 as i64));
                }
            }
            PageKind::LeafIndex | PageKind::InteriorIndex => self.fill_keys(page, geometry)?,
            PageKind::LeafTable => return None,
        }
        if !page.kind().is_leaf() {
            for at in 0..=page.cells() {
                self.children.push(page.child(at)?);
            }
        }
        self.heads.end();
        self.number = number;
        Some(())
    }

    fn fill_keys(&mut self, page: PageView<&[u8]>, geometry: Geometry) -> Option<()> {
        let start = if page.kind().is_leaf() { 0 } else { 4 };
        let entry = |at: usize| entry(page.cell(at)?.get(start..)?, geometry);
        self.prefix.clear();
        if let Some(last) = page.cells().checked_sub(1) {
            // The keys are in order, so all of them share the common prefix of the first and the last key.
            let (first, last) = (entry(0)?.0, entry(last)?.0);
            let same = first.iter().zip(last).take_while(|(one, other)| one == other).count();
            self.prefix.extend_from_slice(&first[..same]);
        }
        for at in 0..page.cells() {
            let (key, rowid) = entry(at)?;
            let key = key.strip_prefix(&self.prefix[..])?;
            self.heads.push(head(key));
            self.keys.extend_from_slice(key);
            self.entries.push(Entry { rowid, end: self.keys.len() as u32 });
        }
        Some(())
    }

    /// Searches an index page for a key. Returns the rowid if the page has the key, the child to search next, or that the key is missing.
    /// Returns `None` if the page is malformed.
    pub(super) fn find_key(&self, key: &[u8]) -> Option<Step> {
        let Some(rest) = key.strip_prefix(&self.prefix[..]) else {
            let all_less = self.prefix[..] < *key;
            return self.step(if all_less { self.entries.len() } else { 0 });
        };
        let head = head(rest);
        let mut low = self.heads.below(head);
        let mut high = low + self.heads.all[low..].iter().take_while(|other| **other == head).count();
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.key(middle)?.cmp(rest) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(Step::Found(self.entries.get(middle)?.rowid)),
                Ordering::Greater => high = middle,
            }
        }
        self.step(low)
    }

    /// Returns the child page to search next for a rowid. This page must be an interior page of a table.
    pub(super) fn child_of(&self, rowid: i64) -> Option<u32> {
        self.children.get(self.heads.below(ordered(rowid))).copied()
    }

    fn step(&self, at: usize) -> Option<Step> {
        if self.children.is_empty() {
            return Some(Step::Missing);
        }
        self.children.get(at).map(|child| Step::Child(*child))
    }

    /// Returns the key of the entry `at`, without the common prefix.
    fn key(&self, at: usize) -> Option<&[u8]> {
        let start = if at == 0 { 0 } else { self.entries.get(at - 1)?.end };
        self.keys.get(start as usize..self.entries.get(at)?.end as usize)
    }
}

/// Returns the first 8 bytes of a key as a number, padded with zeros. Heads sort like their keys, but different keys may have the same
/// head.
fn head(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

/// Maps a rowid to an unsigned number, so that the numbers sort like the rowids.
fn ordered(rowid: i64) -> u64 {
    rowid as u64 ^ 1 << 63
}

/// Returns the key and rowid of an index entry, or `None` if the key is no text or the entry has an overflow page.
fn entry(cell: &[u8], geometry: Geometry) -> Option<(&[u8], i64)> {
    let (payload, start) = varint::read(cell)?;
    let payload = usize::try_from(payload).ok().filter(|payload| *payload <= index_local_max(geometry))?;
    let record = cell.get(start..start + payload)?;
    let (header, at) = varint::read(record)?;
    let (key, bytes) = varint::read(record.get(at..)?)?;
    let (rowid, _) = varint::read(record.get(at + bytes..)?)?;
    if key < 13 || key % 2 == 0 {
        return None;
    }
    let body = record.get(usize::try_from(header).ok()?..)?;
    let (key, body) = body.split_at_checked(usize::try_from(SerialType(key).content_bytes()?).ok()?)?;
    let rowid = match rowid {
        8 | 9 => rowid as i64 - 8,
        1..=6 => record::int(body.get(..SerialType(rowid).content_bytes()? as usize)?),
        _ => return None,
    };
    Some((key, rowid))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::Connection;
    use sqluice_format::page::PageSize;

    use super::*;

    #[test]
    fn the_first_bytes_of_keys_as_integers_sort_like_the_keys() {
        let keys: [&[u8]; 8] = [
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0",
            b"abcdefgh",
            b"abcdefgha",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ];
        for (one, other) in keys.iter().zip(&keys[1..]) {
            assert!(head(one) <= head(other), "{one:?} {other:?}");
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn below_returns_how_many_numbers_are_smaller(mut numbers in proptest::collection::vec(0u64..50, 0..300), number in 0u64..52) {
            numbers.sort_unstable();
            let mut sorted = Sorted::default();
            numbers.iter().for_each(|number| sorted.push(*number));
            sorted.end();
            prop_assert_eq!(sorted.below(number), numbers.partition_point(|other| *other < number));
        }

        /// Tests an index of a single page, as SQLite writes it: each key is found at its place, and other keys are not found.
        #[test]
        fn each_key_on_an_index_page_is_found_and_no_other_key(
            keys in proptest::collection::btree_set("(ab|abcdefgh|é|\0)?[a-c]{0,3}", 0..60),
            others in proptest::collection::vec("(ab|abcdefgh|é|\0)?[a-c]{0,4}", 20),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("keys.db");
            let connection = Connection::open(&file).unwrap();
            let sql = "PRAGMA synchronous = OFF; BEGIN; CREATE TABLE kv(k TEXT PRIMARY KEY, v)";
            connection.execute_batch(sql).unwrap();
            let rows: Vec<&String> = keys.iter().collect();
            for (rowid, key) in rows.iter().enumerate().rev() {
                connection.execute("INSERT INTO kv(rowid, k) VALUES (?1 - 5, ?2)", (rowid as i64, key)).unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            let sql = "SELECT rootpage FROM sqlite_schema WHERE type = 'index'";
            let root: u32 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
            let bytes = std::fs::read(&file).unwrap();
            let geometry = Geometry::new(PageSize::DEFAULT, 0).unwrap();
            let mut node = Node::default();
            prop_assert!(node.fill(&bytes[geometry.offset(root) as usize..], root, geometry).is_some());
            for (rowid, key) in rows.iter().enumerate() {
                prop_assert_eq!(node.find_key(key.as_bytes()), Some(Step::Found(rowid as i64 - 5)), "{:?}", key);
            }
            for key in others.iter().filter(|key| !keys.contains(*key)) {
                prop_assert_eq!(node.find_key(key.as_bytes()), Some(Step::Missing), "{:?}", key);
            }
        }
    }
}
