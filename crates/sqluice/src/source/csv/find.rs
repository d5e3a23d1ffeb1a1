//! Finds the few bytes that matter among the many that don't, sixteen at a time.
//!
//! memchr starts anew at every hit, which is wasted on fields of a few bytes. Here 64 bytes become one word of 64 bits,
//! set where a byte is one of the needles, and the hits are read off its bits:
//!
//! ```text
//!  bytes   7,"Oslo, N",,x\n        needles  , " \n
//!  mask    .##....#..####.#
//! ```
//!

/// An iterator over the positions of `N` kinds of bytes.
pub(super) struct Finder<'a, const N: usize> {
    data: &'a [u8],
    needles: [u8; N],
    /// Where the block that `mask` stands for begins.
    block: usize,
    mask: u64,
    /// Where the next block begins.
    next: usize,
}

impl<'a, const N: usize> Finder<'a, N> {
    /// Begins at byte `from` of `data`; positions count from the start of `data`.
    pub(super) fn new(data: &'a [u8], from: usize, needles: [u8; N]) -> Finder<'a, N> {
        Finder { data, needles, block: from, mask: 0, next: from }
    }

    /// Goes on to the next block with a hit, if there is one. Apart from `next`, which is small enough to be inlined then.
    #[inline]
    fn refill(&mut self) -> bool {
        while self.mask == 0 {
            if self.next >= self.data.len() {
                return false;
            }
            self.block = self.next;
            self.mask = self.mask();
            self.next += 64;
        }
        true
    }

    /// The bits of the block at `self.next`; the last one may be short.
    #[inline]
    fn mask(&self) -> u64 {
        let rest = &self.data[self.next..];
        match rest.first_chunk() {
            Some(block) => self.mask_of(block),
            None => {
                let mut block = [0; 64];
                block[..rest.len()].copy_from_slice(rest);
                self.mask_of(&block) & !(u64::MAX << rest.len())
            }
        }
    }

    #[inline]
    fn mask_of(&self, block: &[u8; 64]) -> u64 {
        let mut mask = 0;
        for (index, bytes) in block.as_chunks().0.iter().enumerate() {
            mask |= u64::from(any_equal(bytes, &self.needles)) << (index * 16);
        }
        mask
    }
}

/// A bit for each byte that is one of `needles`.
///
/// SSE2 makes the whole of `load` 10% faster than [`any_equal_portable`], its twin (`bench/load`, TPC-H lineitem).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn any_equal<const N: usize>(bytes: &[u8; 16], needles: &[u8; N]) -> u16 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_setzero_si128,
    };
    let word = u128::from_le_bytes(*bytes);
    // SAFETY: SSE2 is a part of x86_64, and these instructions ask for nothing else.
    unsafe {
        // Compiled to one load.
        let bytes = _mm_set_epi64x((word >> 64) as i64, word as i64);
        let mut equal = _mm_setzero_si128();
        for &needle in needles {
            equal = _mm_or_si128(equal, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(needle.cast_signed())));
        }
        _mm_movemask_epi8(equal) as u16
    }
}

#[cfg(not(target_arch = "x86_64"))]
use any_equal_portable as any_equal;

/// The same by arithmetic on whole words, for any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn any_equal_portable<const N: usize>(bytes: &[u8; 16], needles: &[u8; N]) -> u16 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let eight = |word: u64| {
        // The top bit of each byte stays clear only where the byte equals a needle. No carry leaves a byte.
        let mut differs = u64::MAX;
        for &needle in needles {
            let difference = word ^ (u64::from(needle) * 0x0101_0101_0101_0101);
            differs &= ((difference & LOW) + LOW) | difference;
        }
        let equal = (!differs & !LOW) >> 7;
        // Gathers the lowest bit of every byte in the top byte.
        equal.wrapping_mul(0x0102_0408_1020_4080) >> 56
    };
    let word = u128::from_le_bytes(*bytes);
    (eight(word as u64) | eight((word >> 64) as u64) << 8) as u16
}

impl<const N: usize> Iterator for Finder<'_, N> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.mask == 0 && !self.refill() {
            return None;
        }
        let at = self.block + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Finder, any_equal, any_equal_portable};
    use proptest::prelude::*;

    #[test]
    fn every_byte_value_is_found_and_nothing_else() {
        let data: Vec<u8> = (0..=255).chain(0..=255).collect();
        for needle in 0..=255 {
            let found: Vec<usize> = Finder::new(&data, 0, [needle]).collect();
            assert_eq!(found, [usize::from(needle), usize::from(needle) + 256]);
        }
    }

    proptest! {
        #[test]
        fn both_ways_to_compare_sixteen_bytes_agree(bytes: [u8; 16], needles: [u8; 3], at in 0..16usize) {
            let mut bytes = bytes;
            bytes[at] = needles[1];
            prop_assert_eq!(any_equal(&bytes, &needles), any_equal_portable(&bytes, &needles));
        }

        #[test]
        fn positions_equal_those_of_a_loop_over_bytes(
            data in prop::collection::vec(prop_oneof![Just(b','), Just(b'"'), Just(b'\n'), any::<u8>()], 0..300),
            from in 0..300usize,
            needles: [u8; 2],
        ) {
            let from = from.min(data.len());
            let needles = [b',', b'"', needles[0], needles[1]];
            let slow: Vec<usize> = (from..data.len()).filter(|&at| needles.contains(&data[at])).collect();
            prop_assert_eq!(Finder::new(&data, from, needles).collect::<Vec<_>>(), slow);
        }
    }
}
