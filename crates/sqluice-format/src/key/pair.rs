//! Records of two integers or NULLs as single numbers. Nearly every entry of an index on an integer has this form, with the rowid as the
//! second integer.
//!
//! ```text
//!  record        03 02 01 | 03 e8 | 2a                  the integers 1000 and 42
//!  pair          80000000000003e8 800000000000002a      two halves of 64 bits
//!  short pair    000003e9 0000002b                      two halves of 32 bits
//! ```
//!
//! In a pair, NULL is 0, and an integer is itself plus 2^63. In a short pair, NULL is 0, and an integer from 0 to 2^32 - 2 is itself plus
//! 1. The halves of descending columns are inverted.

use super::decodable::DECODED_ROOM;
use super::{KeyOrder, columns};
use crate::value::{FIXED_BYTES, SerialType};

/// The half of a pair for NULL. `i64::MIN` plus 2^63 is 0, too, so a record with `i64::MIN` is no pair.
pub const PAIRED_NULL: u64 = 0;

/// Returns the half of a pair for an integer. The result [`PAIRED_NULL`] means that the integer has no half.
#[inline]
pub fn paired_int(int: i64) -> u64 {
    (int ^ i64::MIN) as u64
}

/// Converts a half of a pair to a half of a short pair. The half has no short form if the result is 2^32 or more.
#[inline]
pub fn short_half(half: u64) -> u64 {
    // Negative integers become far too large.
    if half == PAIRED_NULL { 0 } else { (half ^ 1 << 63).saturating_add(1) }
}

impl KeyOrder {
    /// Returns `true` if records of integers and NULL can be pairs: the key must have two columns.
    pub fn has_pairs(&self) -> bool {
        self.columns().len() == 2
    }

    /// Combines the halves for two values to a pair: one number that sorts like the records of these values.
    #[inline]
    pub fn pair(&self, halves: [u64; 2]) -> u128 {
        self.inverted_pair(u128::from(halves[0]) << 64 | u128::from(halves[1]))
    }

    /// Inverts the halves of descending columns; a second call restores them.
    #[inline]
    fn inverted_pair(&self, pair: u128) -> u128 {
        let [first, second] = self.columns() else { return pair };
        let mask = |descending: bool| u64::from(descending).wrapping_neg();
        pair ^ (u128::from(mask(first.descending)) << 64 | u128::from(mask(second.descending)))
    }

    /// Combines two halves of a short pair ([`short_half`]) to a number that sorts like the records.
    #[inline]
    pub fn short_pair(&self, halves: [u64; 2]) -> u64 {
        (halves[0] << 32 | halves[1]) ^ self.short_inverted()
    }

    /// Returns the short form of a pair, if the pair has one.
    #[inline]
    pub fn short_of_pair(&self, pair: u128) -> Option<u64> {
        let pair = self.inverted_pair(pair);
        let halves = [(pair >> 64) as u64, pair as u64].map(short_half);
        ((halves[0] | halves[1]) <= u64::from(u32::MAX)).then(|| self.short_pair(halves))
    }

    /// Returns the pair for a short pair.
    #[inline]
    pub fn pair_of_short(&self, short: u64) -> u128 {
        let short = short ^ self.short_inverted();
        let half = |short: u64| if short == 0 { PAIRED_NULL } else { short + i64::MAX as u64 };
        self.pair([half(short >> 32), half(short & u64::from(u32::MAX))])
    }

    /// Returns a mask of the bits of a short pair that are inverted.
    #[inline]
    fn short_inverted(&self) -> u64 {
        let [first, second] = self.columns() else { return 0 };
        let mask = |descending: bool| u64::from(u32::from(descending).wrapping_neg());
        mask(first.descending) << 32 | mask(second.descending)
    }

    /// Returns the pair for a record, if the record consists of two integers or NULLs, each stored in as few bytes as possible and none of
    /// them `i64::MIN`.
    #[inline]
    pub fn pair_of(&self, record: &[u8]) -> Option<u128> {
        let [3, first, second, ..] = *record else { return None };
        if !self.has_pairs() {
            return None;
        }
        let mut end = 3;
        let halves = [half_of(record, first, &mut end)?, half_of(record, second, &mut end)?];
        (record.len() == end).then(|| self.pair(halves))
    }

    /// Decodes a pair to its record and returns the length of the record. The bytes after the record are arbitrary.
    #[inline]
    pub fn decode_pair(&self, pair: u128, record: &mut [u8; DECODED_ROOM]) -> usize {
        let pair = self.inverted_pair(pair);
        let mut end = 3;
        record[0] = 3;
        for (column, half) in [(pair >> 64) as u64, pair as u64].into_iter().enumerate() {
            record[1 + column] = push_half(half, record, &mut end);
        }
        end
    }
}

/// Returns the half of a pair for a value of a record. The value has this serial type and begins at `end`, which moves to its end. Returns
/// `None` unless the value is NULL or an integer other than `i64::MIN`, stored in as few bytes as possible.
#[inline]
pub(super) fn half_of(record: &[u8], serial: u8, end: &mut usize) -> Option<u64> {
    if serial > 9 || serial == SerialType::REAL.0 as u8 {
        return None;
    }
    let start = *end;
    *end += usize::from(FIXED_BYTES[usize::from(serial)]);
    let int = match serial {
        0 => return Some(PAIRED_NULL),
        8 | 9 => i64::from(serial) - 8,
        _ if *end > record.len() => return None,
        _ => columns::int(record, start, *end),
    };
    let is_as_always = SerialType::of_int(int).0 == u64::from(serial) && int != i64::MIN;
    is_as_always.then(|| paired_int(int))
}

/// Appends the value of a half to a record that ends at `end`. Returns the serial type.
#[inline]
pub(super) fn push_half(half: u64, record: &mut [u8; DECODED_ROOM], end: &mut usize) -> u8 {
    let int = half as i64 ^ i64::MIN;
    let serial = if half == PAIRED_NULL { 0 } else { SerialType::of_int(int).0 as u8 };
    let bytes = FIXED_BYTES[usize::from(serial)];
    let word = int.wrapping_shl(64 - 8 * u32::from(bytes));
    record[*end..*end + 8].copy_from_slice(&word.to_be_bytes());
    *end += usize::from(bytes);
    serial
}
