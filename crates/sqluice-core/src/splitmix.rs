//! SplitMix64: random numbers in a few instructions, the same on every machine ([Steele, Lea, Flood
//! 2014](https://doi.org/10.1145/2714064.2660195)). The numbers are not for secrets.

/// The step of the sequence: 2⁶⁴ divided by the golden ratio, which is odd.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Maps `x` by a bijection in which each bit of the result depends on all bits of `x`.
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns number `index`, counted from 0, of the sequence that begins at seed 0.
#[inline]
pub const fn nth(index: u64) -> u64 {
    mix(index.wrapping_add(1).wrapping_mul(STEP))
}

/// The sequence that begins at a seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// Returns the next number.
    #[inline]
    #[allow(
        clippy::should_implement_trait,
        reason = "the sequence does not end, so there is nothing to unwrap"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Returns a number from 0 to `end`, which is excluded and must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns `true` once in `n` times, on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of some values.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns a number from 0 to 1, which is excluded.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_random_numbers_of_the_reference_implementation() {
        let mut random = SplitMix64(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next(), random.next(), random.next()], expected);
        let mut from_zero = SplitMix64(0);
        assert!((0..9).all(|index| nth(index) == from_zero.next()));
    }
}
