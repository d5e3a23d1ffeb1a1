//! Splits texts as the tokenizers of SQLite do: ASCII parts here, other words by SQLite.
//!
//! ```text
//!  unicode61, ascii    one tWo  nahé, three          trigram    word né
//!                      ─── ───  ────  ─────                     ────
//!                      here     SQLite  here                    here  └── SQLite: rd né
//!
//!  porter              running nahé
//!                      ─────── ────
//!                      split here; SQLite makes the stem
//! ```
//!
//! These tokenizers look at a text byte by byte as long as it is ASCII: a byte is a separator, or a character of a token, folded to another
//! byte. The tokenizer itself tells for each byte, once, if it is a separator or a character, so all options of the tokenizer count.
//!
//! A word with other characters ends at an ASCII separator, where SQLite begins anew. SQLite splits such a word, and makes the stem of each
//! word for `porter`, but the answers for short words are kept (`asked`). A part of trigrams that goes to SQLite has the two characters before
//! it and after it, with which its characters are together in a trigram.
//!
//! Invariant: the tokens are those that the tokenizer gives for the whole text, for every text.

use rusqlite::Result;

use super::asked::{AskedWords, ShortWord};
use super::sqlite_tokenizer::SqliteTokenizer;

/// The mark of a separator.
const SEPARATOR: u8 = 0;

/// The mark of a byte that only SQLite knows.
const OTHER: u8 = 0x80;

/// The number of characters of a trigram.
const TRIGRAM: usize = 3;

/// The kind of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Words,
    /// The tokens are the stems of words, which follow from the words alone.
    Stems,
    Trigrams,
}

/// A splitter of texts.
#[derive(Debug)]
pub(super) struct Splitter {
    kind: Kind,
    /// For each byte, the byte to which it is folded, or a mark.
    folded: [u8; 256],
    /// The folded bytes of a text.
    buffer: Vec<u8>,
    /// The tokens of short words that SQLite has split.
    asked: AskedWords,
}

impl Splitter {
    /// The largest text that is split here, in bytes: a folded text takes as much memory.
    pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;

    /// Returns the splitter for the tokenizer with these arguments, or `None` if only SQLite can split its texts.
    pub(super) fn of(arguments: &[String], sqlite: &SqliteTokenizer) -> Option<Splitter> {
        let is = |word: &String, name: &str| word.eq_ignore_ascii_case(name);
        let stemmers = arguments.iter().take_while(|word| is(word, "porter")).count();
        let base = arguments.get(stemmers);
        let is_of_words = base.map_or(stemmers > 0, |base| is(base, "unicode61") || is(base, "ascii"));
        let kind = match stemmers {
            0 if is_of_words => Kind::Words,
            0 if base.is_some_and(|base| is(base, "trigram")) => Kind::Trigrams,
            1.. if is_of_words => Kind::Stems,
            _ => return None,
        };
        let is_trigrams = kind == Kind::Trigrams;
        let mut folded = [OTHER; 256];
        for byte in 0..OTHER {
            let len = match is_trigrams {
                false => 1,
                // Trigrams skip a NUL.
                true if byte == 0 => continue,
                true => TRIGRAM,
            };
            let mut tokens = Vec::new();
            sqlite.split(&vec![byte; len], &mut |token: &[u8], _| tokens.push(token.to_vec())).ok()?;
            folded[usize::from(byte)] = match &tokens[..] {
                [] if !is_trigrams => SEPARATOR,
                [token] if token.len() == len && (1..OTHER).contains(&token[0]) => token[0],
                _ => return None,
            };
        }
        // SQLite gets a folded word for its stem, so it must be the same word for SQLite.
        let is_word = |byte: &u8| [SEPARATOR, OTHER].contains(byte) || folded[usize::from(*byte)] == *byte;
        if kind == Kind::Stems && !folded.iter().all(is_word) {
            return None;
        }
        Some(Splitter { kind, folded, buffer: Vec::new(), asked: AskedWords::new() })
    }

    /// Calls `each` with each token of a text of at most [`Splitter::TEXT_BYTES_MAX`] bytes. `sqlite` splits parts of the text.
    ///
    /// # Errors
    /// The error of `sqlite`.
    #[inline]
    pub(super) fn split<F: FnMut(&[u8], bool)>(
        &mut self,
        text: &[u8],
        each: &mut F,
        sqlite: &SqliteTokenizer,
    ) -> Result<()> {
        if self.buffer.len() < text.len() {
            self.buffer.resize(text.len().next_power_of_two(), 0);
        }
        match self.kind {
            Kind::Words | Kind::Stems => self.words(text, each, sqlite),
            Kind::Trigrams => self.trigrams(text, each, sqlite),
        }
    }

    #[inline]
    fn words<F: FnMut(&[u8], bool)>(
        &mut self,
        text: &[u8],
        each: &mut F,
        sqlite: &SqliteTokenizer,
    ) -> Result<()> {
        let Splitter { kind, folded, buffer, asked } = self;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            if folded[usize::from(byte)] == SEPARATOR {
                at += 1;
                continue;
            }
            let start = at;
            let (len, end) = fold(folded, &text[start..], buffer);
            at += len;
            if end == OTHER {
                let others = text[at..].iter().position(|byte| folded[usize::from(*byte)] == SEPARATOR);
                at = others.map_or(text.len(), |others| at + others);
                by_sqlite(&text[start..at], asked, each, sqlite)?;
            } else if *kind == Kind::Stems {
                by_sqlite(&buffer[..len], asked, each, sqlite)?;
            } else {
                each(&buffer[..len], false);
            }
            // The end of the text, or a separator.
            at += 1;
        }
        Ok(())
    }

    #[inline]
    fn trigrams<F: FnMut(&[u8], bool)>(
        &mut self,
        text: &[u8],
        each: &mut F,
        sqlite: &SqliteTokenizer,
    ) -> Result<()> {
        let Splitter { folded, buffer, .. } = self;
        let is_other = |byte: &u8| folded[usize::from(*byte)] == OTHER;
        let mut start = 0;
        loop {
            let rest = &text[start..];
            let (ascii, _) = fold(folded, rest, buffer);
            buffer[..ascii].array_windows::<TRIGRAM>().for_each(|trigram| each(trigram, false));
            if ascii == rest.len() {
                return Ok(());
            }
            // ASCII characters between others are split here if no trigram has characters on both sides of them.
            let (first, mut end) = (start + ascii, start + ascii);
            let mut run = 0;
            while let Some(byte) = text.get(end)
                && run < TRIGRAM + 1
            {
                run = if is_other(byte) { 0 } else { run + 1 };
                end += 1;
            }
            if run < TRIGRAM + 1 {
                return sqlite.split(&text[first.saturating_sub(TRIGRAM - 1).max(start)..], each);
            }
            let next = end - run;
            sqlite.split(&text[first.saturating_sub(TRIGRAM - 1).max(start)..next + TRIGRAM - 1], each)?;
            start = next;
        }
    }
}

/// Calls `each` with the tokens of a word that SQLite splits now, or has split before.
#[inline]
fn by_sqlite<F: FnMut(&[u8], bool)>(
    word: &[u8],
    asked: &mut AskedWords,
    each: &mut F,
    sqlite: &SqliteTokenizer,
) -> Result<()> {
    let Some(short) = ShortWord::of(word) else { return sqlite.split(word, each) };
    if let Some(token) = asked.token(short) {
        token.give(|token| each(token, false));
        return Ok(());
    }
    ask(short, word, asked, each, sqlite)
}

/// Lets SQLite split a word, and notes its token, if it is one.
#[cold]
fn ask<F: FnMut(&[u8], bool)>(
    short: ShortWord,
    word: &[u8],
    asked: &mut AskedWords,
    each: &mut F,
    sqlite: &SqliteTokenizer,
) -> Result<()> {
    let (mut count, mut last) = (0, None);
    sqlite.split(word, &mut |token: &[u8], is_colocated| {
        count += 1;
        last = ShortWord::of(token);
        each(token, is_colocated);
    })?;
    if let (1, Some(token)) = (count, last) {
        asked.put(short, token);
    }
    Ok(())
}

/// Folds the bytes of `text` up to the first one with a mark, which must fit into `buffer`. Returns the number of bytes, and the mark.
#[inline(always)]
fn fold(folded: &[u8; 256], text: &[u8], buffer: &mut [u8]) -> (usize, u8) {
    let mut len = 0;
    // An index is faster than two iterators here, and the compiler sees that it is in both slices.
    let buffer = &mut buffer[..text.len()];
    while len < text.len() {
        let byte = folded[usize::from(text[len])];
        // Both marks in one comparison.
        if byte.wrapping_sub(1) >= OTHER - 1 {
            return (len, byte);
        }
        buffer[len] = byte;
        len += 1;
    }
    (len, SEPARATOR)
}
