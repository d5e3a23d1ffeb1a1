//! Keys that tell their items, and are all that is held of them.

use super::item::Told;
use super::large_pages;
use super::order::{Cut, Order};
use super::radix::{self, SCRATCH_BYTES, Scratch};

/// Bytes of a word of a key.
pub(super) const WORD_BYTES: usize = size_of::<u128>();

/// What keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Two integers or NULLs.
    Pair,
    /// Normalized keys that have nothing but zeros after a word: of 16 bytes at most, or a little longer.
    Word,
    /// The same of two words.
    Words,
}

/// Keys of a form, one after another. Shorter ones have zeros at the end.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) form: Form,
    list: Vec<u128>,
}

impl Form {
    /// Words of a key.
    #[inline]
    pub(super) fn words(self) -> usize {
        match self {
            Form::Pair | Form::Word => 1,
            Form::Words => 2,
        }
    }

    /// The normalized key, which is whole, zeros behind it.
    pub(super) fn normalized(self, order: &Order, key: &[u128]) -> [u128; 2] {
        match (self, key) {
            (Form::Pair, [pair, ..]) => {
                let mut told = Told::NONE;
                told.set_pair(order, *pair);
                order.telling_key(told.item().record).map_or([0; 2], |(key, _)| key)
            }
            (_, [first, second, ..]) => [*first, *second],
            (_, [first]) => [*first, 0],
            (_, []) => [0; 2],
        }
    }

    /// Whether an item with this key comes before a place.
    pub(super) fn is_before(self, order: &Order, key: &[u128], cut: &Cut) -> bool {
        cut.is_after(&self.normalized(order, key))
    }
}

impl Keys {
    pub(super) fn new(form: Form) -> Keys {
        Keys { form, list: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len() / self.form.words()
    }

    pub(super) fn as_words(&self) -> &[u128] {
        &self.list
    }

    /// The prefixes of the first and the last.
    pub(super) fn prefixes(&self, order: &Order) -> (u128, u128) {
        let words = self.form.words();
        let (first, last) = (self.list.first_chunk::<2>(), self.list.last_chunk::<2>());
        let ends = match (first, last) {
            (Some(first), Some(last)) => (&first[..words], &last[2 - words..]),
            // A single word, or none.
            _ => (&self.list[..], &self.list[..]),
        };
        (self.form.normalized(order, ends.0)[0], self.form.normalized(order, ends.1)[0])
    }

    #[inline]
    pub(super) fn push(&mut self, key: &[u128]) {
        debug_assert_eq!(key.len(), self.form.words());
        self.list.extend_from_slice(key);
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// What a key takes, with what sorting needs.
    pub(super) fn key_bytes(&self) -> usize {
        self.form.words() * (WORD_BYTES + SCRATCH_BYTES)
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        WORD_BYTES * self.list.capacity()
    }

    /// Makes room for so many in all.
    pub(super) fn reserve(&mut self, keys: usize) {
        self.list.reserve_exact((self.form.words() * keys).saturating_sub(self.list.len()));
        large_pages::advise(&mut self.list);
    }

    pub(super) fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    pub(super) fn sort(&mut self, scratch: &mut Scratch) {
        match self.form {
            Form::Pair | Form::Word => radix::sort_telling(self.list.as_chunks_mut::<1>().0, scratch),
            Form::Words => radix::sort_telling(self.list.as_chunks_mut::<2>().0, scratch),
        }
    }

    /// The same items as keys that are not pairs: of a word, if that is asked for and enough. It is where only zeros follow, for these are
    /// read after the end of a key anyway, and no key is the beginning of another.
    pub(super) fn as_normalized(&self, order: &Order, wanted: Form) -> Keys {
        let normalized = |key: &[u128]| self.form.normalized(order, key);
        let keys = self.list.chunks(self.form.words());
        if wanted == Form::Word && keys.clone().all(|key| normalized(key)[1] == 0) {
            return Keys { form: Form::Word, list: keys.map(|key| normalized(key)[0]).collect() };
        }
        Keys { form: Form::Words, list: keys.flat_map(normalized).collect() }
    }

    /// The words of the keys, which are in order, from one cut to another.
    pub(super) fn between(&self, order: &Order, start: Option<&Cut>, end: Option<&Cut>) -> &[u128] {
        let words = self.form.words();
        let before = |cut: &Cut| {
            let is_before = |key: &[u128]| self.form.is_before(order, key, cut);
            words
                * match self.form {
                    Form::Pair | Form::Word => self.list.partition_point(|word| is_before(&[*word])),
                    Form::Words => self.list.as_chunks::<2>().0.partition_point(|key| is_before(key)),
                }
        };
        &self.list[start.map_or(0, before)..end.map_or(self.list.len(), before)]
    }

    /// Calls `each` with the items of all keys.
    pub(super) fn tell(&self, order: &Order, mut each: impl FnMut(&Told)) {
        let mut told = Told::NONE;
        for key in self.list.chunks(self.form.words()) {
            match (self.form, key) {
                (Form::Pair, [pair, ..]) => told.set_pair(order, *pair),
                _ => told.set(order, self.form.normalized(order, key)),
            }
            each(&told);
        }
    }
}
