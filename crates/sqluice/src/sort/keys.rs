//! Normalized keys that tell their items, and are all that is held of them.

use super::item::Told;
use super::large_pages;
use super::order::{Cut, Order};
use super::radix::{self, SCRATCH_BYTES, Scratch};

/// Bytes of a word of a key.
pub(super) const WORD_BYTES: usize = size_of::<u128>();

/// Keys of so many words, 1 or 2, one after another. Shorter ones have zeros at the end.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) words: usize,
    list: Vec<u128>,
}

impl Keys {
    pub(super) fn new(words: usize) -> Keys {
        Keys { words, list: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len() / self.words
    }

    pub(super) fn as_words(&self) -> &[u128] {
        &self.list
    }

    /// The first and the last key.
    pub(super) fn ends(&self) -> Option<(&[u128], &[u128])> {
        Some((self.list.get(..self.words)?, self.list.get(self.list.len().checked_sub(self.words)?..)?))
    }

    #[inline]
    pub(super) fn push(&mut self, key: &[u128]) {
        debug_assert_eq!(key.len(), self.words);
        self.list.extend_from_slice(key);
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// What a key takes, with what sorting needs.
    pub(super) fn key_bytes(&self) -> usize {
        self.words * (WORD_BYTES + SCRATCH_BYTES)
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        WORD_BYTES * self.list.capacity()
    }

    /// Makes room for so many in all.
    pub(super) fn reserve(&mut self, keys: usize) {
        self.list.reserve_exact((self.words * keys).saturating_sub(self.list.len()));
        large_pages::advise(&mut self.list);
    }

    pub(super) fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    pub(super) fn sort(&mut self, scratch: &mut Scratch) {
        match self.words {
            1 => radix::sort_telling(self.list.as_chunks_mut::<1>().0, scratch),
            _ => radix::sort_telling(self.list.as_chunks_mut::<2>().0, scratch),
        }
    }

    /// The same keys in two words.
    pub(super) fn widened(&self) -> Keys {
        let list = self.list.chunks(self.words).flat_map(|key| [key[0], key.get(1).copied().unwrap_or(0)]);
        Keys { words: 2, list: list.collect() }
    }

    /// The words of the keys, which are in order, from one cut to another.
    pub(super) fn between(&self, start: Option<&Cut>, end: Option<&Cut>) -> &[u128] {
        let before = |cut: &Cut| match self.words {
            1 => self.list.partition_point(|word| cut.is_after(&[*word])),
            _ => 2 * self.list.as_chunks::<2>().0.partition_point(|key| cut.is_after(key)),
        };
        &self.list[start.map_or(0, before)..end.map_or(self.list.len(), before)]
    }

    /// Calls `each` with the items of all keys.
    pub(super) fn tell(&self, order: &Order, mut each: impl FnMut(&Told)) {
        let mut told = Told::NONE;
        for key in self.list.chunks(self.words) {
            told.set(order, [key[0], key.get(1).copied().unwrap_or(0)]);
            each(&told);
        }
    }
}
