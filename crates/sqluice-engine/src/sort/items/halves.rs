//! Keys as numbers of 64 bits: the halves of words of 128.

/// Keys are made of numbers of 64 bits.
pub(in crate::sort) const HALF_BYTES: usize = size_of::<u64>();

/// The most that a key has.
pub(in crate::sort) const HALVES_MAX: usize = 4;

/// Two halves as one number.
#[inline]
pub(in crate::sort) fn word([high, low]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// A number as its halves.
#[inline]
pub(in crate::sort) fn halves(word: u128) -> [u64; 2] {
    [(word >> 64) as u64, word as u64]
}

/// What a key of any form begins with, or all of it.
#[inline]
pub(in crate::sort) fn first_word(key: &[u64]) -> u128 {
    match *key {
        [high, low, ..] => word([high, low]),
        [half] => u128::from(half),
        [] => 0,
    }
}
