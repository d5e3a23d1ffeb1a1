//! Numbers for terms: each term of a run gets the next number when it is first seen.
//!
//! ```text
//!  slots    | start of the term, its length | hash | number |      32 bytes; open addressing, at most half full
//!  terms    [0 word][0 other][1 wo] ...                            the bytes of term i end at ends[i]
//! ```
//!
//! A term of up to 15 bytes is in its slot as a whole, so that one cache line decides. The index of whole tokens and each prefix index have
//! slots of their own, and share the numbers.

use sqluice_format::fts5::index_byte;

use super::known::ShortKey;
use crate::sort::first_bytes;

/// The number of a slot that is free.
const FREE: u32 = u32::MAX;

/// The largest number of terms: their numbers have 32 bits, and the last one means a free slot.
const TERMS_MAX: usize = (u32::MAX - 1) as usize;

/// The number of slots of an empty dictionary.
const SLOTS_MIN: usize = 1 << 6;

/// The number of slots that stay in the second-level cache by themselves.
const CACHED_SLOTS: usize = 1 << 12;

/// The number of bytes of a term in a slot.
const START_BYTES: usize = 15;

/// The terms that have numbers.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// The slots of each index.
    indexes: Vec<Slots>,
    terms: Vec<u8>,
    ends: Vec<usize>,
}

#[derive(Debug)]
struct Slots {
    slots: Vec<Slot>,
    used: usize,
}

/// A slot lies in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Slot {
    start: u128,
    hash: u32,
    number: u32,
}

/// A term that is looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    start: u128,
    hash: u32,
}

impl Key {
    /// Returns the key of a term.
    #[inline]
    pub(super) fn of(term: &[u8]) -> Key {
        let start = start_of(term);
        let mut hash = mixed_start(start);
        if term.len() > START_BYTES {
            for rest in term[START_BYTES..].chunks(8) {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                hash = mixed(hash ^ u64::from_be_bytes(word), 0xbf58_476d_1ce4_e5b9);
            }
        }
        Key { start, hash: (hash ^ hash >> 32) as u32 }
    }

    /// Returns the short key of the term; `None` if the term is empty or too long.
    #[inline]
    pub(super) fn short(self, index: usize) -> Option<ShortKey> {
        let len = usize::from(self.start as u8);
        ShortKey::has(len).then(|| ShortKey::new(index, (self.start >> 64) as u64, len))
    }

    /// Returns `true` if the key has the whole term.
    #[inline]
    pub(super) fn is_whole(self) -> bool {
        self.start as u8 != LONG
    }
}

/// The last byte of the start of a term that has more bytes than its start.
pub(super) const LONG: u8 = START_BYTES as u8 + 1;

/// Returns the first 15 bytes of a term, followed by zeros, and the number of its bytes or [`LONG`]: a number in the order of terms.
#[inline]
pub(super) fn start_of(term: &[u8]) -> u128 {
    first_bytes(term) & !0xff | term.len().min(LONG.into()) as u128
}

/// Returns the hash of the start of a term.
#[inline]
pub(super) fn mixed_start(start: u128) -> u64 {
    let first = mixed((start >> 64) as u64, 0x9e37_79b9_7f4a_7c15);
    mixed(first ^ start as u64, 0xbf58_476d_1ce4_e5b9)
}

/// Returns the halves of a product, folded: all bits of the result depend on all bits of `value`.
#[inline]
fn mixed(value: u64, factor: u64) -> u64 {
    let product = u128::from(value) * u128::from(factor);
    (product >> 64) as u64 ^ product as u64
}

impl Dictionary {
    /// Creates a dictionary for the index of whole tokens and `prefixes` prefix indexes.
    pub(super) fn new(prefixes: usize) -> Dictionary {
        let indexes = (0..=prefixes).map(|_| Slots::new(SLOTS_MIN)).collect();
        Dictionary { indexes, terms: Vec::new(), ends: Vec::new() }
    }

    /// Returns the number of terms.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the bytes of memory that the dictionary takes.
    pub(super) fn memory_bytes(&self) -> usize {
        let slots: usize = self.indexes.iter().map(Slots::memory_bytes).sum();
        // A vector that grows takes up to twice its content.
        slots + 2 * (self.terms.len() + self.ends.len() * size_of::<usize>())
    }

    /// Returns `true` if the dictionary should be given up: it takes more memory than `limit_bytes`, or soon will, because its slots are
    /// about to be doubled (meanwhile, the old and the new slots take memory), or at least half of the numbers are used.
    pub(super) fn is_full(&self, limit_bytes: usize) -> bool {
        let bytes = self.memory_bytes();
        let doubles = |index: &Slots| {
            let is_near = index.used + index.slots.len() / 16 > index.slots.len() / 2;
            is_near && bytes + 2 * index.memory_bytes() > limit_bytes
        };
        bytes > limit_bytes || self.is_used_up() || self.indexes.iter().any(doubles)
    }

    /// Returns a term, with the byte of its index.
    #[inline]
    pub(super) fn term(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.terms[start..self.ends[number]]
    }

    /// Brings the slots of the keys into the CPU cache, all at once.
    #[inline]
    pub(super) fn fetch(&self, index: usize, keys: &[Key]) {
        let Slots { slots, .. } = &self.indexes[index];
        // Few slots are in the cache already.
        if slots.len() > CACHED_SLOTS {
            let mask = slots.len() - 1;
            std::hint::black_box(
                keys.iter().fold(0, |all, key| all ^ slots[key.hash as usize & mask].number),
            );
        }
    }

    /// Returns the number of a term of an index. A new term gets the next number. `long` is the term if its key has only its first bytes.
    #[inline]
    pub(super) fn number(&mut self, index: usize, key: Key, long: &[u8]) -> u32 {
        let mask = self.indexes[index].slots.len() - 1;
        let mut at = key.hash as usize & mask;
        loop {
            let slot = &self.indexes[index].slots[at];
            if slot.number == FREE {
                return self.add(index, at, key, long);
            }
            let number = slot.number;
            if slot.start == key.start
                && (key.is_whole() || slot.hash == key.hash && &self.term(number)[1..] == long)
            {
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, index: usize, at: usize, key: Key, long: &[u8]) -> u32 {
        assert!(self.len() < TERMS_MAX, "a row has fewer terms than have numbers");
        let number = self.len() as u32;
        self.terms.push(index_byte(index));
        match key.is_whole() {
            true => self.terms.extend_from_slice(&key.start.to_be_bytes()[..(key.start & 0xff) as usize]),
            false => self.terms.extend_from_slice(long),
        }
        self.ends.push(self.terms.len());
        self.indexes[index].put(at, Slot { start: key.start, hash: key.hash, number });
        number
    }

    /// Returns `true` if at least half of the numbers are used.
    pub(super) fn is_used_up(&self) -> bool {
        self.len() >= TERMS_MAX / 2
    }

    /// Forgets all terms. Keeps the memory of the slots if it is at most `kept_bytes`.
    pub(super) fn clear(&mut self, kept_bytes: usize) {
        self.terms.clear();
        self.ends.clear();
        if self.memory_bytes() > kept_bytes {
            *self = Dictionary::new(self.indexes.len() - 1);
        }
        self.indexes.iter_mut().for_each(Slots::clear);
    }
}

impl Slots {
    fn new(count: usize) -> Slots {
        Slots { slots: vec![Slot { start: 0, hash: 0, number: FREE }; count], used: 0 }
    }

    fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.number = FREE);
        self.used = 0;
    }

    /// Fills a free slot, and doubles the slots when half of them are used.
    fn put(&mut self, at: usize, slot: Slot) {
        self.slots[at] = slot;
        self.used += 1;
        if 2 * self.used <= self.slots.len() {
            return;
        }
        let mut larger = Slots::new(2 * self.slots.len());
        let mask = larger.slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| slot.number != FREE) {
            let mut at = slot.hash as usize & mask;
            while larger.slots[at].number != FREE {
                at = (at + 1) & mask;
            }
            larger.slots[at] = *slot;
        }
        larger.used = self.used;
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn each_term_of_each_index_has_one_number() {
        let mut dictionary = Dictionary::new(2);
        let mut numbers: HashMap<(usize, Vec<u8>), u32> = HashMap::new();
        for round in 0..3 {
            for n in 0..20_000_u32 {
                let bytes = n.wrapping_mul(2_654_435_761).to_be_bytes();
                let term = [&b"a\0prefix"[..n as usize % 9], &bytes[n as usize % 5..]].concat();
                let index = n as usize % 3;
                let number = dictionary.number(index, Key::of(&term), &term);
                let known = *numbers.entry((index, term.clone())).or_insert(number);
                assert_eq!(number, known, "{round} {term:?}");
                assert_eq!(dictionary.term(number), [&[b'0' + index as u8], &term[..]].concat());
            }
        }
        assert_eq!(numbers.len(), dictionary.len());
        assert!(dictionary.is_full(1 << 20) && !dictionary.is_full(64 << 20));
        dictionary.clear(64 << 20);
        assert_eq!(dictionary.len(), 0);
        assert_eq!(dictionary.number(0, Key::of(b"x"), b"x"), 0);
    }

    #[test]
    fn terms_that_begin_alike_differ() {
        let terms: Vec<Vec<u8>> = (0..20).map(|len| vec![0; len]).collect();
        let mut dictionary = Dictionary::new(0);
        for (number, term) in terms.iter().enumerate() {
            assert_eq!(dictionary.number(0, Key::of(term), term), number as u32);
        }
    }

    #[test]
    fn a_key_has_the_first_bytes_of_its_term() {
        let bytes: Vec<u8> = (0..40).map(|n| 37 * n + 200).map(|n: u32| n as u8).collect();
        for len in 0..40 {
            let mut expected = [0; 16];
            let kept = len.min(START_BYTES);
            expected[..kept].copy_from_slice(&bytes[..kept]);
            expected[15] = len.min(16) as u8;
            let key = Key::of(&bytes[..len]);
            assert_eq!(key.start.to_be_bytes(), expected, "{len}");
            assert_eq!(key.is_whole(), len < 16);
        }
    }
}
