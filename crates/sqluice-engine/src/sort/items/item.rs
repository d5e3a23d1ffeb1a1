//! Items as bytes, in memory and in the temporary file.
//!
//! ```text
//!  +--------------+--------+--------+------------+
//!  | record bytes | rowid  | number | record     |
//!  +--------------+--------+--------+------------+
//!   varint         varint   varint
//!                  if the layout keeps it
//! ```
//!
//! A rowid is folded: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... so that those near 0 are short.

use sqluice_format::key::{DECODED_BYTES_MAX, DECODED_ROOM};
use sqluice_format::varint;

use super::order::{Item, Layout, Order};

/// Where an item lies in the bytes that were read.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sort) struct Found {
    pub(in crate::sort) rowid: i64,
    pub(in crate::sort) number: u64,
    /// Where its record begins.
    pub(in crate::sort) record: usize,
    /// Where it ends.
    pub(in crate::sort) end: usize,
}

impl Found {
    /// The item, in the bytes in which it was found.
    #[inline]
    pub(in crate::sort) fn item<'a>(&self, bytes: &'a [u8]) -> Item<'a> {
        Item { rowid: self.rowid, number: self.number, record: &bytes[self.record..self.end] }
    }
}

/// The most that an item takes besides its record.
pub(in crate::sort) const HEAD_BYTES_MAX: usize = 3 * varint::BYTES_MAX;

/// Writes what stands before a record; returns how many bytes that are.
#[inline]
pub(in crate::sort) fn write_head(
    layout: &Layout,
    rowid: i64,
    number: u64,
    record_bytes: usize,
    out: &mut [u8],
) -> usize {
    let mut at = varint::write(out, record_bytes as u64);
    if layout.rowid {
        at += varint::write(&mut out[at..], ((rowid << 1) ^ (rowid >> 63)) as u64);
    }
    if layout.number {
        at += varint::write(&mut out[at..], number);
    }
    at
}

/// The bytes of an item that is a record and nothing else, decoded from its key.
#[derive(Clone, Copy, Debug)]
pub(in crate::sort) struct Decoded {
    bytes: [u8; 1 + DECODED_ROOM],
    len: usize,
}

impl Decoded {
    /// The item of no key yet.
    pub(in crate::sort) const NONE: Decoded = Decoded { bytes: [0; 1 + DECODED_ROOM], len: 0 };

    /// Makes it that of another key.
    #[inline]
    pub(in crate::sort) fn set<const WORDS: usize>(&mut self, order: &Order, key: [u128; WORDS]) {
        self.write(|record| order.decode(key, record));
    }

    /// Makes it that of a pair.
    #[inline]
    pub(in crate::sort) fn set_pair(&mut self, order: &Order, pair: u128) {
        self.write(|record| order.decode_pair(pair, record));
    }

    /// Makes it that of a key that begins with a UUID.
    #[inline]
    pub(in crate::sort) fn set_uuid(&mut self, order: &Order, key: [u64; 4]) {
        self.write(|record| order.decode_uuid(key, record));
    }

    #[inline]
    fn write(&mut self, decode: impl FnOnce(&mut [u8; DECODED_ROOM]) -> usize) {
        const { assert!(DECODED_BYTES_MAX < 0x80, "the length is a varint of one byte") };
        let (head, record) = self.bytes.split_at_mut(1);
        if let Some(record) = record.first_chunk_mut() {
            self.len = decode(record);
            head[0] = self.len as u8;
        }
    }

    #[inline]
    pub(in crate::sort) fn bytes(&self) -> &[u8] {
        &self.bytes[..=self.len]
    }

    #[inline]
    pub(in crate::sort) fn item(&self) -> Item<'_> {
        Item { rowid: 0, number: 0, record: &self.bytes[1..=self.len] }
    }
}

/// The number of items whose first bytes are fetched at a time.
pub(in crate::sort) const FETCHED: usize = 64;

/// Fetches items of about that number of bytes into the cache, all at once: reading one item after the other from places all over the
/// memory would wait for each, and again where it crosses a line of the cache.
#[inline]
pub(in crate::sort) fn fetch(bytes: &[u8], places: &[u32], item_bytes: usize) {
    let last = bytes.len().saturating_sub(1);
    let ends = |place: usize| bytes[place] ^ bytes[(place + item_bytes).min(last)];
    std::hint::black_box(places.iter().fold(0, |all, place| all ^ ends(*place as usize)));
}

/// Finds the item that begins at `start`. `None` when the bytes end before its record begins; where it ends may lie beyond
/// them.
#[inline]
pub(in crate::sort) fn find(layout: &Layout, bytes: &[u8], start: usize) -> Option<Found> {
    let mut at = start;
    let mut next = || {
        let first = *bytes.get(at)?;
        if first < 0x80 {
            at += 1;
            return Some(u64::from(first));
        }
        let (value, n) = varint::read(&bytes[at..])?;
        at += n;
        Some(value)
    };
    let record_bytes = next()? as usize;
    let folded = if layout.rowid { next()? } else { 0 };
    let number = if layout.number { next()? } else { 0 };
    let rowid = (folded >> 1) as i64 ^ -((folded & 1) as i64);
    Some(Found { rowid, number, record: at, end: at + record_bytes })
}
