//! Keyed permutations: of the numbers below a count, and of symbols that each have an alphabet of their own.
//!
//! ```text
//!  number   = left * columns + right            symbols  | left half | right half |
//!  rounds:    left  += F(round, right)          rounds:    each symbol of the left  += F(round, right half, its place)
//!             right += F(round, left)                      each symbol of the right += F(round, left half, its place)
//! ```
//!
//! This is a Feistel network with addition instead of exclusive or, so halves need not be powers of two. A rectangle of numbers that is
//! a little larger than the count leads some beyond it: these are sent through again (cycle walking).
//!
//! Invariant: different inputs give different outputs, of the same count or alphabets.

use sqluice_core::splitmix::mix;

use super::siphash::SipKey;
use crate::random::{Key, below64};

/// Rounds of each half: with four in all, halves of any size are mixed; the others are for small counts.
const ROUNDS: u64 = 4;

/// Symbols whose numbers the halves of a short text have at most.
const HASHED_BYTES: usize = 256;

/// A symbol of an alphabet: its number there, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) number: u32,
    pub(super) of: u32,
}

/// A keyed permutation.
#[derive(Clone, Copy)]
pub(super) struct Permutation(SipKey);

impl Permutation {
    pub(super) fn new(key: SipKey) -> Permutation {
        Permutation(key)
    }

    /// Where a number below `count` goes.
    pub(super) fn number(self, number: u64, count: u64) -> u64 {
        if count < 2 {
            return number;
        }
        let rows = ceil_root(count);
        let columns = count.div_ceil(rows);
        let tweak = tweak(count);
        let mut walked = number;
        loop {
            let (mut left, mut right) = (walked / columns, walked % columns);
            for round in 0..ROUNDS {
                let [even, odd] = [2 * round, 2 * round + 1].map(|round| tweak | round << 32);
                // Halves are below 2^32, as their alphabets are roots of the count.
                left = add(left, below64(self.0.hash_words([even | right]), rows), rows);
                right = add(right, below64(self.0.hash_words([odd | left]), columns), columns);
            }
            // At most the largest number and `columns` more, which is a root of it.
            walked = left.wrapping_mul(columns).wrapping_add(right);
            if left <= (count - 1) / columns && walked < count {
                return walked;
            }
        }
    }

    /// Replaces symbols, in place.
    pub(super) fn symbols(self, symbols: &mut [Symbol]) {
        let count = symbols.iter().try_fold(1_u64, |count, symbol| count.checked_mul(symbol.of.into()));
        match count.filter(|count| *count < 1 << 62) {
            Some(count) => {
                let number = symbols
                    .iter()
                    .fold(0, |all, Symbol { number, of }| all * u64::from(*of) + u64::from(*number));
                let mut placed = self.number(number, count);
                for Symbol { number, of } in symbols.iter_mut().rev() {
                    *number = (placed % u64::from(*of)) as u32;
                    placed /= u64::from(*of);
                }
            }
            None => self.halves(symbols),
        }
    }

    fn halves(self, symbols: &mut [Symbol]) {
        let length = symbols.len() as u64;
        let (left, right) = symbols.split_at_mut(symbols.len() / 2);
        for round in 0..ROUNDS {
            add_stream(left, self.hash_of(right, 2 * round, length));
            add_stream(right, self.hash_of(left, 2 * round + 1, length));
        }
    }

    fn hash_of(self, symbols: &[Symbol], round: u64, length: u64) -> Key {
        let mut short = [0; HASHED_BYTES];
        let mut long = Vec::new();
        let bytes = match 16 + 4 * symbols.len() {
            bytes @ ..=HASHED_BYTES => &mut short[..bytes],
            bytes => {
                long.resize(bytes, 0);
                &mut long[..]
            }
        };
        bytes[..8].copy_from_slice(&round.to_le_bytes());
        bytes[8..16].copy_from_slice(&length.to_le_bytes());
        let mut end = 16;
        for Symbol { number, of } in symbols {
            // How many bytes follows from the alphabets, which do not change.
            let width = if *of <= 256 { 1 } else { 4 };
            bytes[end..end + width].copy_from_slice(&number.to_le_bytes()[..width]);
            end += width;
        }
        Key::of_word(self.0.hash(&bytes[..end]))
    }
}

fn add_stream(symbols: &mut [Symbol], stream: Key) {
    for (place, Symbol { number, of }) in symbols.iter_mut().enumerate() {
        let (now, of) = (u64::from(*number), u64::from(*of));
        *number = add(now, below64(stream.word(place as u64), of), of) as u32;
    }
}

#[inline(always)]
fn add(a: u64, b: u64, below: u64) -> u64 {
    let room = below - a;
    if b >= room { b - room } else { a + b }
}

/// Bits above those of a half and of a round, which differ from count to count.
fn tweak(count: u64) -> u64 {
    mix(count) << 36
}

/// The smallest number whose square is at least `count`.
fn ceil_root(count: u64) -> u64 {
    let root = count.isqrt();
    root + u64::from(root * root < count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::key::MaskKey;
    use crate::random::tests::assert_fits;

    fn permutation(secret: u8) -> Permutation {
        Permutation::new(MaskKey::new([secret; 16]).unwrap().derived("test"))
    }

    #[test]
    fn each_number_is_the_place_of_one() {
        for count in (1..70).chain([100, 1000, 4096, 4097, 9000]) {
            let mut seen: Vec<u64> = (0..count).map(|number| permutation(1).number(number, count)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..count), "{count}");
        }
        for count in [u64::MAX, (1 << 63) + 1, 9 * 10_u64.pow(18), u64::from(u32::MAX)] {
            let numbers = (0..2000).chain(count - 2000..count);
            let mut seen: Vec<u64> = numbers.map(|number| permutation(2).number(number, count)).collect();
            assert!(seen.iter().all(|number| *number < count));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 4000, "{count}");
        }
    }

    #[test]
    fn neighbours_go_to_places_that_have_nothing_to_do_with_each_other() {
        for count in [10_u64, 100, 26 * 26 * 26] {
            let mut pairs = [0; 25];
            for secret in 0..200 {
                let fifth = |number| permutation(secret).number(number, count) * 5 / count;
                (0..count.min(100)).step_by(2).for_each(|number| {
                    pairs[(fifth(number) * 5 + fifth(number + 1)) as usize] += 1;
                });
            }
            // Two of the same fifth are rarer in a small count.
            let fifth = count as f64 / 5.0;
            let (same, other) =
                ((fifth - 1.0) / (count as f64 - 1.0) / 5.0, fifth / (count as f64 - 1.0) / 5.0);
            let expected: Vec<f64> =
                (0..25).map(|pair| if pair / 5 == pair % 5 { same } else { other }).collect();
            if count.is_multiple_of(5) {
                assert_fits(&pairs, &expected);
            }
        }
    }

    #[test]
    fn symbols_stay_in_their_alphabets_and_differ_where_they_did() {
        for alphabets in [&[10][..], &[2, 3], &[26, 26, 10], &[10; 40], &[20992; 12], &[64, 26, 10, 300, 2]] {
            let mut seen = Vec::new();
            for number in 0..600_u32 {
                let mut rest = number;
                let digit = |of: &u32| {
                    let symbol = Symbol { number: rest % of, of: *of };
                    rest /= of;
                    symbol
                };
                let mut symbols: Vec<Symbol> = alphabets.iter().map(digit).collect();
                if rest > 0 {
                    break;
                }
                permutation(3).symbols(&mut symbols);
                assert!(
                    symbols.iter().zip(alphabets).all(|(symbol, of)| symbol.number < *of && symbol.of == *of)
                );
                seen.push(symbols.iter().map(|symbol| symbol.number).collect::<Vec<_>>());
            }
            let count = seen.len();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), count, "{alphabets:?}");
        }
    }
}
