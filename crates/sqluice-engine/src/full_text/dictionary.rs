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

/// The number of a slot that is free.
const FREE: u32 = u32::MAX;

/// The largest number of terms: their numbers have 32 bits, and the last one means a free slot.
const TERMS_MAX: usize = (u32::MAX - 1) as usize;

/// The number of slots of an empty dictionary.
const SLOTS_MIN: usize = 1 << 6;

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
    /// Returns the key of the term in the first `term_bytes` bytes of `bytes`. Further bytes after the term make this faster.
    #[inline]
    pub(super) fn of(bytes: &[u8], term_bytes: usize) -> Key {
        let start = match bytes.first_chunk::<16>() {
            Some(chunk) => u128::from_be_bytes(*chunk),
            None => {
                let mut chunk = [0; 16];
                chunk[..bytes.len()].copy_from_slice(bytes);
                u128::from_be_bytes(chunk)
            }
        };
        let kept_bytes = term_bytes.min(START_BYTES);
        // Two shifts, as a shift by 128 bits is none.
        let kept = !(u128::MAX >> (4 * kept_bytes) >> (4 * kept_bytes));
        // A longer term is compared as a whole, so its length needs no room.
        let start = start & kept | term_bytes.min(START_BYTES + 1) as u128;
        let mut hash = mixed((start >> 64) as u64, 0x9e37_79b9_7f4a_7c15);
        hash = mixed(hash ^ start as u64, 0xbf58_476d_1ce4_e5b9);
        let mut rest = bytes[..term_bytes].get(START_BYTES..).unwrap_or(&[]);
        while !rest.is_empty() {
            let mut word = [0; 8];
            let n = rest.len().min(8);
            word[..n].copy_from_slice(&rest[..n]);
            hash = mixed(hash ^ u64::from_be_bytes(word), 0xbf58_476d_1ce4_e5b9);
            rest = &rest[n..];
        }
        Key { start, hash: (hash ^ hash >> 32) as u32 }
    }
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
    fn memory_bytes(&self) -> usize {
        let slots: usize = self.indexes.iter().map(Slots::memory_bytes).sum();
        // A vector that grows takes up to twice its content.
        slots + 2 * (self.terms.len() + self.ends.len() * size_of::<usize>())
    }

    /// Returns `true` if the dictionary should be given up: it takes more memory than `limit_bytes`, or soon will, because its slots are
    /// about to be doubled. While they are, the old and the new ones take memory.
    pub(super) fn is_full(&self, limit_bytes: usize) -> bool {
        let bytes = self.memory_bytes();
        let doubles = |index: &Slots| {
            let is_near = index.used + index.slots.len() / 16 > index.slots.len() / 2;
            is_near && bytes + 2 * index.memory_bytes() > limit_bytes
        };
        bytes > limit_bytes || self.len() >= TERMS_MAX / 2 || self.indexes.iter().any(doubles)
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
        let mask = slots.len() - 1;
        std::hint::black_box(keys.iter().fold(0, |all, key| all ^ slots[key.hash as usize & mask].number));
    }

    /// Returns the number of a term of an index. A new term gets the next number.
    #[inline]
    pub(super) fn number(&mut self, index: usize, key: Key, term: &[u8]) -> u32 {
        let mask = self.indexes[index].slots.len() - 1;
        let mut at = key.hash as usize & mask;
        loop {
            let slot = self.indexes[index].slots[at];
            if slot.number == FREE {
                return self.add(index, at, key, term);
            }
            if slot.start == key.start
                && slot.hash == key.hash
                && (term.len() <= START_BYTES || &self.term(slot.number)[1..] == term)
            {
                return slot.number;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, index: usize, at: usize, key: Key, term: &[u8]) -> u32 {
        assert!(self.len() < TERMS_MAX, "a row has fewer terms than have numbers");
        let number = self.len() as u32;
        self.terms.push(index_byte(index));
        self.terms.extend_from_slice(term);
        self.ends.push(self.terms.len());
        self.indexes[index].put(at, Slot { start: key.start, hash: key.hash, number });
        number
    }

    /// Forgets all terms. Keeps the memory of the slots if it is at most three quarters of `limit_bytes`.
    pub(super) fn clear(&mut self, limit_bytes: usize) {
        self.terms.clear();
        self.ends.clear();
        if self.memory_bytes() > limit_bytes / 4 * 3 {
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
                let number = dictionary.number(index, Key::of(&term, term.len()), &term);
                let known = *numbers.entry((index, term.clone())).or_insert(number);
                assert_eq!(number, known, "{round} {term:?}");
                assert_eq!(dictionary.term(number), [&[b'0' + index as u8], &term[..]].concat());
            }
        }
        assert_eq!(numbers.len(), dictionary.len());
        assert!(dictionary.is_full(1 << 20) && !dictionary.is_full(64 << 20));
        dictionary.clear(64 << 20);
        assert_eq!(dictionary.len(), 0);
        assert_eq!(dictionary.number(0, Key::of(b"x", 1), b"x"), 0);
    }

    #[test]
    fn terms_that_begin_alike_differ() {
        let terms: Vec<Vec<u8>> = (0..20).map(|len| vec![0; len]).collect();
        let mut dictionary = Dictionary::new(0);
        for (number, term) in terms.iter().enumerate() {
            assert_eq!(dictionary.number(0, Key::of(term, term.len()), term), number as u32);
        }
    }
}
