//! A sample of the items, by which the sorter chooses the positions where the items are cut into ranges.
//!
//! An item is in the sample if its hash is small in relation to its size: on average one item in every `sample_bytes` bytes of items. If
//! the sample grows too large, the limit of the hash is halved, and items above the limit leave the sample. So the sample depends only on
//! the set of items, not on threads or time, and the ranges are the same each time.

use super::item::Decoded;
use super::order::{Cut, Item, Layout, Order};

/// The sizes that determine where the items are cut into ranges. The same items and sizes always give the same ranges.
#[derive(Clone, Copy, Debug)]
pub struct Ranges {
    /// The approximate size of a range in bytes.
    pub range_bytes: u64,
    /// The number of bytes of items for which the sample has one item on average; a power of two.
    pub sample_bytes: u64,
    /// The largest number of items in the sample.
    pub samples_max: usize,
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { range_bytes: 16 << 20, sample_bytes: 64 << 10, samples_max: 32_768 }
    }
}

/// The smallest number of sampled items in a range. With fewer samples, the sizes of ranges would vary too much.
const RANGE_SAMPLES_MIN: u64 = 16;
/// The largest number of times that a sample is thinned out. Each time, about half of the items leave the sample.
const LEVEL_MAX: u32 = 40;

/// The assumed size in bytes of an item that is a pair of integers, when items are cut into ranges.
const PAIR_BYTES: u64 = 12;

#[derive(Debug)]
struct Sample {
    hash: u32,
    bytes: u64,
    cut: Cut,
}

/// The sample of the items seen so far.
#[derive(Debug)]
pub(in crate::sort) struct Samples {
    ranges: Ranges,
    /// The number of times that the limit of the hash was halved: items with a hash above the limit are not in the sample.
    level: u32,
    list: Vec<Sample>,
}

impl Samples {
    pub(in crate::sort) fn new(ranges: Ranges) -> Samples {
        Samples { ranges, level: 0, list: Vec::new() }
    }

    /// Takes an item with this prefix into the sample if its hash is small enough. `pair` is the pair for the record, if the record is two
    /// integers or NULLs; `is_word` is `true` if the prefix decodes to the record. The hash depends only on the item, not on the form in
    /// which it is stored.
    #[inline]
    pub(in crate::sort) fn see(
        &mut self,
        layout: &Layout,
        item: &Item<'_>,
        pair: Option<u128>,
        prefix: u128,
        is_word: bool,
    ) {
        if let Some(pair) = pair {
            return self.see_pair(&layout.order, pair);
        }
        if is_word {
            return self.see_word(prefix, item.record.len());
        }
        let (hash, bytes) = (hash(item, prefix), layout.item_bytes(item));
        if self.has(hash, bytes) {
            self.add(hash, bytes, layout.order.cut(item));
        }
    }

    /// Does the work of [`Samples::see`] for a key-only item whose key is one word and no pair. `record_bytes` is the length of its record.
    #[inline]
    pub(in crate::sort) fn see_word(&mut self, prefix: u128, record_bytes: usize) {
        let (hash, bytes) = (hash_of_prefix(prefix) as u32, record_bytes as u64);
        if self.has(hash, bytes) {
            self.add(hash, bytes, Cut::of_whole(&[prefix]));
        }
    }

    /// Does the work of [`Samples::see`] for a key-only item with this prefix, whose key is longer than one word. Its record has
    /// `record_bytes` bytes and ends with the bytes `last`; `cut` returns the cut right before the item.
    #[inline]
    pub(in crate::sort) fn see_words(
        &mut self,
        prefix: u128,
        last: [u8; 8],
        record_bytes: usize,
        cut: impl FnOnce() -> Cut,
    ) {
        let tail = tail(u64::from_le_bytes(last), record_bytes, 0);
        let (hash, bytes) = (hash_of(prefix, tail, 0), record_bytes as u64);
        if self.has(hash, bytes) {
            self.add(hash, bytes, cut());
        }
    }

    /// Does the work of [`Samples::see`] for an item that is a pair.
    #[inline]
    pub(in crate::sort) fn see_pair(&mut self, order: &Order, pair: u128) {
        let hash = hash_of_prefix(pair) as u32;
        if self.has(hash, PAIR_BYTES) {
            self.add(hash, PAIR_BYTES, cut_of_pair(order, pair));
        }
    }

    #[cold]
    fn add(&mut self, hash: u32, bytes: u64, cut: Cut) {
        self.list.push(Sample { hash, bytes, cut });
        self.thin_out();
    }

    #[inline]
    fn has(&self, hash: u32, bytes: u64) -> bool {
        u64::from(hash) < (bytes << 32) >> (self.ranges.sample_bytes.trailing_zeros() + self.level)
    }

    fn thin_out(&mut self) {
        while self.list.len() > self.ranges.samples_max && self.level < LEVEL_MAX {
            self.level += 1;
            self.keep_own();
        }
    }

    fn keep_own(&mut self) {
        let list = std::mem::take(&mut self.list);
        self.list = list.into_iter().filter(|sample| self.has(sample.hash, sample.bytes)).collect();
    }

    /// Moves the items of `other` into this sample. Its `level` becomes the higher of both levels, and items with a hash above the limit of
    /// this level are dropped.
    pub(in crate::sort) fn append(&mut self, other: &mut Samples) {
        self.list.append(&mut other.list);
        if self.level < other.level {
            self.level = other.level;
        }
        self.keep_own();
        self.thin_out();
    }

    /// Returns the cuts at which the second range and all later ranges begin. Each range has at least two items, except the last, which may
    /// have only one.
    pub(in crate::sort) fn cuts(mut self) -> Vec<Cut> {
        let step = self.ranges.sample_bytes << self.level;
        let range_bytes = self.ranges.range_bytes.max(step.saturating_mul(RANGE_SAMPLES_MIN));
        self.list.sort_unstable_by_key(|sample| sample.cut);
        let mut cuts = Vec::new();
        let (mut bytes, mut samples, mut before) = (0_u64, 0, None);
        for sample in self.list {
            let is_new = before.replace(sample.cut).is_some_and(|before| before != sample.cut);
            if is_new && bytes >= range_bytes && samples >= 2 {
                (bytes, samples) = (0, 0);
                cuts.push(sample.cut);
            }
            bytes = bytes.saturating_add(sample.bytes.max(step));
            samples += 1;
        }
        cuts
    }
}

#[cold]
fn cut_of_pair(order: &Order, pair: u128) -> Cut {
    let mut decoded = Decoded::NONE;
    decoded.set_pair(order, pair);
    order.cut(&decoded.item())
}

/// Returns a hash of the bytes in which items usually differ: the beginning of the key, the end of the record (in an index, a rowid or a
/// primary key), the length of the record, the number of the row in its input, and the rowid. The hash does not withstand crafted
/// collisions.
#[inline]
fn hash(item: &Item<'_>, prefix: u128) -> u32 {
    let last = match item.record.last_chunk() {
        Some(last) => u64::from_le_bytes(*last),
        None => item.record.iter().fold(0, |last, byte| last << 8 | u64::from(*byte)),
    };
    hash_of(prefix, tail(last, item.record.len(), item.number), item.rowid)
}

#[inline]
fn tail(last: u64, record_bytes: usize, number: u64) -> u64 {
    fold(last ^ KEYS[0], number ^ KEYS[1]) ^ (record_bytes as u64) << 32
}

#[inline]
fn hash_of(prefix: u128, tail: u64, rowid: i64) -> u32 {
    (fold(hash_of_prefix(prefix) ^ tail.rotate_left(17), rowid as u64 ^ KEYS[0]) >> 16) as u32
}

const KEYS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9];

#[inline]
fn hash_of_prefix(prefix: u128) -> u64 {
    fold((prefix >> 64) as u64 ^ KEYS[1], prefix as u64 ^ KEYS[0])
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
