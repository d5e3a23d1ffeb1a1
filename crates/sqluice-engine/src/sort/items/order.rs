//! The order of items, and the layout: the fields of items that are stored.

use std::cmp::Ordering;

use sqluice_format::key::{DECODED_ROOM, KeyOrder};
use sqluice_format::varint;

use super::first_bytes::first_bytes;

/// The size in bytes of a prefix, which is the start of a normalized key, read as a number that sorts like these bytes.
const PREFIX_BYTES: usize = size_of::<u128>();
/// The number of 16-byte pieces at the beginning of a normalized key that a [`Cut`] holds.
const CUT_PREFIXES: usize = 4;

/// The order of items. Items that this order does not separate are ordered by rowid, and then by the bytes of their records, so that only
/// identical items are equal.
#[derive(Clone, Debug)]
pub enum Order {
    /// The order by the key columns of the records, then by number.
    Record(KeyOrder),
    /// The order by rowid, then by number.
    Rowid,
    /// The order by the key with which the record begins, then by number. The record has the number of bytes of the key as a varint, the
    /// key, and then other bytes.
    Bytes,
}

/// An item to sort. A field that the layout does not keep is read back as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The rowid of the row.
    pub rowid: i64,
    /// The number of the row in its input.
    pub number: u64,
    /// The record to sort: an index entry or a row.
    pub record: &'a [u8],
}

/// The stored fields of items, and the order of the items.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The order of the items.
    pub order: Order,
    /// `true` if the rowids of items are stored.
    pub rowid: bool,
    /// `true` if the numbers of items are stored.
    pub number: bool,
}

/// A position between items, given by the first bytes of their normalized keys. Items with equal keys are on the same side of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sort) struct Cut([u128; CUT_PREFIXES]);

impl Cut {
    /// Returns the cut right before all items whose whole normalized key is `key`.
    pub(in crate::sort) fn of_whole(key: &[u128]) -> Cut {
        let mut prefixes = [0; CUT_PREFIXES];
        prefixes[..key.len()].copy_from_slice(key);
        Cut(prefixes)
    }

    /// Returns `true` if an item whose whole normalized key is `key` sorts before the cut.
    #[inline]
    pub(in crate::sort) fn is_after(&self, key: &[u128]) -> bool {
        // The words of `key` decide, as no whole key is the beginning of another key.
        key < &self.0[..key.len()]
    }

    /// Returns the first 16 bytes of the cut as a prefix: no item after the cut has a smaller prefix.
    #[inline]
    pub(in crate::sort) fn prefix(&self) -> u128 {
        self.0[0]
    }
}

impl Order {
    /// Returns the prefix of an item. If the prefixes of two items differ, the item with the smaller prefix sorts first.
    #[inline]
    pub(in crate::sort) fn prefix(&self, item: &Item<'_>) -> u128 {
        match self {
            Order::Record(key) => key.prefix(item.record),
            Order::Rowid => (u128::from(ordered(item.rowid)) << 64) | u128::from(item.number),
            Order::Bytes => first_bytes(key_bytes(item.record)),
        }
    }

    /// Returns the prefix of a record, and `true` if [`Order::decode`] restores the record from the prefix.
    #[inline]
    pub(in crate::sort) fn decodable_prefix(&self, record: &[u8]) -> (u128, bool) {
        match self {
            Order::Record(key) => key.decodable_prefix(record),
            Order::Rowid | Order::Bytes => (0, false),
        }
    }

    /// Returns the prefix of the record of the integers and NULLs in `values`, and the length of this record in bytes. Returns `None` if
    /// the prefix does not decode to the record.
    #[inline]
    pub(in crate::sort) fn decodable_prefix_of_ints(&self, values: &[Option<i64>]) -> Option<(u128, usize)> {
        match self {
            Order::Record(key) => key.decodable_prefix_of_ints(values),
            Order::Rowid | Order::Bytes => None,
        }
    }

    /// Returns `true` if items may be stored as pairs of integers or NULLs: if the key has two columns.
    pub(in crate::sort) fn has_pairs(&self) -> bool {
        match self {
            Order::Record(key) => key.has_pairs(),
            Order::Rowid | Order::Bytes => false,
        }
    }

    /// Joins the halves that stand for two integers or NULLs to a pair: one number that sorts like the record of both values.
    #[inline]
    pub(in crate::sort) fn pair(&self, halves: [u64; 2]) -> u128 {
        match self {
            Order::Record(key) => key.pair(halves),
            Order::Rowid | Order::Bytes => unreachable!("a rowid is no pair"),
        }
    }

    /// Joins the halves that stand for two integers or NULLs, each in 32 bits, to a short pair: one number that sorts like the record of
    /// both values.
    #[inline]
    pub(in crate::sort) fn short_pair(&self, halves: [u64; 2]) -> u64 {
        match self {
            Order::Record(key) => key.short_pair(halves),
            Order::Rowid | Order::Bytes => unreachable!("a rowid is no pair"),
        }
    }

    /// Returns the short pair for the two values of a pair, or `None` if a value needs more than 32 bits.
    #[inline]
    pub(in crate::sort) fn short_of_pair(&self, pair: u128) -> Option<u64> {
        match self {
            Order::Record(key) => key.short_of_pair(pair),
            Order::Rowid | Order::Bytes => None,
        }
    }

    /// Returns the pair for the two values of a short pair.
    #[inline]
    pub(in crate::sort) fn pair_of_short(&self, short: u64) -> u128 {
        match self {
            Order::Record(key) => key.pair_of_short(short),
            Order::Rowid | Order::Bytes => unreachable!("a rowid is no pair"),
        }
    }

    /// Returns the pair for a record of two integers or NULLs, or `None` for any other record.
    #[inline]
    pub(in crate::sort) fn pair_of(&self, record: &[u8]) -> Option<u128> {
        match self {
            Order::Record(key) => key.pair_of(record),
            Order::Rowid | Order::Bytes => None,
        }
    }

    /// Decodes a pair to its record, which is written to `record`. Returns the length of the record in bytes; the bytes after it are
    /// arbitrary.
    #[inline]
    pub(in crate::sort) fn decode_pair(&self, pair: u128, record: &mut [u8; DECODED_ROOM]) -> usize {
        match self {
            Order::Record(key) => key.decode_pair(pair, record),
            Order::Rowid | Order::Bytes => unreachable!("a rowid is no pair"),
        }
    }

    /// Returns the key of the form `Uuid` for a record that begins with a UUID as text. Returns `None` for any other record, or if the key
    /// has no room for the value after the UUID.
    #[inline]
    pub(in crate::sort) fn uuid_key(&self, record: &[u8]) -> Option<[u64; 4]> {
        match self {
            Order::Record(key) => key.uuid_key(record),
            Order::Rowid | Order::Bytes => None,
        }
    }

    /// Returns the [`Order::uuid_key`] of the record of a text and the integer `int`, the prefix of the record, and the number of bytes
    /// that the integer takes in the record. The text is `data[text.0..text.1]`. Returns `None` if the record has no such key.
    #[inline]
    pub(in crate::sort) fn uuid_key_of_text(
        &self,
        data: &[u8],
        text: (usize, usize),
        int: i64,
    ) -> Option<([u64; 4], u128, usize)> {
        match self {
            Order::Record(key) => key.uuid_key_of_text(data, text, int),
            Order::Rowid | Order::Bytes => None,
        }
    }

    /// Decodes a key of [`Order::uuid_key`] to its record, which is written to `record`. Returns the length of the record in bytes; the
    /// bytes after it are arbitrary.
    #[inline]
    pub(in crate::sort) fn decode_uuid(&self, key: [u64; 4], record: &mut [u8; DECODED_ROOM]) -> usize {
        match self {
            Order::Record(order) => order.decode_uuid(key, record),
            Order::Rowid | Order::Bytes => unreachable!("a rowid is no UUID"),
        }
    }

    /// Returns the normalized key of a record in two words, and the number of bytes of this key. Returns `None` if the key does not decode
    /// to the record, or is too long.
    #[inline]
    pub(in crate::sort) fn decodable_key(&self, record: &[u8]) -> Option<([u128; 2], usize)> {
        match self {
            Order::Record(key) => key.decodable_key(record),
            Order::Rowid | Order::Bytes => None,
        }
    }

    /// Returns the [`Order::decodable_key`] of the record of a text and the integer `int`, and the number of bytes that the integer takes
    /// in the record. The text is `data[text.0..text.1]`. Returns `None` if the caller must encode the record and ask for its key.
    #[inline]
    pub(in crate::sort) fn decodable_key_of_text(
        &self,
        data: &[u8],
        text: (usize, usize),
        int: i64,
    ) -> Option<([u128; 2], usize, usize)> {
        match self {
            Order::Record(key) => key.decodable_key_of_text(data, text, int),
            Order::Rowid | Order::Bytes => None,
        }
    }

    /// Decodes a normalized key to its record, which is written to `record`. Returns the length of the record in bytes; the bytes after it
    /// are arbitrary.
    #[inline]
    pub(in crate::sort) fn decode<const WORDS: usize>(
        &self,
        key: [u128; WORDS],
        record: &mut [u8; DECODED_ROOM],
    ) -> usize {
        match self {
            Order::Record(order) => order.decode(key, record),
            Order::Rowid | Order::Bytes => unreachable!("a rowid does not decode to a record"),
        }
    }

    /// Returns 16 bytes of the normalized key of an item, from byte `16 * depth` on, as a number that sorts like them.
    pub(in crate::sort) fn prefix_at(&self, item: &Item<'_>, depth: usize) -> u128 {
        match (self, depth) {
            (Order::Record(key), _) => key.prefix_at(item.record, depth * PREFIX_BYTES),
            // Only the rowid is the key. `item.number` orders items of the same rowid, but must not cut them apart.
            (Order::Rowid, 0) => u128::from(ordered(item.rowid)) << 64,
            (Order::Rowid, _) => 0,
            (Order::Bytes, _) => {
                first_bytes(key_bytes(item.record).get(depth * PREFIX_BYTES..).unwrap_or_default())
            }
        }
    }

    /// Compares two items by key, then by number, rowid and record. Only identical items are equal.
    pub(in crate::sort) fn compare(&self, a: &Item<'_>, b: &Item<'_>) -> Ordering {
        let key = match self {
            Order::Record(key) => key.compare(a.record, b.record),
            Order::Rowid => a.rowid.cmp(&b.rowid),
            Order::Bytes => key_bytes(a.record).cmp(key_bytes(b.record)),
        };
        key.then(a.number.cmp(&b.number)).then(a.rowid.cmp(&b.rowid)).then_with(|| a.record.cmp(b.record))
    }

    /// Returns the cut right before all items whose keys have the same first bytes as the key of `item`.
    pub(in crate::sort) fn cut(&self, item: &Item<'_>) -> Cut {
        Cut(std::array::from_fn(|depth| self.prefix_at(item, depth)))
    }

    /// Returns the prefix of an item, and the cut right before the item.
    pub(in crate::sort) fn place(&self, item: &Item<'_>) -> (u128, Cut) {
        (self.prefix(item), self.cut(item))
    }

    /// Returns `true` if `item`, whose prefix is `prefix`, sorts before `cut`.
    #[inline]
    pub(in crate::sort) fn is_before(&self, item: &Item<'_>, prefix: u128, cut: &Cut) -> bool {
        prefix < cut.prefix() || (prefix == cut.prefix() && self.is_before_deeper(item, cut))
    }

    #[cold]
    fn is_before_deeper(&self, item: &Item<'_>, cut: &Cut) -> bool {
        let deeper = cut.0.iter().enumerate().skip(1);
        let mut orders = deeper.map(|(depth, prefix)| self.prefix_at(item, depth).cmp(prefix));
        orders.find(|order| order.is_ne()).is_some_and(Ordering::is_lt)
    }
}

impl Layout {
    /// Returns `true` if the items are in the order of [`Order::Record`], and are stored without rowid and number. Only then can an item be
    /// decoded from its key.
    #[inline]
    pub(in crate::sort) fn is_of_records(&self) -> bool {
        matches!(self.order, Order::Record(_)) && !self.rowid && !self.number
    }

    /// Returns `item` with 0 in each field that this layout does not keep.
    #[inline]
    pub(in crate::sort) fn kept<'a>(&self, item: Item<'a>) -> Item<'a> {
        Item {
            rowid: if self.rowid { item.rowid } else { 0 },
            number: if self.number { item.number } else { 0 },
            record: item.record,
        }
    }

    /// Returns the size of an item, by which items are cut into ranges. The size does not depend on the form in which the item is stored,
    /// so neither do the cuts.
    #[inline]
    pub(in crate::sort) fn item_bytes(&self, item: &Item<'_>) -> u64 {
        item.record.len() as u64 + 8 * (u64::from(self.rowid) + u64::from(self.number))
    }
}

/// Returns the key of a record of [`Order::Bytes`].
#[inline]
fn key_bytes(record: &[u8]) -> &[u8] {
    let (len, at) = varint::first(record).unwrap_or_default();
    // A record that was damaged in the temporary file has any order, and its reader notices.
    record[at..].get(..len as usize).unwrap_or_default()
}

/// Converts a rowid to an unsigned number that sorts like the rowid.
fn ordered(rowid: i64) -> u64 {
    (rowid ^ i64::MIN) as u64
}
