//! Sums of sets of index entries: two sums are equal if the same entries went into both, in any order.
//!
//! ```text
//!  value ──> 64 bits ──┐
//!  value ──> 64 bits ──┴──> entry: 128 bits ──> + ──> Sum        a row of the table and an entry of the index
//!                                                                give the same hash if they agree
//! ```
//!
//! An integer and the float that equals it count as one value: SQLite stores some numbers in either form. The hash detects accidents, not
//! forgeries: two different sets of entries have equal sums once in about 2^64 files.

use crate::value::Value;

/// Odd numbers from the fractional digits of e and pi: arbitrary bits without a pattern.
const KEYS: [u64; 8] = [
    0xb7e1_5162_8aed_2a6b,
    0xbf71_5880_9cf4_f3c7,
    0x62e7_160f_38b4_da57,
    0xa784_d904_5190_cfef,
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7345,
    0xa409_3822_299f_31d1,
    0x082e_fa98_ec4e_6c89,
];

/// The number of entries so far and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) entries: u64,
    total: u128,
    /// `true` if not all entries could be computed.
    pub(super) is_unknown: bool,
}

/// The hash of an index entry, built value by value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry([u64; 2]);

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Returns the hash of a value.
#[inline]
pub(super) fn value(value: Value<'_>) -> u64 {
    match value {
        Value::Null => NULL,
        Value::Int(value) => int(value),
        Value::Real(value) => real(value),
        Value::Text(value) => text(value, 0),
        Value::Blob(value) => blob(value, 0),
    }
}

/// The hash of NULL.
pub(super) const NULL: u64 = KEYS[0];

/// Returns the hash of an integer.
#[inline]
pub(super) fn int(value: i64) -> u64 {
    fold(value as u64 ^ KEYS[1], KEYS[2])
}

/// Returns the hash of a float.
#[inline]
pub(super) fn real(value: f64) -> u64 {
    match whole(value) {
        Some(value) => int(value),
        None => fold(value.to_bits() ^ KEYS[3], KEYS[4]),
    }
}

/// Returns the hash of the text in `record` from byte `at` to the end.
#[inline]
pub(super) fn text(record: &[u8], at: usize) -> u64 {
    bytes(record, at, KEYS[5])
}

/// Returns the hash of the blob in `record` from byte `at` to the end.
#[inline]
pub(super) fn blob(record: &[u8], at: usize) -> u64 {
    bytes(record, at, KEYS[6])
}

/// Returns the integer that equals `real`, if any.
fn whole(real: f64) -> Option<i64> {
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&real);
    (in_range && real.trunc() == real).then_some(real as i64)
}

/// Returns the hash of the bytes from `at` on. Earlier bytes do not count; they only let the last word be loaded at once.
#[inline]
fn bytes(record: &[u8], at: usize, key: u64) -> u64 {
    let bytes = &record[at..];
    let mut hash = key ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = fold(hash ^ u64::from_be_bytes(*word), key.rotate_left(32));
    }
    // The length is already in the hash, so the last word may be padded with anything, here with zeros.
    let rest = match record.last_chunk() {
        Some(word) => u64::from_be_bytes(*word) & ((1 << (8 * rest.len())) - 1),
        None => rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    fold(hash ^ rest, KEYS[7])
}

impl Entry {
    /// The hash of an entry without values.
    pub(super) const EMPTY: Entry = Entry([KEYS[0], KEYS[3]]);

    /// Adds the hash of the entry's next value.
    #[inline]
    pub(super) fn push(&mut self, value: u64) {
        let [a, b] = self.0;
        self.0 = [fold(a ^ value, KEYS[5]), fold(b.wrapping_add(value), KEYS[7])];
    }

    /// Returns all bits of the hash.
    #[inline]
    pub(super) fn bits(self) -> u128 {
        u128::from(self.0[0]) << 64 | u128::from(self.0[1])
    }
}

impl Sum {
    /// Adds the hash of an entry to the sum.
    #[inline]
    pub(super) fn add(&mut self, entry: Entry) {
        self.entries += 1;
        self.total = self.total.wrapping_add(entry.bits());
    }

    /// Adds all entries of another sum.
    pub(super) fn add_all(&mut self, other: Sum) {
        self.entries += other.entries;
        self.total = self.total.wrapping_add(other.total);
        self.is_unknown |= other.is_unknown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_integer_and_the_equal_float_have_the_same_hash() {
        for (int, real) in [
            (0, 0.0),
            (0, -0.0),
            (5, 5.0),
            (-7, -7.0),
            (1 << 60, (1u64 << 60) as f64),
            (i64::MIN, i64::MIN as f64),
        ] {
            assert_eq!(value(Value::Int(int)), value(Value::Real(real)), "{int}");
        }
        let long = [b'x'; 40];
        let texts = (0..40).map(|n| Value::Text(&long[..n]));
        let blobs = (0..40).map(|n| Value::Blob(&long[..n]));
        let zeros = (1..40).map(|n| Value::Blob(&[0; 40][..n]));
        let numbers =
            [0.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, 9_223_372_036_854_775_808.0].map(Value::Real);
        let ints = [i64::MAX, i64::MIN, 0, 1, -1, 255, 256].map(Value::Int);
        let all = texts.chain(blobs).chain(zeros).chain(numbers).chain(ints).chain([Value::Null]);
        let mut hashes: Vec<u64> = all.map(value).collect();
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }

    #[test]
    fn a_changed_bit_of_a_text_changes_the_hash() {
        let mut text = [0x55; 37];
        let mut hashes = vec![value(Value::Text(&text))];
        for bit in 0..text.len() * 8 {
            text[bit / 8] ^= 1 << (bit % 8);
            hashes.push(value(Value::Text(&text)));
            text[bit / 8] ^= 1 << (bit % 8);
        }
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }

    #[test]
    fn swapping_values_between_entries_changes_the_digest_and_reordering_entries_does_not() {
        let sum = |entries: &[[i64; 2]]| {
            let mut sum = Sum::default();
            for values in entries {
                let mut entry = Entry::EMPTY;
                values.iter().for_each(|&int| entry.push(value(Value::Int(int))));
                sum.add(entry);
            }
            sum
        };
        let sums = [[[1, 2], [3, 4]], [[2, 1], [3, 4]], [[3, 2], [1, 4]], [[1, 4], [3, 2]], [[1, 2], [1, 2]]];
        let sums = sums.map(|entries| sum(&entries));
        assert!(sums[0] != sums[1] && sums[0] != sums[2] && sums[0] != sums[4]);
        assert_eq!(sums[2], sums[3]);
    }
}
