//! Sorts items by the prefixes of their keys.
//!
//! ```text
//!  prefix of item 0   t 1 2 0 4 1 7 x x 9    one letter or digit for each bit or group of bits
//!  prefix of item 1   t 1 9 0 4 3 2 x x 4
//!                         ^     ^ ^     ^    only the bits that differ between items matter
//!  keys               [ bits | index ]       one u64 per item: the first 32 of these bits, and the index of the item;
//!                                            sorted digit by digit from the last (LSD radix), many items first by the first digit
//! ```
//!
//! Items that are equal in these 32 bits are a group, which is sorted again by the bits that differ within the group. A group that is equal
//! in the whole prefix is sorted by the next 16 bytes of its normalized keys. Small groups are sorted by comparing items.
//!
//! Key-only items need no index: the bits in which the keys differ, up to 64, are compressed into a u64 for each key. The u64 numbers are
//! sorted and then expanded to keys again. Keys of the form `Short` are u64 numbers already.

use std::cmp::Ordering;

use sqluice_platform::memory;

use super::halves::halves;
use super::item::FETCHED;

/// The size of the largest group that is sorted by comparison.
const COMPARED_MAX: usize = 48;
/// The smallest number of keys for which radix sorting in more than [`PASSES_MAX`] passes is faster than a comparison sort.
const COUNTED_MIN: usize = 2048;
const PASSES_MAX: u32 = 2;
/// The largest number of u64 keys that fit into the CPU cache of one core.
const CACHED_MAX: usize = 64 << 10;
/// The number of bits of the first digit. If there are more than [`CACHED_MAX`] keys, they are split into groups by this digit.
const FIRST_DIGIT_BITS: u32 = 8;
/// The number of bits of the prefix in a sort number (`keys` of [`Scratch`]), above the 32 bits of the item's index.
const KEY_BITS: u32 = 32;
/// The largest number of bits of a digit, by which one pass of the radix sort orders the keys.
const DIGIT_BITS: u32 = 12;
/// The largest number of times that a group is sorted by the next 16 bytes of its normalized keys. Items that are equal in all of these
/// bytes are sorted by comparison.
const DEPTH_MAX: usize = 16;

/// The items to sort. Each item is identified by its index: its position in the order in which the items were pushed.
pub(in crate::sort) trait Items {
    /// Returns 16 bytes of the normalized key of the item with this index, from byte `16 * depth` on.
    fn prefix_at(&self, index: u32, depth: usize) -> u128;
    /// Compares the items with the indexes `a` and `b` in the total order.
    fn compare(&self, a: u32, b: u32) -> Ordering;
    /// Brings the items with these indexes, at most [`FETCHED`], into the CPU cache, all at once.
    fn fetch(&self, indexes: impl Iterator<Item = u32>);
}

/// The memory of a sort, which the next sort reuses. `keys` has one sort number for each item; `other` receives the sort numbers that each
/// pass orders.
#[derive(Debug, Default)]
pub(in crate::sort) struct Scratch {
    keys: Vec<u64>,
    other: Vec<u64>,
}

/// The memory in bytes that [`Scratch`] takes for each item.
pub(in crate::sort) const SCRATCH_BYTES: usize = 16;

/// The indexes of the items, in sorted order.
pub(in crate::sort) type Indexes<'a> = std::iter::Map<std::slice::Iter<'a, u64>, fn(&u64) -> u32>;

/// Sorts the items, and returns their indexes in sorted order. `prefixes` has the prefix of each item, and is overwritten.
pub(in crate::sort) fn sort<'a>(
    prefixes: &mut [u128],
    items: &impl Items,
    scratch: &'a mut Scratch,
) -> Indexes<'a> {
    let Scratch { keys, other } = scratch;
    let count = prefixes.len();
    keys.clear();
    if keys.capacity() < count {
        keys.reserve_exact(count);
        memory::advise_large(keys);
    }
    keys.extend(0..count as u64);
    if !is_sorted(prefixes, items) {
        sort_group(keys, with_room(other, count), prefixes, items, 0);
    }
    keys.iter().map(|key| *key as u32)
}

/// Sorts keys that are u64 numbers.
pub(in crate::sort) fn sort_numbers(keys: &mut [u64], scratch: &mut Scratch) {
    let Some(&first) = keys.first().filter(|_| !keys.is_sorted()) else { return };
    let other = with_room(&mut scratch.other, keys.len());
    let bits = u64::BITS - keys.iter().fold(0, |varying, key| varying | key ^ first).leading_zeros();
    let low = ascending_bits(keys, bits);
    sort_keys(keys, other, low, bits - low);
}

/// Sorts the keys of key-only items. Each key has `HALVES` u64 numbers.
pub(in crate::sort) fn sort_decodable<const HALVES: usize>(
    items: &mut [[u64; HALVES]],
    scratch: &mut Scratch,
) {
    if !items.is_sorted() {
        let keys = with_room(&mut scratch.keys, items.len());
        sort_decodable_group(items, keys);
    }
}

fn with_room(list: &mut Vec<u64>, count: usize) -> &mut [u64] {
    if list.len() < count {
        *list = vec![0; count];
        memory::advise_large(list);
    }
    &mut list[..count]
}

fn sort_decodable_group<const HALVES: usize>(items: &mut [[u64; HALVES]], keys: &mut [u64]) {
    let Some(&first) = items.first() else { return };
    let mut varying = [0; HALVES];
    for item in &*items {
        for half in 0..HALVES {
            varying[half] |= item[half] ^ first[half];
        }
    }
    let Some(press) = Press::new(varying) else {
        return match items.len() < COUNTED_MIN {
            true => items.sort_unstable(),
            false => split_decodable(items, keys, varying),
        };
    };
    let keys = &mut keys[..items.len()];
    for (key, item) in keys.iter_mut().zip(&*items) {
        *key = press.key(*item);
    }
    let low = ascending_bits(keys, press.bits);
    // The compressed keys hold everything in which the items differ, so the memory of `items` serves as scratch memory until the keys are
    // expanded again.
    let other = &mut items.as_flattened_mut()[..keys.len()];
    sort_keys(keys, other, low, press.bits - low);
    for (item, key) in items.iter_mut().zip(&*keys) {
        let bits = press.halves_of(*key);
        *item = std::array::from_fn(|half| first[half] & !varying[half] | bits[half]);
    }
}

/// Sorts keys that differ in more than 64 bits: by the first 8 differing bits, and then each group of keys that are equal in these bits.
/// Normalized keys that begin with integers of different lengths come into different groups, so within a group the values after the
/// integers are at the same offset, and fewer bits differ.
fn split_decodable<const HALVES: usize>(
    items: &mut [[u64; HALVES]],
    keys: &mut [u64],
    varying: [u64; HALVES],
) {
    let half = varying.iter().position(|half| *half != 0).unwrap_or(0);
    let shift = (u64::BITS - varying[half].leading_zeros()).saturating_sub(FIRST_DIGIT_BITS);
    let digit = |item: &[u64; HALVES]| (item[half] >> shift) as usize & ((1 << FIRST_DIGIT_BITS) - 1);
    let mut ends = [0; 1 << FIRST_DIGIT_BITS];
    for item in &*items {
        ends[digit(item)] += 1;
    }
    // `places` gets, for each digit, the position where its next item goes, and `ends` the position where the range of the digit ends.
    let mut places = ends;
    let mut start = 0;
    for (place, end) in places.iter_mut().zip(&mut ends) {
        *place = start;
        start += *end;
        *end = start;
    }
    start = 0;
    for (at, end) in ends.into_iter().enumerate() {
        while places[at] < end {
            let place = places[at];
            let wanted = digit(&items[place]);
            items.swap(place, places[wanted]);
            places[wanted] += 1;
        }
        sort_decodable_group(&mut items[start..end], keys);
        start = end;
    }
}

/// Returns the number of low bits by which the keys already ascend; `bits` is the number of bits in use. The low bits need no sorting,
/// because keys that are equal in the bits above keep their order. The low bits often are the rowids of index entries, which ascend.
fn ascending_bits(keys: &[u64], bits: u32) -> u32 {
    let last = |key: u64, count: u32| key & !u64::MAX.checked_shl(count).unwrap_or(0);
    let ascend = |keys: &[u64], count| keys.is_sorted_by(|a, b| last(*a, count) <= last(*b, count));
    let some = &keys[..keys.len().min(100)];
    let found = (1..=bits).rev().find(|count| ascend(some, *count));
    found.filter(|count| ascend(keys, *count)).unwrap_or(0)
}

fn is_sorted(prefixes: &[u128], items: &impl Items) -> bool {
    let mut before = 0;
    (1..prefixes.len()).all(|i| {
        let order = prefixes[before].cmp(&prefixes[i]).then_with(|| items.compare(before as u32, i as u32));
        before = i;
        order.is_le()
    })
}

/// Sorts a group of items whose normalized keys are equal in the first `16 * depth` bytes. Each number in `keys` has the index of an item
/// in its low 32 bits; `prefixes` has the next 16 bytes of each item's normalized key.
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
    let pressed = first_bits(varying, KEY_BITS);
    let Some(press) = Press::new(halves(pressed)) else { unreachable!("as many bits as were asked for") };
    for key in keys.iter_mut() {
        let index = *key as u32;
        *key = press.key(halves(prefixes[index as usize])) << KEY_BITS | u64::from(index);
    }
    sort_keys(keys, &mut other[..keys.len()], KEY_BITS, press.bits);
    let is_same = |a: u64, b: u64| a >> KEY_BITS == b >> KEY_BITS;
    let (mut start, mut fetched) = (0, 0);
    while start < keys.len() {
        if start >= fetched {
            // Fetches the items that will be compared next.
            fetched = (start + FETCHED).min(keys.len());
            let is_next = |at: usize| keys.get(at + 1).is_some_and(|next| is_same(keys[at], *next));
            let same = (start..fetched).filter(|&at| is_next(at) || at > start && is_next(at - 1));
            items.fetch(same.map(|at| keys[at] as u32));
        }
        let bits = keys[start] >> KEY_BITS;
        let end = start + keys[start..].iter().take_while(|key| **key >> KEY_BITS == bits).count();
        let group = &mut keys[start..end];
        match group.len() {
            1 => {}
            // All differing bits were sorted, so the whole prefixes in this small group are equal, and only comparing the items decides.
            2..=COMPARED_MAX if pressed == varying => {
                group.sort_unstable_by(|a, b| items.compare(*a as u32, *b as u32));
            }
            _ => sort_group(group, &mut other[start..end], prefixes, items, depth),
        }
        start = end;
    }
}

fn compare_group(keys: &mut [u64], prefixes: &[u128], items: &impl Items) {
    let prefix = |key: u64| prefixes[key as u32 as usize];
    keys.sort_unstable_by(|&a, &b| prefix(a).cmp(&prefix(b)).then_with(|| items.compare(a as u32, b as u32)));
}

/// Returns a mask of the bits in which the prefixes of the items in `keys` differ. A bit is left out if it always equals, or always differs
/// from, one of the two bits above it, because then it never decides the order. Each hexadecimal digit as text has such a bit.
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

/// Replaces the prefix of each item in `keys` by the 16 bytes of its normalized key from byte `16 * depth` on. Returns `true` if any of
/// these bytes is not zero.
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

/// Returns `all` with only its highest `count` set bits.
fn first_bits(mut all: u128, count: u32) -> u128 {
    while all.count_ones() > count {
        all &= all - 1;
    }
    all
}

/// A press gathers selected bits of a key into one u64, in their order, and spreads them again.
#[derive(Clone, Copy, Debug)]
pub(in crate::sort) struct Press<const HALVES: usize> {
    halves: [HalfPress; HALVES],
    bits: u32,
}

/// The press of one half of a key: gathers the selected bits of the half, and shifts them above the bits of the later halves.
///
/// ```text
///  a . . b c . d .      dots are bits that are not selected
///  a . . b c . . d      bits with an odd number of dots after them move by 1,
///  a . . . . b c d      then bits with 2 or 3, 6 or 7, ... dots by 2,
///  . . . . a b c d      bits with 4 to 7 dots by 4, and so on
/// ```
#[derive(Clone, Copy, Debug)]
struct HalfPress {
    pressed: u64,
    /// The steps that gather the bits: the bits that move, at their places before the step, and the distance to the right. Steps that move
    /// no bit are left out.
    moves: [(u64, u32); 6],
    count: usize,
    /// The distance to the left by which the gathered bits move at last: the number of selected bits in later halves.
    place: u32,
}

impl<const HALVES: usize> Press<HALVES> {
    /// Creates the press that gathers the bits set in `pressed` into one u64. Returns `None` if more than 64 bits are set.
    pub(in crate::sort) fn new(pressed: [u64; HALVES]) -> Option<Press<HALVES>> {
        let bits = |halves: &[u64]| halves.iter().map(|half| half.count_ones()).sum::<u32>();
        let all = bits(&pressed);
        let half = |half: usize| HalfPress::new(pressed[half], bits(&pressed[half + 1..]));
        (all <= u64::BITS).then(|| Press { halves: std::array::from_fn(half), bits: all })
    }

    #[inline]
    pub(in crate::sort) fn key(&self, item: [u64; HALVES]) -> u64 {
        self.halves.iter().zip(item).fold(0, |key, (press, half)| key | press.pressed(half))
    }

    /// Returns the bits of `key`, a number that [`Press::key`] returned, at their original places in the halves. All other bits are 0.
    #[inline]
    pub(in crate::sort) fn halves_of(&self, key: u64) -> [u64; HALVES] {
        std::array::from_fn(|half| self.halves[half].spread(key))
    }
}

impl HalfPress {
    /// Creates the press that gathers the bits set in `pressed`. `below` is the number of bits of later halves, which come below these bits
    /// in the u64. (H. S. Warren, Hacker's Delight, section 7-4.)
    fn new(pressed: u64, below: u32) -> HalfPress {
        // If `pressed` is 0, `below` may be 64, which is no valid shift.
        let place = if pressed == 0 { 0 } else { below };
        let mut press = HalfPress { pressed, moves: [(0, 0); 6], count: 0, place };
        let (mut left, mut dots) = (pressed, !pressed << 1);
        for shift in (0..6).map(|i| 1 << i) {
            // The bits that have an odd number of dots (bits that are not selected) below them.
            let is_odd = (0..6).fold(dots, |odd, i| odd ^ odd << (1 << i));
            let moving = is_odd & left;
            left = left ^ moving | moving >> shift;
            dots &= !is_odd;
            if moving != 0 {
                press.moves[press.count] = (moving, shift);
                press.count += 1;
            }
        }
        press
    }

    #[inline]
    fn pressed(&self, half: u64) -> u64 {
        let moves = self.moves.iter().take(self.count);
        let bits = moves.fold(half & self.pressed, |bits, (moving, shift)| {
            let moved = bits & moving;
            bits ^ moved | moved >> shift
        });
        bits << self.place
    }

    #[inline]
    fn spread(&self, key: u64) -> u64 {
        let moves = self.moves.iter().take(self.count).rev();
        let bits =
            moves.fold(key >> self.place, |bits, (moving, shift)| bits & !moving | bits << shift & moving);
        bits & self.pressed
    }
}

/// Sorts `keys`, u64 numbers, by `bits` bits from bit `low` on. The bits below `low` are in order already, or are the index of an item.
/// `other` is scratch memory of the same length.
fn sort_keys(keys: &mut [u64], other: &mut [u64], low: u32, bits: u32) {
    let places = &mut [0; 1 << DIGIT_BITS];
    if keys.len() <= CACHED_MAX || bits <= FIRST_DIGIT_BITS {
        return sort_cached(keys, other, low, bits, places);
    }
    // One pass through memory sorts by the first digit. Then each range of keys with the same first digit is sorted on its own; mostly it
    // is small enough for the CPU cache.
    let below = low + bits - FIRST_DIGIT_BITS;
    scatter(keys, other, below, FIRST_DIGIT_BITS, places);
    let mut start = 0;
    while start < keys.len() {
        let digit = other[start] >> below;
        let end = start + other[start..].partition_point(|key| *key >> below == digit);
        let (from, to) = (&mut other[start..end], &mut keys[start..end]);
        sort_cached(from, to, low, below - low, places);
        to.copy_from_slice(from);
        start = end;
    }
}

/// Sorts `keys` like [`sort_keys`], but all at once, which is fast if they fit into the CPU cache: digit by digit, the last first. Keys
/// that are equal in the `bits` bits keep their order, or are ordered by the bits below.
fn sort_cached(keys: &mut [u64], other: &mut [u64], low: u32, bits: u32, places: &mut Places) {
    // The fewer the keys, the shorter the digits, because each pass also visits all possible values of a digit.
    let passes = bits.div_ceil(keys.len().max(1).ilog2().clamp(1, DIGIT_BITS));
    if keys.len() < COUNTED_MIN && passes > PASSES_MAX {
        return keys.sort_unstable();
    }
    let digit_bits = bits.div_ceil(passes.max(1));
    let (mut from, mut to) = (&mut *keys, &mut *other);
    for pass in 0..passes {
        scatter(from, to, low + pass * digit_bits, digit_bits, places);
        (from, to) = (to, from);
    }
    if passes % 2 == 1 {
        keys.copy_from_slice(other);
    }
}

/// For each value of a digit, the position where the next key with this digit goes. All passes use the same memory.
type Places = [u32; 1 << DIGIT_BITS];

/// Moves the keys of `from` to `to`, sorted by one digit: `digit_bits` bits from bit `shift` on. Keys with equal digits keep their order.
fn scatter(from: &[u64], to: &mut [u64], shift: u32, digit_bits: u32, places: &mut Places) {
    let mask = (1_usize << digit_bits) - 1;
    let digit = |key: u64| (key >> shift) as usize & mask;
    let places = &mut places[..=mask];
    places.fill(0);
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
