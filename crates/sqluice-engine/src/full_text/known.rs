//! The numbers of short terms that were looked up last. Most occurrences are of frequent terms, and most of these are short: such an occurrence
//! takes one look into a small table, which stays in the CPU cache.
//!
//! ```text
//!  key    | bytes of the term, with zeros after them: 56 bits | index * 8 + number of bytes |       never 0
//! ```
//!
//! A key has one place in the table, where the last term of this place is kept.

/// The largest number of bytes of a short term.
const BYTES_MAX: usize = 7;

/// The binary logarithm of the number of places.
const SHIFT: u32 = 13;

/// A short term of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortKey(u64);

impl ShortKey {
    /// Returns the key of a term; `None` if the term is empty or too long.
    #[inline]
    pub(super) fn of(index: usize, term: &[u8]) -> Option<ShortKey> {
        let bytes = match *term {
            // The first four and the last four bytes of a longer term overlap.
            [a, b, c] => u64::from(u32::from_be_bytes([a, b, c, 0])) << 32,
            [_, _, _, _, ..] if term.len() <= BYTES_MAX => {
                let (first, last) = (term.first_chunk::<4>()?, term.last_chunk::<4>()?);
                let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
                u64::from(first) << 32 | u64::from(last) << (8 * (8 - term.len()))
            }
            [a, b] => u64::from(u16::from_be_bytes([a, b])) << 48,
            [a] => u64::from(a) << 56,
            _ => return None,
        };
        Some(ShortKey::new(index, bytes, term.len()))
    }

    /// Returns the key of a short term of `len` bytes. `bytes` has these bytes first, and then zeros.
    #[inline]
    pub(super) fn new(index: usize, bytes: u64, len: usize) -> ShortKey {
        ShortKey(bytes | (index << 3 | len) as u64)
    }

    /// Returns `true` if a term with this number of bytes may have a key.
    #[inline]
    pub(super) fn has(len: usize) -> bool {
        (1..=BYTES_MAX).contains(&len)
    }

    #[inline]
    fn place(self) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SHIFT)) as usize
    }
}

/// The table. A key of 0 marks a free place.
#[derive(Debug)]
pub(super) struct KnownTerms(Box<[(u64, u32); 1 << SHIFT]>);

impl KnownTerms {
    pub(super) fn new() -> KnownTerms {
        KnownTerms(Box::new([(0, 0); 1 << SHIFT]))
    }

    /// Returns the number of a term, if the table has it.
    #[inline]
    pub(super) fn number(&self, key: ShortKey) -> Option<u32> {
        let (found, number) = self.0[key.place()];
        (found == key.0).then_some(number)
    }

    /// Notes the number of a term that was looked up.
    #[inline]
    pub(super) fn put(&mut self, key: Option<ShortKey>, number: u32) {
        if let Some(key) = key {
            self.0[key.place()] = (key.0, number);
        }
    }

    /// Forgets all numbers.
    pub(super) fn clear(&mut self) {
        self.0.fill((0, 0));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::dictionary::Key;
    use super::*;

    #[test]
    fn short_terms_of_all_indexes_have_different_keys() {
        let mut keys = HashSet::new();
        let mut count = 0;
        for len in 1..=BYTES_MAX {
            for term in [vec![0; len], vec![0xff; len], (1..=len as u8).collect()] {
                for index in 0..=31 {
                    let key = ShortKey::of(index, &term).unwrap();
                    assert_eq!(Key::of(&term).short(index), Some(key));
                    assert_ne!(key.0, 0);
                    keys.insert(key.0);
                    count += 1;
                }
            }
        }
        assert_eq!(keys.len(), count);
        assert_eq!(ShortKey::of(0, b""), None);
        assert_eq!(ShortKey::of(0, &[1; BYTES_MAX + 1]), None);
    }
}
