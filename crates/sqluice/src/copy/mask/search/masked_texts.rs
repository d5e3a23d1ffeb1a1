//! The set of the distinct texts in masked columns. It stores only hashes of the texts.
//!
//! If there are more texts than fit, the set keeps the texts whose hashes begin with some zero bits: a sample of all texts.
//!
//! Invariant: the kept texts depend on the texts and the limit alone, not on the order in which threads add them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::profile::hash_bytes;

/// The number of shards of the set. Each shard has its own lock.
const SHARDS: usize = 64;

/// The maximum number of texts of a set.
const TEXTS_MAX: usize = 4_000_000;

/// The maximum number of bytes of memory that a text of the set takes.
const TEXT_BYTES: u64 = 48;

/// The minimum number of characters of a text in the set: shorter texts are equal by chance.
const CHARACTERS_MIN: usize = 6;

/// A hasher for keys that are hashes already.
#[derive(Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash_bytes(bytes, self.0);
    }

    fn write_u64(&mut self, hash: u64) {
        // A map uses the first and the last bits. They are alike within a shard: the last bits of a hash choose the shard, and the first
        // bits the sample. So the middle of the hash is moved to both ends.
        self.0 = hash.rotate_right(32);
    }
}

/// A map from the hash of a text to the first masked column that has the text.
type Shard = HashMap<u64, u16, BuildHasherDefault<Hashed>>;

/// The distinct texts of masked columns.
pub(super) struct MaskedTexts {
    shards: Vec<Mutex<Shard>>,
    count: AtomicUsize,
    /// The number of zero bits with which the hashes of the kept texts begin.
    bits: AtomicU32,
    texts_max: usize,
    thinning: Mutex<()>,
}

/// Returns the hash of a text, or `None` if the text is too short to be looked for.
pub(super) fn hash_of(text: &[u8]) -> Option<u64> {
    let is_character = |byte: &&u8| **byte & 0xc0 != 0x80;
    let is_long = text.len() >= CHARACTERS_MIN
        && (text.len() >= 4 * CHARACTERS_MIN || text.iter().filter(is_character).count() >= CHARACTERS_MIN);
    is_long.then(|| hash_bytes(text, 0))
}

impl MaskedTexts {
    /// Creates an empty set that takes at most this memory.
    pub(super) fn new(memory_bytes: u64) -> MaskedTexts {
        let fitting = usize::try_from(memory_bytes / TEXT_BYTES).unwrap_or(usize::MAX);
        MaskedTexts::of_at_most(fitting.clamp(1, TEXTS_MAX))
    }

    fn of_at_most(texts_max: usize) -> MaskedTexts {
        MaskedTexts {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            count: AtomicUsize::new(0),
            bits: AtomicU32::new(0),
            texts_max,
            thinning: Mutex::default(),
        }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        self.shards[hash as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the text of a masked column. If several columns have the text, the set keeps the first.
    pub(super) fn add(&self, hash: u64, column: u16) {
        let is_outside = || hash.leading_zeros() < self.bits.load(Ordering::Relaxed);
        if is_outside() {
            return;
        }
        let mut shard = self.shard(hash);
        // Check again under the lock: another thread may have thinned the set out meanwhile.
        if is_outside() {
            return;
        }
        let mut is_new = false;
        let kept = shard.entry(hash).or_insert_with(|| {
            is_new = true;
            column
        });
        *kept = column.min(*kept);
        let is_full = is_new && self.count.fetch_add(1, Ordering::Relaxed) >= self.texts_max;
        drop(shard);
        if is_full {
            self.thin();
        }
    }

    /// Removes half of the texts, repeatedly, until the set has at most `texts_max`.
    fn thin(&self) {
        let _one_at_a_time = self.thinning.lock().unwrap_or_else(PoisonError::into_inner);
        while self.count.load(Ordering::Relaxed) > self.texts_max {
            let bits = self.bits.fetch_add(1, Ordering::Relaxed) + 1;
            for shard in &self.shards {
                let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
                let before = shard.len();
                shard.retain(|hash, _| hash.leading_zeros() >= bits);
                self.count.fetch_sub(before - shard.len(), Ordering::Relaxed);
            }
        }
    }

    /// Returns the set for searches.
    pub(super) fn finish(self) -> KnownTexts {
        let (bits, is_empty) = (self.bits.into_inner(), self.count.into_inner() == 0);
        let shards = self.shards.into_iter();
        let shards = shards.map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        KnownTexts { shards, bits, one_of: 1 << bits, is_empty }
    }
}

/// The complete set of the texts of masked columns, or a sample of them.
pub(super) struct KnownTexts {
    shards: Vec<Shard>,
    bits: u32,
    /// The set has one in `one_of` of all texts; 1 if it has all texts.
    pub(super) one_of: u64,
    is_empty: bool,
}

impl KnownTexts {
    /// Returns the first masked column that has the text with this hash, as its index in the search's list; `None` if the set does not have
    /// the text.
    pub(super) fn column_of(&self, hash: u64) -> Option<u16> {
        if self.is_empty || hash.leading_zeros() < self.bits {
            return None;
        }
        self.shards[hash as usize % SHARDS].get(&hash).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_of_masked_texts_keeps_the_same_sample_in_any_order_of_insertion() {
        let texts: Vec<Vec<u8>> = (0..5000).map(|n| format!("name {n}").into_bytes()).collect();
        let kept = |texts_max: usize, is_reversed: bool| {
            let set = MaskedTexts::of_at_most(texts_max);
            let mut order: Vec<usize> = (0..texts.len()).collect();
            if is_reversed {
                order.reverse();
            }
            order.into_iter().for_each(|n| set.add(hash_of(&texts[n]).unwrap(), (n % 3) as u16));
            let known = set.finish();
            let kept: Vec<usize> = (0..texts.len())
                .filter(|n| known.column_of(hash_of(&texts[*n]).unwrap()).is_some())
                .collect();
            (known.one_of, kept)
        };
        let (one_of, all) = kept(5000, false);
        assert_eq!((one_of, all.len()), (1, 5000));
        let (one_of, sample) = kept(1000, false);
        assert!(one_of > 1 && (300..=1000).contains(&sample.len()), "{one_of}: {}", sample.len());
        assert_eq!(kept(1000, true), (one_of, sample));
    }

    #[test]
    fn masked_texts_of_fewer_than_six_characters_are_not_searched_for() {
        assert!(hash_of("äöüßé".as_bytes()).is_none() && hash_of(b"five5").is_none());
        assert!(hash_of("äöüßéè".as_bytes()).is_some() && hash_of(b"sixsix").is_some());
    }
}
