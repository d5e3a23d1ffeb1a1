//! Counter-based random bits: word `i` of a stream is a function of the stream's key and `i` alone.
//!
//! ```text
//!  word(i) = fold(s, s ^ SECRET)   where s = key + i * STEP   and   fold(a, b) = low(a * b) ^ high(a * b)
//! ```
//!
//! This is wyrand with an explicit counter (one multiplication for each word; it passes BigCrush and PractRand). A key is
//! the hash of (seed, table, column), or the child of another key: streams are windows of one sequence of 2^64 words,
//! at unrelated positions.
//!
//! Invariant: a row's bits do not depend on which other rows are generated with it. [`Key::map32`] takes the bits of two
//! neighbours from one word, and can start and stop at any row.

use sqluice_core::splitmix::mix;

const STEP: u64 = 0x2d35_8dcc_aa6c_78a5;
const SECRET: u64 = 0x8bb8_4b93_962e_acc9;

/// The number of rows whose bits [`Key::map32`] generates before it turns them into values: two separate loops, so that the
/// second is vectorized.
const BLOCK: usize = 64;

/// The key of a stream of random words: the position at which the stream starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Key {
    /// Returns the key of a column. ASCII case of the names is ignored, as SQLite does.
    pub(crate) fn of_column(seed: u64, table: &str, column: &str) -> Key {
        let mut state = mix(seed ^ SECRET);
        for name in [table, column] {
            for byte in name.bytes() {
                state = mix(state.wrapping_add(STEP) ^ u64::from(byte.to_ascii_lowercase()));
            }
            // This value, which no byte has, separates the names: ("ab", "c") differs from ("a", "bc").
            state = mix(state.wrapping_add(STEP) ^ 0x100);
        }
        Key(state)
    }

    /// Returns the key of a stream that starts at `word`.
    pub(crate) fn of_word(word: u64) -> Key {
        Key(word)
    }

    /// Returns the key of the `index`th child of this key.
    pub(crate) fn child(self, index: u64) -> Key {
        Key(mix(self.0 ^ mix(index.wrapping_add(SECRET))))
    }

    /// Returns word `index` of the stream.
    #[inline(always)]
    pub(crate) fn word(self, index: u64) -> u64 {
        let state = self.0.wrapping_add(index.wrapping_mul(STEP));
        let product = u128::from(state) * u128::from(state ^ SECRET);
        (product >> 64) as u64 ^ product as u64
    }

    /// Returns the key of row `row`, for generators that need an unknown number of words for each row.
    pub(crate) fn row(self, row: u64) -> Key {
        Key(mix(self.word(row)))
    }

    /// Computes a value from 64 bits for each row from `first` on.
    #[inline(always)]
    pub(crate) fn map64<T>(self, first: u64, out: &mut [T], value: impl Fn(u64) -> T) {
        for (row, slot) in (first..).zip(out) {
            *slot = value(self.word(row));
        }
    }

    /// Computes a value from 32 bits for each row from `first` on.
    #[inline(always)]
    pub(crate) fn map32<T>(self, first: u64, out: &mut [T], value: impl Fn(u32) -> T) {
        // Two rows share a word. An odd first row takes the second half of its word.
        let alone = out.len().min((first % 2) as usize);
        let (head, out) = out.split_at_mut(alone);
        for slot in head {
            *slot = value((self.word(first / 2) >> 32) as u32);
        }
        let mut index = first.div_ceil(2);
        let mut blocks = out.chunks_exact_mut(BLOCK);
        for block in &mut blocks {
            let mut bits = [0; BLOCK];
            for pair in bits.chunks_exact_mut(2) {
                let word = self.word(index);
                (pair[0], pair[1]) = (word as u32, (word >> 32) as u32);
                index += 1;
            }
            for (slot, bits) in block.iter_mut().zip(bits) {
                *slot = value(bits);
            }
        }
        for pair in blocks.into_remainder().chunks_mut(2) {
            let word = self.word(index);
            pair[0] = value(word as u32);
            if let Some(slot) = pair.get_mut(1) {
                *slot = value((word >> 32) as u32);
            }
            index += 1;
        }
    }
}

/// Maps `bits` to one of `count` numbers of equal probability: the shares of the 64-bit range differ by one at most.
#[inline(always)]
pub(crate) fn below64(bits: u64, count: u64) -> u64 {
    ((u128::from(bits) * u128::from(count)) >> 64) as u64
}

/// Maps `bits` to one of `count` numbers of equal probability: the shares of the 32-bit range differ by one at most.
#[inline(always)]
pub(crate) fn below32(bits: u32, count: u32) -> u32 {
    ((u64::from(bits) * u64::from(count)) >> 32) as u32
}

/// Returns a real in `0.0..1.0` from 53 random bits.
#[inline(always)]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// The number of rounds of a [`Shuffle`].
const ROUNDS: usize = 6;

/// A random permutation of the numbers below `count`, computed without a list of them.
///
/// A Feistel network over the smallest even number of bits that holds `count` numbers. A result that is not below `count` is
/// permuted again (cycle walking), four times at most on average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    keys: [Key; ROUNDS],
    count: u64,
    /// The number of bits of half a number.
    bits: u32,
}

impl Shuffle {
    pub(crate) fn new(key: Key, count: u64) -> Shuffle {
        let bits = (64 - count.saturating_sub(1).leading_zeros()).max(2).div_ceil(2);
        Shuffle { keys: std::array::from_fn(|round| key.child(round as u64)), count, bits }
    }

    /// Returns the number that `index` maps to.
    pub(crate) fn place(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mask = (1_u64 << self.bits) - 1;
        let mut walked = index;
        loop {
            let (mut left, mut right) = (walked >> self.bits, walked & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (key.word(right) >> 32 & mask));
            }
            walked = left << self.bits | right;
            if walked < self.count {
                return walked;
            }
        }
    }
}

/// Returns the number that `index` maps to in the [`Shuffle`] with this key.
pub(crate) fn permute(key: Key, index: u64, count: u64) -> u64 {
    Shuffle::new(key, count).place(index)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the distance in standard deviations between the chi-square statistic of `seen` and its expectation if outcome `i` has
    /// probability `expected[i]` (Wilson and Hilferty's cube root). Beyond 4.75, p < 1e-6.
    pub(crate) fn deviations(seen: &[u64], expected: &[f64]) -> f64 {
        let total = seen.iter().sum::<u64>() as f64;
        let statistic: f64 = seen
            .iter()
            .zip(expected)
            .map(|(&seen, &share)| (seen as f64 - total * share).powi(2) / (total * share))
            .sum();
        let freedom = (seen.len() - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
    }

    #[track_caller]
    pub(crate) fn assert_fits(seen: &[u64], expected: &[f64]) {
        let deviations = deviations(seen, expected);
        assert!(deviations.abs() < 4.75, "{deviations} standard deviations off");
    }

    const ROWS: u64 = 1 << 20;

    #[test]
    fn every_byte_of_a_word_is_uniform_for_many_keys() {
        let even = [1.0 / 256.0; 256];
        for seed in 0..4 {
            let key = Key::of_column(seed, "t", "c");
            for byte in 0..8 {
                let mut seen = [0; 256];
                for row in 0..ROWS {
                    seen[(key.word(row) >> (8 * byte)) as usize & 255] += 1;
                }
                assert_fits(&seen, &even);
            }
        }
    }

    #[test]
    fn neighbouring_rows_columns_and_seeds_are_independent() {
        let even = [1.0 / 65536.0; 65536];
        let (a, b) = (Key::of_column(1, "t", "a"), Key::of_column(1, "t", "b"));
        let other_seed = Key::of_column(2, "t", "a");
        let pairs: [&dyn Fn(u64) -> (u64, u64); 5] = [
            &|row| (a.word(row), a.word(row + 1)),
            &|row| (a.word(row), a.word(row) >> 32),
            &|row| (a.word(row), b.word(row)),
            &|row| (a.word(row), other_seed.word(row)),
            &|row| (a.word(row), a.child(0).word(row)),
        ];
        for pair in pairs {
            let mut seen = vec![0; 65536];
            for row in 0..ROWS {
                let (x, y) = pair(row);
                seen[(x >> 24) as usize % 256 * 256 + (y >> 24) as usize % 256] += 1;
            }
            assert_fits(&seen, &even);
        }
    }

    #[test]
    fn the_check_of_distributions_fails_if_a_value_is_a_tenth_likelier() {
        let key = Key::of_column(1, "t", "c");
        let mut seen = [0; 100];
        for row in 0..ROWS {
            // The last value is a tenth likelier than the others.
            let value = below64(key.word(row), 1001).min(999) / 10;
            seen[value as usize] += 1;
        }
        seen[99] += seen[98] / 10;
        assert!(deviations(&seen, &[0.01; 100]).abs() > 4.75);
    }

    #[test]
    fn random_bits_of_a_row_are_the_same_for_any_range_of_rows() {
        let key = Key::of_column(7, "t", "c");
        let mut whole = vec![0; 1000];
        key.map32(0, &mut whole, |bits| bits);
        for (first, count) in [(0, 1), (1, 1), (1, 2), (3, 64), (64, 65), (63, 200), (999, 1), (500, 0)] {
            let mut some = vec![0; count];
            key.map32(first as u64, &mut some, |bits| bits);
            assert_eq!(some, whole[first..first + count], "{count} rows from {first}");
        }
    }

    #[test]
    fn a_permutation_has_every_number_once_in_random_order() {
        let key = Key::of_column(3, "t", "c");
        for count in [1, 2, 3, 4, 5, 16, 17, 1000, 4097] {
            let mut seen: Vec<u64> = (0..count).map(|index| permute(key, index, count)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..count), "{count}");
        }
        for count in [1 << 40, u64::MAX, (1 << 63) + 5] {
            let mut seen: Vec<u64> = (0..10_000).map(|index| permute(key, index, count)).collect();
            assert!(seen.iter().all(|&value| value < count));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 10_000);
        }
        // Places are uniform, and the places of neighbours are independent.
        let mut pairs = [0; 100];
        for seed in 0..100 {
            let key = Key::of_column(seed, "t", "c");
            let tenth = |index| permute(key, index, 1000) / 100;
            (0..1000)
                .step_by(2)
                .for_each(|index| pairs[(tenth(index) * 10 + tenth(index + 1)) as usize] += 1);
        }
        assert_fits(&pairs, &[0.01; 100]);
    }

    #[test]
    fn keys_differ_between_tables_and_columns_and_ignore_case() {
        assert_ne!(Key::of_column(0, "ab", "c"), Key::of_column(0, "a", "bc"));
        assert_ne!(Key::of_column(0, "a", "b"), Key::of_column(1, "a", "b"));
        assert_eq!(Key::of_column(0, "User", "ID"), Key::of_column(0, "user", "id"));
        let key = Key::of_column(0, "a", "b");
        assert_ne!(key.child(0), key.child(1));
        assert_ne!(key.child(0), key);
    }
}
