//! The tokens of short words that SQLite was asked for last. Most words of a text are frequent ones, so SQLite is asked for few.
//!
//! ```text
//!  word     | bytes of the word, with zeros after them: 120 bits | number of bytes |       0: a free place
//!  token    | bytes of its token, likewise                                         |
//! ```
//!
//! A word has one place in the table, where the last word of this place is kept.

use super::dictionary::{LONG, mixed_start, start_of};

/// The binary logarithm of the number of places: half a megabyte, which stays in the second-level cache.
const SHIFT: u32 = 14;

/// A word or a token of 1 to 15 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortWord(u128);

impl ShortWord {
    /// Returns a word; `None` if it is empty or too long.
    #[inline]
    pub(super) fn of(word: &[u8]) -> Option<ShortWord> {
        (1..usize::from(LONG)).contains(&word.len()).then(|| ShortWord(start_of(word)))
    }

    /// Calls `each` with the bytes of the word.
    #[inline]
    pub(super) fn give(self, each: impl FnOnce(&[u8])) {
        each(&self.0.to_be_bytes()[..usize::from(self.0 as u8)]);
    }

    #[inline]
    fn place(self) -> usize {
        (mixed_start(self.0) >> (u64::BITS - SHIFT)) as usize
    }
}

/// The table.
#[derive(Debug)]
pub(super) struct AskedWords(Box<[(u128, u128)]>);

impl AskedWords {
    pub(super) fn new() -> AskedWords {
        AskedWords(vec![(0, 0); 1 << SHIFT].into_boxed_slice())
    }

    /// Returns the token of a word, if the table has it.
    #[inline]
    pub(super) fn token(&self, word: ShortWord) -> Option<ShortWord> {
        let (found, token) = self.0[word.place()];
        (found == word.0).then_some(ShortWord(token))
    }

    /// Notes the token of a word.
    pub(super) fn put(&mut self, word: ShortWord, token: ShortWord) {
        self.0[word.place()] = (word.0, token.0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_table_has_the_last_word_of_each_place() {
        let mut asked = AskedWords::new();
        let word = |number: u32| ShortWord::of(format!("word{number}").as_bytes()).unwrap();
        let mut places = HashMap::new();
        for number in 0..100_000 {
            assert_eq!(asked.token(word(number)), None);
            asked.put(word(number), word(number + 1));
            places.insert(word(number).place(), number);
        }
        assert!(places.len() > (1 << SHIFT) / 10 * 9, "{}", places.len());
        for (_, number) in places {
            assert_eq!(asked.token(word(number)), Some(word(number + 1)));
        }
    }

    #[test]
    fn words_of_1_to_15_bytes_are_short() {
        for len in 0..40 {
            let bytes = vec![b'a' + len as u8 % 26; len];
            match ShortWord::of(&bytes) {
                Some(word) => word.give(|given| assert_eq!(given, bytes)),
                None => assert!(len == 0 || len > 15, "{len}"),
            }
        }
    }
}
