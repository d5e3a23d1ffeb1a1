//! Splits the ASCII parts of texts as the tokenizers of SQLite do.
//!
//! ```text
//!  unicode61, ascii    one tWo  nahé, three          trigram    word né
//!                      ─── ───  ────  ─────                     ────
//!                      here     SQLite  here                    here  └── SQLite: rd né
//! ```
//!
//! These tokenizers look at a text byte by byte as long as it is ASCII: a byte is a separator, or a character of a token, folded to another
//! byte. The tokenizer itself tells for each byte, once, if it is a separator or a character, so all options of the tokenizer count. Parts
//! with other characters go to SQLite. A part of words ends at an ASCII separator, where SQLite begins anew. A part of trigrams has the two
//! characters before it and after it, with which its characters are together in a trigram.
//!
//! Invariant: the tokens are those that the tokenizer gives for the whole text, for every text.

/// The mark of a separator.
const SEPARATOR: u8 = 0;

/// The mark of a byte that only SQLite knows.
const OTHER: u8 = 0x80;

/// The largest text that is split here, in bytes: a folded text takes as much memory.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The number of characters of a trigram.
const TRIGRAM: usize = 3;

/// The kind of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Words,
    Trigrams,
}

/// A splitter of ASCII texts.
#[derive(Debug)]
pub(super) struct Splitter {
    kind: Kind,
    /// For each byte, the byte to which it is folded, or a mark.
    folded: [u8; 256],
    /// The folded bytes of a text.
    buffer: Vec<u8>,
}

impl Splitter {
    /// Returns the splitter for the tokenizer with these arguments, or `None` if SQLite splits all its texts. `tokens` returns the tokens
    /// of a text.
    pub(super) fn of(
        arguments: &[String],
        mut tokens: impl FnMut(&[u8]) -> Option<Vec<Vec<u8>>>,
    ) -> Option<Splitter> {
        let is = |name: &str| arguments.first().is_some_and(|first| first.eq_ignore_ascii_case(name));
        let kind = match () {
            () if is("unicode61") || is("ascii") => Kind::Words,
            () if is("trigram") => Kind::Trigrams,
            () => return None,
        };
        let mut folded = [OTHER; 256];
        for byte in 0..OTHER {
            let (text, len) = match kind {
                Kind::Words => (vec![byte], 1),
                // Trigrams skip a NUL.
                Kind::Trigrams if byte == 0 => continue,
                Kind::Trigrams => (vec![byte; TRIGRAM], TRIGRAM),
            };
            folded[usize::from(byte)] = match &tokens(&text)?[..] {
                [] if kind == Kind::Words => SEPARATOR,
                [token] if token.len() == len && (1..OTHER).contains(&token[0]) => token[0],
                _ => return None,
            };
        }
        Some(Splitter { kind, folded, buffer: Vec::new() })
    }

    /// Calls `each` with each token of a text. `by_sqlite` splits a part of the text, and calls `each` with its tokens. Returns `None`, and
    /// calls nothing, if SQLite must split the whole text.
    ///
    /// # Errors
    /// The error of `by_sqlite`.
    #[inline]
    pub(super) fn split<F: FnMut(&[u8], bool), E>(
        &mut self,
        text: &[u8],
        each: &mut F,
        by_sqlite: impl FnMut(&[u8], &mut F) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        if self.buffer.len() < text.len() {
            self.buffer.resize(text.len().next_power_of_two(), 0);
        }
        Some(match self.kind {
            Kind::Words => self.words(text, each, by_sqlite),
            Kind::Trigrams => self.trigrams(text, each, by_sqlite),
        })
    }

    #[inline]
    fn words<F: FnMut(&[u8], bool), E>(
        &mut self,
        text: &[u8],
        each: &mut F,
        mut by_sqlite: impl FnMut(&[u8], &mut F) -> Result<(), E>,
    ) -> Result<(), E> {
        let Splitter { folded, buffer, .. } = self;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            if folded[usize::from(byte)] == SEPARATOR {
                at += 1;
                continue;
            }
            let start = at;
            let (len, end) = fold(folded, &text[start..], buffer);
            at += len;
            if end != OTHER {
                each(&buffer[..len], false);
                // The end of the text, or a separator.
                at += 1;
                continue;
            }
            at = end_of_others(folded, text, at);
            by_sqlite(&text[start..at], each)?;
        }
        Ok(())
    }

    #[inline]
    fn trigrams<F: FnMut(&[u8], bool), E>(
        &mut self,
        text: &[u8],
        each: &mut F,
        mut by_sqlite: impl FnMut(&[u8], &mut F) -> Result<(), E>,
    ) -> Result<(), E> {
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
                return by_sqlite(&text[first.saturating_sub(TRIGRAM - 1).max(start)..], each);
            }
            let next = end - run;
            by_sqlite(&text[first.saturating_sub(TRIGRAM - 1).max(start)..next + TRIGRAM - 1], each)?;
            start = next;
        }
    }
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

/// Returns the end of the part of a text that only SQLite splits into words: it ends with the last word that has such bytes, so that SQLite
/// is called once for many words of another script.
fn end_of_others(folded: &[u8; 256], text: &[u8], from: usize) -> usize {
    let (mut at, mut end) = (from, from);
    loop {
        let word = text[at..].iter().position(|byte| folded[usize::from(*byte)] == SEPARATOR);
        let Some(word) = word else { return text.len() };
        end = if word == 0 { end } else { at + word };
        at += word;
        let next = text[at..].iter().position(|byte| folded[usize::from(*byte)] != SEPARATOR);
        let Some(next) = next else { return end };
        at += next;
        if folded[usize::from(text[at])] != OTHER {
            return end;
        }
    }
}
