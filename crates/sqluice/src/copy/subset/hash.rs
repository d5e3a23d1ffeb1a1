//! The hash of a row's key, which decides if the row is in a sample.
//!
//! The hash depends on the seed, and on the storage class and the bytes of each value of the key. So samples of one percentage from two
//! tables agree on the keys that both tables have. Two lanes of SplitMix64 make 128 bits: different keys do not get equal hashes in
//! practice.

use sqluice_core::batch::Value;
use sqluice_core::splitmix::{STEP, mix};

/// The hash of the values that were added so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHash([u64; 2]);

impl KeyHash {
    /// Begins the hash of a key.
    pub(super) fn new(seed: u64) -> KeyHash {
        KeyHash([mix(seed.wrapping_add(STEP)), mix(seed.rotate_left(32) ^ STEP.wrapping_mul(3))])
    }

    /// Adds a value of the key.
    pub(super) fn add(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.word(0),
            Value::Int(int) => {
                self.word(1);
                self.word(int.cast_unsigned());
            }
            Value::Real(real) => {
                self.word(2);
                self.word(real.to_bits());
            }
            Value::Text(text) => self.bytes(3, text),
            Value::Blob(blob) => self.bytes(4, blob),
        }
    }

    fn bytes(&mut self, class: u64, bytes: &[u8]) {
        self.word(class | (bytes.len() as u64) << 8);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn word(&mut self, word: u64) {
        let [one, other] = &mut self.0;
        *one = mix((*one ^ word).wrapping_add(STEP));
        *other = mix((*other ^ word.rotate_left(29)).wrapping_mul(STEP).wrapping_add(1));
    }

    /// Returns the hash.
    pub(super) fn finish(self) -> u128 {
        let [one, other] = self.0;
        u128::from(mix(one.wrapping_add(other))) << 64 | u128::from(mix(other.wrapping_add(STEP)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn hash(seed: u64, values: &[Value<'_>]) -> u128 {
        let mut hash = KeyHash::new(seed);
        values.iter().for_each(|value| hash.add(*value));
        hash.finish()
    }

    #[test]
    fn keys_of_different_types_lengths_and_seeds_have_different_hashes() {
        let texts: Vec<Vec<u8>> = (0..20).map(|length| vec![0; length]).collect();
        let mut all: Vec<u128> = (-1000..1000).map(|int| hash(1, &[Value::Int(int)])).collect();
        all.extend((-1000..1000).map(|real| hash(1, &[Value::Real(f64::from(real))])));
        all.extend(texts.iter().map(|text| hash(1, &[Value::Text(text)])));
        all.extend(texts.iter().map(|text| hash(1, &[Value::Blob(text)])));
        all.extend([hash(1, &[Value::Null]), hash(1, &[Value::Null, Value::Null])]);
        all.extend([hash(1, &[Value::Int(1), Value::Int(2)]), hash(1, &[Value::Int(2), Value::Int(1)])]);
        all.extend((2..1000).map(|seed| hash(seed, &[Value::Int(5)])));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn the_share_of_hashes_below_a_limit_is_proportional_to_the_limit() {
        for seed in [0, 1, 7, u64::MAX] {
            for percent in [1u128, 10, 50] {
                let limit = u128::MAX / 100 * percent;
                let below = (0..100_000).filter(|int| hash(seed, &[Value::Int(*int)]) < limit).count() as f64;
                let expected = 1000.0 * percent as f64;
                assert!((below - expected).abs() < 5.0 * expected.sqrt(), "{seed} {percent}: {below}");
            }
        }
    }
}
