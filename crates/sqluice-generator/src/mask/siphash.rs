//! SipHash-2-4, a keyed hash that is fast for short values ([paper](https://www.aumasson.jp/siphash/siphash.pdf)).
//!
//! ```text
//!  k0, k1 ──> v0, v1, v2, v3
//!  each word of 8 bytes, then a last word: the remaining bytes, and the length in the high byte:     v3 ^= word, 2 rounds, v0 ^= word
//!  the end:     v2 ^= 255, 4 rounds ──> v0 ^ v1 ^ v2 ^ v3
//! ```
//!
//! Without the 128 bits of the key, the results can't be distinguished from random numbers: a dictionary of values does not help to
//! find the old values.

/// The 128 bits of a key, as two words.
#[derive(Clone, Copy)]
pub(crate) struct SipKey {
    k0: u64,
    k1: u64,
}

impl SipKey {
    pub(crate) fn new(bytes: [u8; 16]) -> SipKey {
        let [k0, k1] = [&bytes[..8], &bytes[8..]].map(word);
        SipKey { k0, k1 }
    }

    /// Returns the hash of `bytes`.
    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        State::new(self).take_all(bytes, 0)[0]
    }

    /// Returns the hash of the eight bytes of `first`, followed by `bytes`.
    #[inline]
    pub(super) fn hash_after(self, first: u64, bytes: &[u8]) -> u64 {
        let mut state = State::new(self);
        state.take([first]);
        state.take_all(bytes, 8)[0]
    }

    /// Returns the hash of each word's bytes, in little-endian order. Several words take little longer than one.
    #[inline(always)]
    pub(super) fn hash_words<const LANES: usize>(self, words: [u64; LANES]) -> [u64; LANES] {
        let mut state = State::new(self);
        state.take(words);
        state.finish([8 << 56; LANES])
    }
}

fn word(eight: &[u8]) -> u64 {
    eight.try_into().map_or(0, u64::from_le_bytes)
}

/// The state of several hashes that are computed in parallel.
struct State<const LANES: usize>([[u64; LANES]; 4]);

impl State<1> {
    /// Adds the last bytes and returns the hash. `before` is the number of bytes that were added earlier.
    #[inline(always)]
    fn take_all(mut self, bytes: &[u8], before: usize) -> [u64; 1] {
        let mut words = bytes.chunks_exact(8);
        for eight in &mut words {
            self.take([word(eight)]);
        }
        let mut last = [0; 8];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.finish([u64::from_le_bytes(last) | ((before + bytes.len()) as u64) << 56])
    }
}

impl<const LANES: usize> State<LANES> {
    #[inline(always)]
    fn new(SipKey { k0, k1 }: SipKey) -> State<LANES> {
        State([
            [k0 ^ 0x736f_6d65_7073_6575; LANES],
            [k1 ^ 0x646f_7261_6e64_6f6d; LANES],
            [k0 ^ 0x6c79_6765_6e65_7261; LANES],
            [k1 ^ 0x7465_6462_7974_6573; LANES],
        ])
    }

    #[inline(always)]
    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.0;
        for lane in 0..LANES {
            v0[lane] = v0[lane].wrapping_add(v1[lane]);
            v2[lane] = v2[lane].wrapping_add(v3[lane]);
            v1[lane] = v1[lane].rotate_left(13) ^ v0[lane];
            v3[lane] = v3[lane].rotate_left(16) ^ v2[lane];
            v0[lane] = v0[lane].rotate_left(32).wrapping_add(v3[lane]);
            v2[lane] = v2[lane].wrapping_add(v1[lane]);
            v3[lane] = v3[lane].rotate_left(21) ^ v0[lane];
            v1[lane] = v1[lane].rotate_left(17) ^ v2[lane];
            v2[lane] = v2[lane].rotate_left(32);
        }
    }

    #[inline(always)]
    fn take(&mut self, words: [u64; LANES]) {
        (0..LANES).for_each(|lane| self.0[3][lane] ^= words[lane]);
        self.round();
        self.round();
        (0..LANES).for_each(|lane| self.0[0][lane] ^= words[lane]);
    }

    #[inline(always)]
    fn finish(mut self, last: [u64; LANES]) -> [u64; LANES] {
        self.take(last);
        (0..LANES).for_each(|lane| self.0[2][lane] ^= 0xff);
        (0..4).for_each(|_| self.round());
        let [v0, v1, v2, v3] = self.0;
        std::array::from_fn(|lane| v0[lane] ^ v1[lane] ^ v2[lane] ^ v3[lane])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(deprecated, reason = "the standard library has SipHash-2-4 under this name")]
    fn siphash_gives_the_hashes_of_the_standard_library() {
        use std::hash::{Hasher, SipHasher};
        let mut bytes = Vec::new();
        for length in 0..200_u8 {
            for key in [[0; 16], [255; 16], std::array::from_fn(|at| (at as u8).wrapping_mul(length))] {
                let SipKey { k0, k1 } = SipKey::new(key);
                let mut expected = SipHasher::new_with_keys(k0, k1);
                expected.write(&bytes);
                assert_eq!(SipKey::new(key).hash(&bytes), expected.finish(), "{length} bytes");
                if let Some(first) = bytes.first_chunk::<8>() {
                    let first = u64::from_le_bytes(*first);
                    assert_eq!(SipKey::new(key).hash_after(first, &bytes[8..]), expected.finish());
                    let lanes = SipKey::new(key).hash_words([first, 7, first]);
                    let of = |word: u64| SipKey::new(key).hash(&word.to_le_bytes());
                    assert_eq!(lanes, [of(first), of(7), of(first)]);
                }
            }
            bytes.push(length.wrapping_mul(37));
        }
    }
}
