//! Encodes items as bytes, and finds the fields of encoded items. Items have the same bytes in memory and in the temporary file.
//!
//! ```text
//!  +--------------+--------+--------+------------+
//!  | record bytes | rowid  | number | record     |
//!  +--------------+--------+--------+------------+
//!   varint         varint   varint
//!                  if the layout keeps it
//! ```
//!
//! A rowid is zigzag-encoded: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... so that rowids near 0 are short.

use sqluice_format::key::{DECODED_BYTES_MAX, DECODED_ROOM};
use sqluice_format::varint;

use super::order::{Item, Layout, Order};

/// The decoded fields of an encoded item, and the position of its record.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sort) struct Found {
    pub(in crate::sort) rowid: i64,
    pub(in crate::sort) number: u64,
    /// The offset at which the record begins.
    pub(in crate::sort) record: usize,
    /// The offset at which the record ends.
    pub(in crate::sort) end: usize,
}

impl Found {
    /// Returns the item. `bytes` must be the bytes that were passed to [`find`].
    #[inline]
    pub(in crate::sort) fn item<'a>(&self, bytes: &'a [u8]) -> Item<'a> {
        Item { rowid: self.rowid, number: self.number, record: &bytes[self.record..self.end] }
    }
}

/// The largest number of bytes before the record of an item: three varints.
pub(in crate::sort) const HEAD_BYTES_MAX: usize = 3 * varint::BYTES_MAX;

/// Writes the fields that precede the record of an item: its length, and the rowid and the number if `layout` keeps them. Returns the
/// number of bytes written.
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

/// The bytes of a key-only item, decoded from its key.
#[derive(Clone, Copy, Debug)]
pub(in crate::sort) struct Decoded {
    bytes: [u8; 1 + DECODED_ROOM],
    len: usize,
}

impl Decoded {
    /// An empty value, until the first key is decoded into it.
    pub(in crate::sort) const NONE: Decoded = Decoded { bytes: [0; 1 + DECODED_ROOM], len: 0 };

    /// Decodes the item from its normalized key. The item replaces the item that was decoded before.
    #[inline]
    pub(in crate::sort) fn set<const WORDS: usize>(&mut self, order: &Order, key: [u128; WORDS]) {
        self.write(|record| order.decode(key, record));
    }

    /// Decodes the item from its pair of integers or NULLs, like [`Decoded::set`].
    #[inline]
    pub(in crate::sort) fn set_pair(&mut self, order: &Order, pair: u128) {
        self.write(|record| order.decode_pair(pair, record));
    }

    /// Decodes the item from its key of the form `Uuid`, like [`Decoded::set`].
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

/// The number of items that [`fetch`] brings into the CPU cache at a time.
pub(in crate::sort) const FETCHED: usize = 64;

/// Brings the items at the offsets `places` into the CPU cache, all at once, by reading the first and roughly the last byte of each.
/// `item_bytes` is the average size of an item. Reading scattered items one after another would wait for memory at each item, and twice if
/// the item crosses a cache line.
#[inline]
pub(in crate::sort) fn fetch(bytes: &[u8], places: &[u32], item_bytes: usize) {
    let last = bytes.len().saturating_sub(1);
    let ends = |place: usize| bytes[place] ^ bytes[(place + item_bytes).min(last)];
    std::hint::black_box(places.iter().fold(0, |all, place| all ^ ends(*place as usize)));
}

/// Decodes the fields before the record of the item that begins at `start`. Returns `None` if `bytes` ends before the record begins. The
/// record itself may end beyond `bytes`.
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
