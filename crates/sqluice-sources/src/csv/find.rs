//! Finds the few bytes that matter among the many that don't, 64 at a time.
//!
//! memchr starts anew at every hit, which is wasted on fields of a few bytes. Here 64 bytes become one word of 64 bits,
//! set where a byte is one of the needles, and the hits are read off its bits:
//!
//! ```text
//!  bytes   7,"Oslo, N",,x\n        needles  , " \n
//!  mask    .##....#..####.#
//! ```

use super::mask::mask;

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
            Some(block) => mask(block, self.needles),
            None => {
                let (block, bits) = short(rest);
                mask(&block, self.needles) & bits
            }
        }
    }
}

/// A block of fewer bytes, and the bits of those.
pub(super) fn short(bytes: &[u8]) -> ([u8; 64], u64) {
    let mut block = [0; 64];
    block[..bytes.len()].copy_from_slice(bytes);
    (block, !(u64::MAX << bytes.len()))
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
    use super::Finder;
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
