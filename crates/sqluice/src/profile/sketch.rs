//! Counts the occurrences of values in bounded memory: only a share of the different values is counted, chosen by hash.
//!
//! ```text
//!  hashes     0 ─────────────┬───────────────────────────────── 2^64
//!             │ all counted  │ ignored
//!             └── up to `last`, which is halved when more than VALUES_MAX values are counted
//! ```
//!
//! Up to [`VALUES_MAX`] different values are all counted exactly. If there are more, a random share of the values is counted: the number of
//! different values is estimated to within 1.2%, and the counts are a sample of all counts.
//!
//! Invariant: the result depends only on the values, not on their order or the number of threads. The range of hashes is the largest share
//! 2^-k that holds at most [`VALUES_MAX`] different values, and no value within the range is ever discarded.

use sqluice_core::splitmix::{STEP, mix};

/// The maximum number of different values that are counted.
const VALUES_MAX: usize = 1 << 14;

/// The hash that marks a free slot.
const FREE: u64 = 0;

/// The counts of a share of the different values.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// The hashes and counts, with at least twice as many slots as values.
    slots: Vec<(u64, u64)>,
    used: usize,
    /// The last hash that is counted: 2^64 / 2^k - 1.
    last: u64,
}

impl Counts {
    pub(super) fn new() -> Counts {
        Counts { slots: vec![(FREE, 0); 64], used: 0, last: u64::MAX }
    }

    /// Counts a value, which is given by its hash.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        if hash <= self.last {
            self.add_many(hash, 1);
        }
    }

    fn add_many(&mut self, hash: u64, count: u64) {
        if hash > self.last {
            return;
        }
        // The hash `FREE` is counted as another hash, which affects one value in 2^64.
        let hash = if hash == FREE { 1 } else { hash };
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.0 == hash {
                slot.1 += count;
                return;
            }
            if slot.0 == FREE {
                *slot = (hash, count);
                break;
            }
            at = (at + 1) & mask;
        }
        self.used += 1;
        if self.used > VALUES_MAX {
            self.last /= 2;
            self.rebuild(self.slots.len());
        } else if 2 * self.used > self.slots.len() {
            self.rebuild(2 * self.slots.len());
        }
    }

    /// Moves the counts of hashes within the range to a table of `slots` slots.
    fn rebuild(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, vec![(FREE, 0); slots]);
        self.used = 0;
        for (hash, count) in old.into_iter().filter(|(hash, _)| *hash != FREE) {
            self.add_many(hash, count);
        }
    }

    /// Adds the counts of another thread.
    pub(super) fn merge(&mut self, other: &Counts) {
        if other.last < self.last {
            self.last = other.last;
            self.rebuild(self.slots.len());
        }
        for (hash, count) in other.slots.iter().filter(|(hash, _)| *hash != FREE) {
            self.add_many(*hash, *count);
        }
    }

    /// Returns `true` if all values were counted.
    pub(super) fn is_exact(&self) -> bool {
        self.last == u64::MAX
    }

    /// Returns the number of different values of the column for each value that was counted: 1 if all were counted.
    pub(super) fn each_stands_for(&self) -> f64 {
        2f64.powi(self.last.leading_zeros() as i32)
    }

    /// Returns the number of different values; an estimate unless all values were counted.
    pub(super) fn different(&self) -> f64 {
        self.used as f64 * self.each_stands_for()
    }

    /// Returns the number of rows with a value, or `None` if the value was not counted.
    pub(super) fn of(&self, hash: u64) -> Option<u64> {
        let hash = if hash == FREE { 1 } else { hash };
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].0 != FREE {
            if self.slots[at].0 == hash {
                return Some(self.slots[at].1);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Returns the counts, in ascending order.
    pub(super) fn counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> =
            self.slots.iter().filter(|(hash, _)| *hash != FREE).map(|(_, count)| *count).collect();
        counts.sort_unstable();
        counts
    }
}

/// Returns the hash of an integer.
#[inline]
pub(super) fn hash_int(int: i64) -> u64 {
    mix((int as u64).wrapping_add(STEP))
}

/// Returns the hash of a real, which is the hash of the equal integer, if any.
#[inline]
pub(super) fn hash_real(real: f64) -> u64 {
    let int = real as i64;
    // 2^63 is no 64-bit integer: `as` saturates it to a different number.
    if int as f64 == real && int != i64::MAX { hash_int(int) } else { mix(real.to_bits() ^ STEP) }
}

/// Returns the hash of a text or a blob. Because of `kind`, a text and a blob with the same bytes have different hashes.
#[inline]
pub(crate) fn hash_bytes(bytes: &[u8], kind: u64) -> u64 {
    let mut state = mix(bytes.len() as u64 ^ (kind << 56));
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = folded(state ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(folded(state ^ u64::from_le_bytes(last)))
}

/// Multiplies a word by a constant, and returns the XOR of both halves of the product.
#[inline]
fn folded(word: u64) -> u64 {
    let product = u128::from(word ^ STEP) * u128::from(0xd6e8_feb8_6659_fd93_u64);
    (product >> 64) as u64 ^ product as u64
}

/// Returns the hash of a pair of hashes.
#[inline]
pub(super) fn hash_pair(first: u64, second: u64) -> u64 {
    mix(first.rotate_left(23) ^ second.wrapping_mul(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: impl Iterator<Item = i64>) -> Counts {
        let mut counts = Counts::new();
        values.for_each(|value| counts.add(hash_int(value)));
        counts
    }

    #[test]
    fn few_different_values_are_counted_exactly_and_many_within_5_percent() {
        let few = counted((0..100_000).map(|row| row % 1000));
        assert!(few.is_exact());
        assert_eq!((few.different(), few.of(hash_int(7)), few.of(hash_int(1000))), (1000.0, Some(100), None));
        for different in [20_000, 100_000, 1_000_000] {
            let many = counted((0..2 * different).map(|row| row % different));
            assert!(
                (many.different() / different as f64 - 1.0).abs() < 0.05,
                "{different}: {}",
                many.different()
            );
            assert!(many.counts().iter().all(|count| *count == 2));
        }
    }

    #[test]
    fn the_estimated_counts_of_values_do_not_depend_on_order_or_threads() {
        let all = counted((0..90_000).map(|row| row * row % 50_021));
        let mut halves = counted((45_000..90_000).rev().map(|row| row * row % 50_021));
        halves.merge(&counted((0..45_000).map(|row| row * row % 50_021)));
        assert_eq!((all.last, all.counts()), (halves.last, halves.counts()));
    }

    #[test]
    fn equal_numbers_have_equal_hashes_and_different_texts_have_different_hashes() {
        assert_eq!(hash_int(5), hash_real(5.0));
        assert_ne!(hash_real(0.5), hash_int(0));
        assert_ne!(hash_real(9_223_372_036_854_775_808.0), hash_int(i64::MAX));
        let texts: [&[u8]; 6] = [b"", b"a", b"a\0", b"abcdefgh", b"abcdefgh\0", b"abcdefghi"];
        for (at, one) in texts.iter().enumerate() {
            assert!(texts[..at].iter().all(|other| hash_bytes(one, 0) != hash_bytes(other, 0)));
            assert_ne!(hash_bytes(one, 0), hash_bytes(one, 1));
        }
    }
}
