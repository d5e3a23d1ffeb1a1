//! A sample of the items, from which the cut into ranges is made.
//!
//! An item is in the sample when a hash of it is small, measured by its size: on average one in every `sample_bytes` bytes of items.
//! When the sample grows too large, only those stay in it that are in one of half as many. So the sample depends on the set of
//! items alone, not on which thread saw which of them, or when.

use super::item::Decoded;
use super::order::{Cut, Item, Layout, Order};

/// Sizes that decide how items are cut into ranges, so they are the same in every run.
#[derive(Clone, Copy, Debug)]
pub struct Ranges {
    /// Bytes of items that a range has, about.
    pub range_bytes: u64,
    /// The bytes of items for each item in the sample; a power of two.
    pub sample_bytes: u64,
    /// The largest sample.
    pub samples_max: usize,
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { range_bytes: 16 << 20, sample_bytes: 64 << 10, samples_max: 32_768 }
    }
}

/// The fewest samples of a range, so that its size is not left to chance.
const RANGE_SAMPLES_MIN: u64 = 16;
/// Beyond this a sample is not thinned out.
const LEVEL_MAX: u32 = 40;

/// The size of every pair, as far as ranges are concerned.
const PAIR_BYTES: u64 = 12;

#[derive(Debug)]
struct Sample {
    hash: u32,
    bytes: u64,
    cut: Cut,
}

/// The sample so far.
#[derive(Debug)]
pub(in crate::sort) struct Samples {
    ranges: Ranges,
    /// How often it was thinned out.
    level: u32,
    list: Vec<Sample>,
}

impl Samples {
    pub(in crate::sort) fn new(ranges: Ranges) -> Samples {
        Samples { ranges, level: 0, list: Vec::new() }
    }

    /// Looks at an item with this prefix: the same is seen whatever is held of it. `pair` is that of its record, if it is one; `is_word`
    /// says whether the prefix decodes to it.
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

    /// Looks at a key-only item of one word that is no pair, in whichever form it was pushed.
    #[inline]
    pub(in crate::sort) fn see_word(&mut self, prefix: u128, record_bytes: usize) {
        let (hash, bytes) = (hash_of_prefix(prefix) as u32, record_bytes as u64);
        if self.has(hash, bytes) {
            self.add(hash, bytes, Cut::of_whole(&[prefix]));
        }
    }

    /// Looks at a key-only item of more than a word with this prefix, whose record, of `record_bytes` bytes, ends so: the same as
    /// [`Samples::see`].
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

    /// Looks at an item that is a pair, however it came.
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

    /// Takes what another has seen.
    pub(in crate::sort) fn append(&mut self, other: &mut Samples) {
        self.list.append(&mut other.list);
        if self.level < other.level {
            self.level = other.level;
        }
        self.keep_own();
        self.thin_out();
    }

    /// Where the ranges begin, but for the first. Each of them has at least two items, the last at least one.
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

/// A hash of what makes items different: the beginning of their keys, the end of their records, which is a rowid or a primary key in
/// an index, and their numbers. It spreads what is not made to fool it.
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
