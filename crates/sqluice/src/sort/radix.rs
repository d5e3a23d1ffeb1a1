//! Sorts by prefixes.
//!
//! ```text
//!  prefixes   t 1 2 0 4 1 7 . . 9      only the bits that differ somewhere tell anything
//!             t 1 9 0 4 3 2 . . 4
//!                 ----- -------        of these the first 32, pressed together, above the index of the item:
//!  keys       [ bits | index ]         one u64 an item, sorted digit by digit from the last (LSD radix);
//!                                      many are sorted by a first digit before
//! ```
//!
//! What is equal in these bits is sorted again by the bits that differ within its group; what is equal in the whole prefix by
//! the next 16 bytes of the keys; and small groups by comparison.
//!
//! Prefixes that tell their items need no index: up to 64 bits that differ are pressed into a u64, sorted, and made prefixes again.

use std::cmp::Ordering;

use super::item::FETCHED;
use super::large_pages;

/// Fewer items than this are compared.
const COMPARED_MAX: usize = 48;
/// Fewer keys than this are not worth the counting.
const COUNTED_MIN: usize = 2048;
/// More keys than this leave no room in a core's own cache.
const CACHED_MAX: usize = 64 << 10;
/// Bits of the digit that such keys are sorted by first.
const FIRST_DIGIT_BITS: u32 = 8;
/// Bits of a key that are above the index.
const KEY_BITS: u32 = 32;
/// Bits of a digit.
const DIGIT_BITS: u32 = 12;
/// As many times 16 bytes of the keys are looked at before they are compared.
const DEPTH_MAX: usize = 16;

/// What is sorted, each under its index.
pub(super) trait Items {
    /// 16 bytes of the normalized key, from the byte `16 * depth` on.
    fn prefix_at(&self, index: u32, depth: usize) -> u128;
    /// The whole order.
    fn compare(&self, a: u32, b: u32) -> Ordering;
    /// Brings items, [`FETCHED`] at most, into the cache, all at once.
    fn fetch(&self, indexes: impl Iterator<Item = u32>);
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    keys: Vec<u64>,
    other: Vec<u64>,
}

/// Bytes that sorting takes an item.
pub(super) const SCRATCH_BYTES: usize = 16;

/// Indexes of items.
pub(super) type Indexes<'a> = std::iter::Map<std::slice::Iter<'a, u64>, fn(&u64) -> u32>;

/// The indexes of the items in order. The prefixes are used up.
pub(super) fn sort<'a>(prefixes: &mut [u128], items: &impl Items, scratch: &'a mut Scratch) -> Indexes<'a> {
    let Scratch { keys, other } = scratch;
    let count = prefixes.len();
    keys.clear();
    if keys.capacity() < count {
        keys.reserve_exact(count);
        large_pages::advise(keys);
    }
    keys.extend(0..count as u64);
    if !is_sorted(prefixes, items) {
        if other.len() < count {
            *other = vec![0; count];
            large_pages::advise(other);
        }
        sort_group(keys, other, prefixes, items, 0);
    }
    keys.iter().map(|key| *key as u32)
}

/// Puts prefixes in order that tell all of their items.
pub(super) fn sort_telling(prefixes: &mut [u128], scratch: &mut Scratch) {
    let Some(&first) = prefixes.first() else { return };
    if prefixes.is_sorted() {
        return;
    }
    let varying = prefixes.iter().fold(0, |varying, prefix| varying | (prefix ^ first));
    if varying.count_ones() > u64::BITS {
        return prefixes.sort_unstable();
    }
    let press = Press::new(varying);
    let Scratch { keys, other } = scratch;
    keys.clear();
    if keys.capacity() < prefixes.len() {
        keys.reserve_exact(prefixes.len());
        large_pages::advise(keys);
    }
    keys.extend(prefixes.iter().map(|prefix| press.key(*prefix)));
    if other.len() < keys.len() {
        *other = vec![0; keys.len()];
        large_pages::advise(other);
    }
    sort_keys(keys, &mut other[..prefixes.len()], 0, press.bits);
    for (prefix, key) in prefixes.iter_mut().zip(&*keys) {
        *prefix = first & !varying | press.prefix(*key);
    }
}

fn is_sorted(prefixes: &[u128], items: &impl Items) -> bool {
    let mut before = 0;
    (1..prefixes.len()).all(|i| {
        let order = prefixes[before].cmp(&prefixes[i]).then_with(|| items.compare(before as u32, i as u32));
        before = i;
        order.is_le()
    })
}

/// Sorts keys of items that are equal in the first `16 * depth` bytes.
fn sort_group(
    keys: &mut [u64],
    other: &mut [u64],
    prefixes: &mut [u128],
    items: &impl Items,
    mut depth: usize,
) {
    if keys.len() <= COMPARED_MAX {
        return compare_group(keys, prefixes, items);
    }
    let mut varying = varying(keys, prefixes);
    while varying == 0 {
        depth += 1;
        if depth > DEPTH_MAX || !deepen(keys, prefixes, items, depth) {
            return keys.sort_unstable_by(|a, b| items.compare(*a as u32, *b as u32));
        }
        varying = self::varying(keys, prefixes);
    }
    let press = Press::new(first_bits(varying, KEY_BITS));
    for key in keys.iter_mut() {
        let index = *key as u32;
        *key = press.key(prefixes[index as usize]) << KEY_BITS | u64::from(index);
    }
    sort_keys(keys, &mut other[..keys.len()], KEY_BITS, press.bits);
    let is_same = |a: u64, b: u64| a >> KEY_BITS == b >> KEY_BITS;
    let (mut start, mut fetched) = (0, 0);
    while start < keys.len() {
        if start >= fetched {
            // Those among the next that will be compared.
            fetched = (start + FETCHED).min(keys.len());
            let is_next = |at: usize| keys.get(at + 1).is_some_and(|next| is_same(keys[at], *next));
            let same = (start..fetched).filter(|&at| is_next(at) || at > start && is_next(at - 1));
            items.fetch(same.map(|at| keys[at] as u32));
        }
        let bits = keys[start] >> KEY_BITS;
        let end = start + keys[start..].iter().take_while(|key| **key >> KEY_BITS == bits).count();
        if end - start > 1 {
            sort_group(&mut keys[start..end], &mut other[start..end], prefixes, items, depth);
        }
        start = end;
    }
}

fn compare_group(keys: &mut [u64], prefixes: &[u128], items: &impl Items) {
    let prefix = |key: u64| prefixes[key as u32 as usize];
    keys.sort_unstable_by(|&a, &b| prefix(a).cmp(&prefix(b)).then_with(|| items.compare(a as u32, b as u32)));
}

/// The bits in which prefixes of the group differ, without those that always equal one of the two above them, or always its
/// opposite: such a bit never decides. In hexadecimal digits as text there is one in each.
fn varying(keys: &[u64], prefixes: &[u128]) -> u128 {
    let first = prefixes[keys[0] as u32 as usize];
    let (mut all, mut by_1, mut by_2) = (0, 0, 0);
    for key in keys {
        let different = prefixes[*key as u32 as usize] ^ first;
        all |= different;
        by_1 |= different ^ different >> 1;
        by_2 |= different ^ different >> 2;
    }
    all & by_1 & by_2
}

/// Goes on to the next 16 bytes. Says whether there are any.
fn deepen(keys: &[u64], prefixes: &mut [u128], items: &impl Items, depth: usize) -> bool {
    let mut any = false;
    for key in keys {
        let index = *key as u32;
        let prefix = items.prefix_at(index, depth);
        prefixes[index as usize] = prefix;
        any |= prefix != 0;
    }
    any
}

/// So many of the first bits.
fn first_bits(mut all: u128, count: u32) -> u128 {
    while all.count_ones() > count {
        all &= all - 1;
    }
    all
}

/// Presses some bits together.
struct Press {
    halves: [HalfPress; 2],
    bits: u32,
}

/// The same for 64 bits.
struct HalfPress {
    /// For each stretch of bits: which, and how far they move to the right.
    stretches: [(u64, u32); 32],
    count: usize,
    bits: u32,
}

impl Press {
    /// For 64 bits at most.
    fn new(pressed: u128) -> Press {
        let halves = [(pressed >> 64) as u64, pressed as u64].map(HalfPress::new);
        Press { halves, bits: pressed.count_ones() }
    }

    #[inline]
    fn key(&self, prefix: u128) -> u64 {
        let [high, low] = &self.halves;
        high.pressed((prefix >> 64) as u64).checked_shl(low.bits).unwrap_or(0) | low.pressed(prefix as u64)
    }

    /// The bits of a key where they were.
    #[inline]
    fn prefix(&self, key: u64) -> u128 {
        let [high, low] = &self.halves;
        u128::from(high.spread(key.checked_shr(low.bits).unwrap_or(0))) << 64 | u128::from(low.spread(key))
    }
}

impl HalfPress {
    fn new(varying: u64) -> HalfPress {
        let mut press = HalfPress { stretches: [(0, 0); 32], count: 0, bits: 0 };
        let mut left = varying;
        while left != 0 {
            let low = left.trailing_zeros();
            let len = (left >> low).trailing_ones();
            let mask = (u64::MAX >> (64 - len)) << low;
            press.stretches[press.count] = (mask, low - press.bits);
            press.count += 1;
            press.bits += len;
            left &= !mask;
        }
        press
    }

    #[inline]
    fn pressed(&self, half: u64) -> u64 {
        self.stretches[..self.count].iter().fold(0, |bits, &(mask, shift)| bits | (half & mask) >> shift)
    }

    #[inline]
    fn spread(&self, bits: u64) -> u64 {
        self.stretches[..self.count].iter().fold(0, |half, &(mask, shift)| half | bits << shift & mask)
    }
}

/// Sorts keys by `bits` bits from `low` on; below them there is nothing, or the index.
fn sort_keys(keys: &mut [u64], other: &mut [u64], low: u32, bits: u32) {
    if keys.len() <= CACHED_MAX || bits <= FIRST_DIGIT_BITS {
        return sort_cached(keys, other, low, bits);
    }
    // Once through memory by the first digit; what is equal in it is then sorted in the cache.
    let below = low + bits - FIRST_DIGIT_BITS;
    scatter(keys, other, below, FIRST_DIGIT_BITS);
    let mut start = 0;
    while start < keys.len() {
        let digit = other[start] >> below;
        let end = start + other[start..].partition_point(|key| *key >> below == digit);
        let (from, to) = (&mut other[start..end], &mut keys[start..end]);
        sort_cached(from, to, low, below - low);
        to.copy_from_slice(from);
        start = end;
    }
}

/// The same, last digit first.
fn sort_cached(keys: &mut [u64], other: &mut [u64], low: u32, bits: u32) {
    if keys.len() < COUNTED_MIN {
        return keys.sort_unstable();
    }
    let passes = bits.div_ceil(DIGIT_BITS);
    let digit_bits = bits.div_ceil(passes);
    let (mut from, mut to) = (&mut *keys, &mut *other);
    for pass in 0..passes {
        scatter(from, to, low + pass * digit_bits, digit_bits);
        (from, to) = (to, from);
    }
    if passes % 2 == 1 {
        keys.copy_from_slice(other);
    }
}

/// Sorts by one digit, keeping the order of equal ones.
fn scatter(from: &[u64], to: &mut [u64], shift: u32, digit_bits: u32) {
    let mask = (1_usize << digit_bits) - 1;
    let digit = |key: u64| (key >> shift) as usize & mask;
    let places = &mut [0_u32; 1 << DIGIT_BITS][..=mask];
    for key in from {
        places[digit(*key)] += 1;
    }
    let mut place = 0;
    for count in places.iter_mut() {
        (*count, place) = (place, place + *count);
    }
    for key in from {
        let place = &mut places[digit(*key)];
        to[*place as usize] = *key;
        *place += 1;
    }
}
