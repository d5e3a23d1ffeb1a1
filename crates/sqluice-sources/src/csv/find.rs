//! Finds needles, the few bytes with a special meaning, in blocks of 64 bytes.
//!
//! memchr starts anew at every hit, which is slow for fields of a few bytes. Here, a block becomes a mask of 64 bits. A bit is
//! set if its byte is one of the needles, and the hits are read off the bits:
//!
//! ```text
//!  bytes   7,"Oslo, N",,x\n        needles  , " \n
//!  mask    .##....#..###.#
//! ```

use crate::needles::{Masks, masks, short};

/// The number of blocks whose masks are made at once.
pub(super) const BLOCKS: usize = 16;

/// An iterator over the positions of `N` needles.
pub(super) struct Finder<'a, const N: usize> {
    data: &'a [u8],
    needles: [u8; N],
    /// The start of the current block.
    block: usize,
    /// The hits of the current block that are left.
    mask: u64,
    /// The hits of `needles[0]` in the current block.
    first: u64,
    /// The masks of `made` blocks, of which the first `read` are used up.
    masks: [Masks; BLOCKS],
    read: usize,
    made: usize,
    /// The start of the first block that has no mask in `masks` yet.
    next: usize,
}

impl<'a, const N: usize> Finder<'a, N> {
    /// Returns a finder that begins at byte `from` of `data`. Positions count from the start of `data`.
    pub(super) fn new(data: &'a [u8], from: usize, needles: [u8; N]) -> Finder<'a, N> {
        let masks = [Masks::default(); BLOCKS];
        Finder { data, needles, block: from, mask: 0, first: 0, masks, read: 0, made: 0, next: from }
    }

    /// Goes on to the next block with a hit, and returns `false` if no block has one. A separate function keeps `next` small enough to be
    /// inlined.
    #[inline]
    fn refill(&mut self) -> bool {
        while self.mask == 0 {
            if self.read == self.made && !self.make() {
                return false;
            }
            self.block = self.next - 64 * (self.made - self.read);
            Masks { all: self.mask, first: self.first } = self.masks[self.read];
            self.read += 1;
        }
        true
    }

    /// Makes the masks of the blocks from `self.next` on, and returns `false` at the end of the data. The last block may be short.
    #[inline(never)]
    fn make(&mut self) -> bool {
        let rest = &self.data[self.next.min(self.data.len())..];
        let (blocks, end) = rest.as_chunks();
        self.read = 0;
        self.made = blocks.len().min(BLOCKS);
        masks(blocks, self.needles, &mut self.masks);
        if blocks.is_empty() && !end.is_empty() {
            let (block, bits) = short(end);
            masks(&[block], self.needles, &mut self.masks);
            self.masks[0].all &= bits;
            self.masks[0].first &= bits;
            self.made = 1;
        }
        self.next += 64 * self.made;
        self.made > 0
    }

    /// Passes the hits of `needles[0]` that precede the next hit of another needle, within one block. Returns the start of the block
    /// and the bits of the passed hits, if any.
    #[inline(always)]
    pub(super) fn pass_first(&mut self) -> Option<(usize, u64)> {
        if self.mask == 0 && !self.refill() {
            return None;
        }
        let others = self.mask & !self.first;
        // The bits below the lowest hit of another needle.
        let passed = self.mask & others.wrapping_sub(1) & !others;
        self.mask ^= passed;
        (passed != 0).then_some((self.block, passed))
    }
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
    fn a_finder_finds_each_byte_value_and_no_other() {
        let data: Vec<u8> = (0..=255).chain(0..=255).collect();
        for needle in 0..=255 {
            let found: Vec<usize> = Finder::new(&data, 0, [needle]).collect();
            assert_eq!(found, [usize::from(needle), usize::from(needle) + 256]);
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn a_finder_finds_the_positions_that_a_loop_over_bytes_finds(
            data in prop::collection::vec(prop_oneof![Just(b','), Just(b'"'), Just(b'\n'), any::<u8>()], 0..300),
            from in 0..300usize,
            needles: [u8; 2],
        ) {
            let from = from.min(data.len());
            let needles = [b',', b'"', needles[0], needles[1]];
            let slow: Vec<usize> = (from..data.len()).filter(|&at| needles.contains(&data[at])).collect();
            prop_assert_eq!(&Finder::new(&data, from, needles).collect::<Vec<_>>(), &slow);

            let mut finder = Finder::new(&data, from, needles);
            let mut found = Vec::new();
            loop {
                while let Some((block, bits)) = finder.pass_first() {
                    found.extend((0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| block + bit));
                    prop_assert!(found.iter().rev().take(bits.count_ones() as usize).all(|&at| data[at] == b','));
                }
                let Some(other) = finder.next() else { break };
                prop_assert_ne!(data[other], b',');
                found.push(other);
            }
            prop_assert_eq!(found, slow);
        }
    }
}
