//! Keys as 64-bit numbers, which are the halves of 128-bit words.

/// The size of a half in bytes.
pub(in crate::sort) const HALF_BYTES: usize = size_of::<u64>();

/// The largest number of halves of a key.
pub(in crate::sort) const HALVES_MAX: usize = 4;

/// Returns two halves as one word.
#[inline]
pub(in crate::sort) fn word([high, low]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Returns a word as its two halves.
#[inline]
pub(in crate::sort) fn halves(word: u128) -> [u64; 2] {
    [(word >> 64) as u64, word as u64]
}

/// Returns the first word of a key, or a key of one half as a word.
#[inline]
pub(in crate::sort) fn first_word(key: &[u64]) -> u128 {
    match *key {
        [high, low, ..] => word([high, low]),
        [half] => u128::from(half),
        [] => 0,
    }
}
