//! Keyed permutations of the numbers below a count, and of strings of symbols, each of which has its own alphabet.
//!
//! ```text
//!  number   = left * columns + right            symbols  | left half | right half |
//!  rounds:    left  += F(round, right)          rounds:    each symbol of the left  += F(round, right half, its place)
//!             right += F(round, left)                      each symbol of the right += F(round, left half, its place)
//! ```
//!
//! `left` and `right` are the row and the column of the number in a rectangle with `columns` columns. This is a Feistel network with
//! addition instead of exclusive or, so the halves need not be powers of two. The rectangle has a few more cells than there are numbers: a
//! result that is not below the count is permuted again (cycle walking).
//!
//! Invariant: different inputs give different outputs, of the same count or alphabets.

use sqluice_core::splitmix::mix;

use super::siphash::SipKey;
use crate::random::{Key, below32, below64};

/// The number of rounds for each half. Two would suffice for large counts; the others are for small ones.
const ROUNDS: u64 = 4;

/// The number of values that are permuted in parallel, in a vector register.
pub(super) const LANES: usize = 4;

/// A symbol: its number in its alphabet, and the size of the alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) number: u32,
    pub(super) of: u32,
}

/// The numbers below a count, arranged in a rectangle whose last row may be incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rectangle {
    count: u64,
    rows: u64,
    columns: u64,
    /// The bits by which the permutations of different counts differ. They lie above the bits of a half and of a round.
    tweak: u64,
}

impl Rectangle {
    /// Creates the rectangle of a count, which is at least 1.
    pub(super) fn new(count: u64) -> Rectangle {
        let rows = ceil_root(count);
        Rectangle { count, rows, columns: count.div_ceil(rows), tweak: mix(count) << 36 }
    }
}

/// A keyed permutation of numbers or symbols.
#[derive(Clone, Copy)]
pub(super) struct Permutation(SipKey);

impl Permutation {
    pub(super) fn new(key: SipKey) -> Permutation {
        Permutation(key)
    }

    /// Returns the number below a count that `number` maps to.
    pub(super) fn number(self, number: u64, of: &Rectangle) -> u64 {
        self.numbers([number], [of])[0]
    }

    /// Returns the numbers that `numbers` map to, each below its own count. Several numbers take little longer than one.
    #[inline]
    pub(super) fn numbers<const LANES: usize>(
        self,
        numbers: [u64; LANES],
        of: [&Rectangle; LANES],
    ) -> [u64; LANES] {
        let mut placed = self.once(numbers, of);
        for lane in 0..LANES {
            while placed[lane] >= of[lane].count {
                placed[lane] = self.once([placed[lane]], [of[lane]])[0];
            }
        }
        placed
    }

    #[inline(always)]
    fn once<const LANES: usize>(self, numbers: [u64; LANES], of: [&Rectangle; LANES]) -> [u64; LANES] {
        use std::array::from_fn;
        let (rows, columns, tweak) = (of.map(|of| of.rows), of.map(|of| of.columns), of.map(|of| of.tweak));
        let mut left: [u64; LANES] = from_fn(|lane| numbers[lane] / columns[lane]);
        let mut right: [u64; LANES] = from_fn(|lane| numbers[lane] % columns[lane]);
        for round in 0..ROUNDS {
            let [even, odd] = [2 * round, 2 * round + 1].map(|round| round << 32);
            // Halves are below 2^32, since they are about the square root of the count.
            let hash: [u64; LANES] = self.0.hash_words(from_fn(|lane| tweak[lane] | even | right[lane]));
            left = from_fn(|lane| add(left[lane], below64(hash[lane], rows[lane]), rows[lane]));
            let hash: [u64; LANES] = self.0.hash_words(from_fn(|lane| tweak[lane] | odd | left[lane]));
            right = from_fn(|lane| add(right[lane], below64(hash[lane], columns[lane]), columns[lane]));
        }
        from_fn(|lane| left[lane] * columns[lane] + right[lane])
    }

    /// Replaces the numbers of letters in place; their alphabets have 10, 26 or 256 letters. `known` caches the rectangle of a count.
    pub(super) fn letters(self, numbers: &mut [u8], alphabets: &[u16], known: &mut Option<Rectangle>) {
        let count = alphabets.iter().try_fold(1_u64, |count, of| count.checked_mul((*of).into()));
        let Some(count) = count.filter(|count| *count < 1 << 62) else {
            return self.halves_of_letters(numbers, alphabets);
        };
        let of = match known {
            Some(of) if of.count == count => *of,
            _ => *known.insert(Rectangle::new(count)),
        };
        let number = numbers
            .iter()
            .zip(alphabets)
            .fold(0, |all, (number, of)| all * u64::from(*of) + u64::from(*number));
        let mut placed = self.number(number, &of);
        for (number, of) in numbers.iter_mut().zip(alphabets).rev() {
            // Division by a constant compiles to a multiplication.
            let (rest, digit) = match of {
                10 => (placed / 10, placed % 10),
                26 => (placed / 26, placed % 26),
                of => (placed / u64::from(*of), placed % u64::from(*of)),
            };
            (placed, *number) = (rest, digit as u8);
        }
    }

    fn halves_of_letters(self, numbers: &mut [u8], alphabets: &[u16]) {
        let length = (numbers.len() as u64) << 8;
        let middle = numbers.len() / 2;
        let (left, right) = numbers.split_at_mut(middle);
        let (of_left, of_right) = alphabets.split_at(middle);
        let add_all = |letters: &mut [u8], of: &[u16], stream: u64| {
            let stream = Key::of_word(stream);
            for (place, (two, of)) in letters.chunks_mut(2).zip(of.chunks(2)).enumerate() {
                let word = stream.word(place as u64);
                for (half, (letter, of)) in
                    [word as u32, (word >> 32) as u32].into_iter().zip(two.iter_mut().zip(of))
                {
                    let sum = u32::from(*letter) + below32(half, (*of).into());
                    *letter = (if sum >= u32::from(*of) { sum - u32::from(*of) } else { sum }) as u8;
                }
            }
        };
        for round in 0..ROUNDS {
            add_all(left, of_left, self.0.hash_after(length | (2 * round), right));
            add_all(right, of_right, self.0.hash_after(length | (2 * round + 1), left));
        }
    }

    /// Replaces symbols in place.
    pub(super) fn symbols(self, symbols: &mut [Symbol]) {
        let count = symbols.iter().try_fold(1_u64, |count, symbol| count.checked_mul(symbol.of.into()));
        match count.filter(|count| *count < 1 << 62) {
            Some(count) => {
                let number = symbols
                    .iter()
                    .fold(0, |all, Symbol { number, of }| all * u64::from(*of) + u64::from(*number));
                let mut placed = self.number(number, &Rectangle::new(count));
                for Symbol { number, of } in symbols.iter_mut().rev() {
                    *number = (placed % u64::from(*of)) as u32;
                    placed /= u64::from(*of);
                }
            }
            None => self.halves(symbols),
        }
    }

    fn halves(self, symbols: &mut [Symbol]) {
        let length = (symbols.len() as u64) << 8;
        let (left, right) = symbols.split_at_mut(symbols.len() / 2);
        for round in 0..ROUNDS {
            add_stream(left, self.hash_of(right, length | (2 * round)));
            add_stream(right, self.hash_of(left, length | (2 * round + 1)));
        }
    }

    fn hash_of(self, symbols: &[Symbol], first: u64) -> Key {
        let bytes: Vec<u8> = symbols.iter().flat_map(|symbol| symbol.number.to_le_bytes()).collect();
        Key::of_word(self.0.hash_after(first, &bytes))
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

/// Returns the smallest number whose square is at least `count`.
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
    fn different_numbers_map_to_different_numbers_below_the_count() {
        for count in (1..70).chain([100, 1000, 4096, 4097, 9000]) {
            let mut seen: Vec<u64> =
                (0..count).map(|number| permutation(1).number(number, &Rectangle::new(count))).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..count), "{count}");
        }
        for count in [u64::MAX, (1 << 63) + 1, 9 * 10_u64.pow(18), u64::from(u32::MAX)] {
            let numbers = (0..2000).chain(count - 2000..count);
            let mut seen: Vec<u64> =
                numbers.map(|number| permutation(2).number(number, &Rectangle::new(count))).collect();
            assert!(seen.iter().all(|number| *number < count));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 4000, "{count}");
        }
    }

    #[test]
    fn the_results_of_neighbouring_numbers_are_independent() {
        for count in [10_u64, 100, 26 * 26 * 26] {
            let mut pairs = [0; 25];
            for secret in 0..200 {
                let fifth = |number| permutation(secret).number(number, &Rectangle::new(count)) * 5 / count;
                (0..count.min(100)).step_by(2).for_each(|number| {
                    pairs[(fifth(number) * 5 + fifth(number + 1)) as usize] += 1;
                });
            }
            // Two numbers in the same fifth are less likely if the count is small.
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
    fn permuted_symbols_keep_their_alphabets_and_stay_different() {
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

    #[test]
    fn permuted_letters_keep_their_alphabets_and_stay_different() {
        for length in [0, 1, 2, 5, 13, 14, 31] {
            let alphabets: Vec<u16> = (0..length).map(|at| [26, 10, 26, 256][at % 4]).collect();
            let mut seen = Vec::new();
            for number in 0..400_usize {
                let mut rest = number;
                let mut letters: Vec<u8> = alphabets
                    .iter()
                    .map(|of| {
                        let letter = (rest % usize::from(*of)) as u8;
                        rest /= usize::from(*of);
                        letter
                    })
                    .collect();
                if rest > 0 {
                    break;
                }
                permutation(4).letters(&mut letters, &alphabets, &mut None);
                assert!(letters.iter().zip(&alphabets).all(|(letter, of)| u16::from(*letter) < *of));
                seen.push(letters);
            }
            let count = seen.len();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), count, "{length} letters");
        }
    }

    #[test]
    fn numbers_permuted_in_parallel_give_the_results_of_single_numbers() {
        let of = [3, 1000, 1 << 31, u64::MAX].map(Rectangle::new);
        for number in 0..2000 {
            let numbers = of.map(|of| number % of.count);
            let alone = [0, 1, 2, 3].map(|at| permutation(5).number(numbers[at], &of[at]));
            assert_eq!(permutation(5).numbers(numbers, of.each_ref()), alone);
        }
    }
}
