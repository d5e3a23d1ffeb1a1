//! Converts between the 128-bit words of keys and their 64-bit halves. The sorter stores a key as a list of 1 to 4 halves; the high half of
//! a word comes first.

/// The size of a half in bytes.
pub(in crate::sort) const HALF_BYTES: usize = size_of::<u64>();

/// The largest number of halves of a key.
pub(in crate::sort) const HALVES_MAX: usize = 4;

/// Joins two halves to one word.
#[inline]
pub(in crate::sort) fn word([high, low]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Splits a word into its two halves.
#[inline]
pub(in crate::sort) fn halves(word: u128) -> [u64; 2] {
    [(word >> 64) as u64, word as u64]
}

/// Returns the first word of a key: its first two halves. If the key has a single half, this becomes the low half of the word.
#[inline]
pub(in crate::sort) fn first_word(key: &[u64]) -> u128 {
    match *key {
        [high, low, ..] => word([high, low]),
        [half] => u128::from(half),
        [] => 0,
    }
}
