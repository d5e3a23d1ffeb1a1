//! SipHash-2-4, a keyed hash that is fast for short values ([paper](https://www.aumasson.jp/siphash/siphash.pdf)).
//!
//! ```text
//!  k0, k1 ──> v0 v1 v2 v3 ──┬── word ── 2 rounds ──┬── ... ──┬── length and rest ── 2 rounds ── 4 rounds ──> 64 bits
//!                           └───── v3 ^=, v0 ^= ───┘         └─
//! ```
//!
//! Without the 128 bits of the key, its results can't be distinguished from random numbers: no dictionary of values finds what they
//! become.

/// A key.
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

    /// The hash of bytes.
    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        let mut state = State::new(self);
        let mut words = bytes.chunks_exact(8);
        for eight in &mut words {
            state.take(word(eight));
        }
        let mut last = [0; 8];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        state.finish(u64::from_le_bytes(last) | (bytes.len() as u64) << 56)
    }

    /// The hash of the bytes of some words, the lowest byte of each first.
    #[inline]
    pub(super) fn hash_words<const N: usize>(self, words: [u64; N]) -> u64 {
        let mut state = State::new(self);
        words.into_iter().for_each(|word| state.take(word));
        state.finish((8 * N as u64) << 56)
    }
}

fn word(eight: &[u8]) -> u64 {
    eight.try_into().map_or(0, u64::from_le_bytes)
}

struct State([u64; 4]);

impl State {
    #[inline(always)]
    fn new(SipKey { k0, k1 }: SipKey) -> State {
        State([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    #[inline(always)]
    fn round(&mut self) {
        let [mut v0, mut v1, mut v2, mut v3] = self.0;
        v0 = v0.wrapping_add(v1);
        v2 = v2.wrapping_add(v3);
        v1 = v1.rotate_left(13) ^ v0;
        v3 = v3.rotate_left(16) ^ v2;
        v0 = v0.rotate_left(32).wrapping_add(v3);
        v2 = v2.wrapping_add(v1);
        v3 = v3.rotate_left(21) ^ v0;
        v1 = v1.rotate_left(17) ^ v2;
        v2 = v2.rotate_left(32);
        self.0 = [v0, v1, v2, v3];
    }

    #[inline(always)]
    fn take(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    #[inline(always)]
    fn finish(mut self, last: u64) -> u64 {
        self.take(last);
        self.0[2] ^= 0xff;
        (0..4).for_each(|_| self.round());
        let [v0, v1, v2, v3] = self.0;
        v0 ^ v1 ^ v2 ^ v3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(deprecated, reason = "the standard library has SipHash-2-4 under this name")]
    fn it_is_the_siphash_of_the_standard_library() {
        use std::hash::{Hasher, SipHasher};
        let mut bytes = Vec::new();
        for length in 0..200_u8 {
            for key in [[0; 16], [255; 16], std::array::from_fn(|at| (at as u8).wrapping_mul(length))] {
                let SipKey { k0, k1 } = SipKey::new(key);
                let mut expected = SipHasher::new_with_keys(k0, k1);
                expected.write(&bytes);
                assert_eq!(SipKey::new(key).hash(&bytes), expected.finish(), "{length} bytes");
                if let Some(words) = bytes.first_chunk::<24>().filter(|_| length == 24) {
                    let of = |at: usize| word(&words[8 * at..][..8]);
                    assert_eq!(SipKey::new(key).hash_words([of(0), of(1), of(2)]), expected.finish());
                }
            }
            bytes.push(length.wrapping_mul(37));
        }
    }
}
