//! Texts in a given form: `pattern`, `prose`, `numbered`, and `text` and `blob` whose length is an expression, such as `text(normal(20,
//! 5))`.

use std::sync::Arc;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;

use super::spread::{self, Counted, hand_down};
use super::words::LOREM;
use super::{Arguments, Fault, Function, Generate, LENGTH_MAX};
use crate::generator::{ByShare, Class, Domain, Scope, Size, World, draw, draw_at};
use crate::random::{Key, below64};
use crate::vector::{RowRange, Vector, VectorKind};

pub(super) const PATTERN: Function = Function {
    name: "pattern",
    signature: "pattern('AA-9999')",
    about: "the text with a random capital letter for each A, a small letter for each a, and a digit for each 9; \\ keeps the character after it",
    example: "pattern('AA-9999')",
    build: |arguments| {
        arguments.count(1)?;
        let pattern = Pattern::of(arguments.text(0)?);
        pattern
            .map(|pattern| Arc::new(pattern) as Arc<dyn Generate>)
            .ok_or_else(|| arguments.wrong(0, "a pattern of at most 1000 characters"))
    },
};

pub(super) const PROSE: Function = Function {
    name: "prose",
    signature: "prose(n)",
    about: "Latin words, cut after n characters",
    example: "prose(int_quantiles(10, 40, 200))",
    build: |arguments| of_length(arguments, Content::Words),
};

pub(super) const NUMBERED: Function = Function {
    name: "numbered",
    signature: "numbered(x)",
    about: "the text x with the row's number at its end, in letters and digits, so that no two rows are the same",
    example: "numbered(text(8, 20))",
    build: |arguments| {
        arguments.count(1)?;
        let inner = arguments.compile(0)?;
        if !inner.class().is_text() {
            return Err(arguments.wrong(0, "a text"));
        }
        Ok(Arc::new(Numbered { inner, table: Counted::of(arguments) }))
    },
};

/// The kind of content of texts and blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Characters,
    Bytes,
    Words,
}

/// Builds the generator of texts or blobs whose length is the value of argument 0.
pub(super) fn of_length(arguments: &Arguments<'_>, content: Content) -> Result<Arc<dyn Generate>, Fault> {
    arguments.count(1)?;
    let length = arguments.compile(0)?;
    if !length.class().is_number() {
        return Err(arguments.wrong(0, "a number of characters"));
    }
    Ok(Arc::new(OfLength { length, content, table: Counted::of(arguments) }))
}

#[derive(Debug)]
struct OfLength {
    length: Arc<dyn Generate>,
    content: Content,
    table: Counted,
}

/// The characters of random texts.
const CHARACTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

impl OfLength {
    fn write(&self, key: Key, length: usize, out: &mut Vec<u8>) {
        let end = out.len() + length;
        let mut word = 0;
        while out.len() < end {
            let bits = key.word(word);
            word += 1;
            match self.content {
                Content::Bytes => out.extend_from_slice(&bits.to_le_bytes()),
                Content::Characters => {
                    out.extend((0..10).map(|at| CHARACTERS[(bits >> (6 * at)) as usize & 63]))
                }
                Content::Words => {
                    out.extend_from_slice(LOREM[below64(bits, LOREM.len() as u64) as usize].as_bytes());
                    out.push(b' ');
                }
            }
        }
        out.truncate(end);
        // No text ends with a space: a program that trims texts would change it.
        if let (Content::Words, Some(last @ b' ')) = (self.content, out.last_mut().filter(|_| length > 0)) {
            *last = b'.';
        }
    }
}

impl ByShare for OfLength {
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let mut lengths = Vector::default();
        hand_down(&*self.length, at.child(1), rows, shares, &mut lengths)?;
        let content = at.key.child(2);
        let mut blob = Vec::new();
        out.values();
        for (index, row) in rows.iter().enumerate() {
            let length = match lengths.get(index) {
                Value::Int(int) => int,
                Value::Real(real) => real.round() as i64,
                _ => {
                    out.push(Value::Null);
                    continue;
                }
            };
            let (key, length) = (content.row(*row), length.clamp(0, LENGTH_MAX) as usize);
            if self.content == Content::Bytes {
                blob.clear();
                self.write(key, length, &mut blob);
                out.push(Value::Blob(&blob));
            } else {
                out.push_text(|text| self.write(key, length, text));
            }
        }
        out.settle();
        Ok(())
    }
}

impl Generate for OfLength {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        spread::fill(self, &self.table, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        spread::fill_at(self, &self.table, at, rows, out)
    }

    fn size(&self) -> Size {
        // A guess: the lengths are unknown before they are generated.
        Size { mean: 40, max: 400 }
    }

    fn class(&self) -> Class {
        if self.content == Content::Bytes { Class::Blob } else { Class::Text }
    }

    fn nullable(&self) -> bool {
        self.length.nullable()
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        Some(self)
    }
}

const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";

/// A text with bytes that are drawn from alphabets.
#[derive(Debug)]
struct Pattern {
    bytes: Vec<u8>,
    /// The positions of the drawn bytes, and their alphabets; the last byte varies fastest.
    drawn: Vec<(usize, &'static [u8])>,
    /// The number of different texts, at most 2^62.
    count: u64,
    /// The count of drawn bytes that follow from the number of the text in its domain. These are the last drawn bytes; the drawn bytes
    /// before them are random.
    numbered: usize,
}

impl Pattern {
    fn of(text: &str) -> Option<Pattern> {
        let mut pattern = Pattern { bytes: Vec::new(), drawn: Vec::new(), count: 1, numbered: 0 };
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            let alphabet = match character {
                'A' => UPPER,
                'a' => LOWER,
                '9' => DIGITS,
                _ => {
                    let kept = if character == '\\' { characters.next()? } else { character };
                    pattern.bytes.extend_from_slice(kept.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
            };
            pattern.drawn.push((pattern.bytes.len(), alphabet));
            pattern.bytes.push(0);
        }
        for (_, alphabet) in pattern.drawn.iter().rev() {
            let Some(count) =
                pattern.count.checked_mul(alphabet.len() as u64).filter(|count| *count <= 1 << 62)
            else {
                break;
            };
            pattern.count = count;
            pattern.numbered += 1;
        }
        (pattern.bytes.len() <= 4000).then_some(pattern)
    }
}

impl Generate for Pattern {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        draw(self, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        draw_at(self, at, rows, out)
    }

    fn size(&self) -> Size {
        Size::exactly(self.bytes.len() as u64)
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

impl Domain for Pattern {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(self.count)
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        let width = self.bytes.len();
        let bytes = out.fixed(VectorKind::Text, width, numbers.len());
        let (free, numbered) = self.drawn.split_at(self.drawn.len() - self.numbered);
        for (index, &number) in numbers.iter().enumerate() {
            let text = &mut bytes[index * width..][..width];
            text.copy_from_slice(&self.bytes);
            let mut rest = number;
            for (place, alphabet) in numbered.iter().rev() {
                text[*place] = alphabet[(rest % alphabet.len() as u64) as usize];
                rest /= alphabet.len() as u64;
            }
            let key = at.key.child(0).row(number);
            for (word, (place, alphabet)) in (0..).zip(free) {
                text[*place] = alphabet[below64(key.word(word), alphabet.len() as u64) as usize];
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Numbered {
    inner: Arc<dyn Generate>,
    table: Counted,
}

impl Numbered {
    /// Returns the number of characters for the row number at the end of each text: enough for the number of the last row.
    fn digits(&self, world: &World) -> usize {
        let (mut digits, mut count) = (1, 36_u64);
        while count < self.table.rows(world) {
            count = count.saturating_mul(36);
            digits += 1;
        }
        digits
    }
}

/// Returns a text without its last `cut` characters.
fn without_last(text: &[u8], cut: usize) -> &[u8] {
    let is_start = |byte: &u8| byte & 0xc0 != 0x80;
    let starts: Vec<usize> = text
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| is_start(byte))
        .map(|(at, _)| at)
        .take(cut)
        .collect();
    if starts.len() < cut { &text[..0] } else { &text[..starts.last().copied().unwrap_or(text.len())] }
}

impl ByShare for Numbered {
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let mut texts = Vector::default();
        hand_down(&*self.inner, at.child(1), rows, shares, &mut texts)?;
        let digits = self.digits(at.world);
        out.values();
        for (index, &row) in rows.iter().enumerate() {
            let Value::Text(text) = texts.get(index) else {
                out.push(texts.get(index));
                continue;
            };
            out.push_text(|bytes| {
                bytes.extend_from_slice(without_last(text, digits));
                let begin = bytes.len();
                let mut rest = row;
                for _ in 0..digits {
                    bytes.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize]);
                    rest /= 36;
                }
                bytes[begin..].reverse();
            });
        }
        out.settle();
        Ok(())
    }
}

impl Generate for Numbered {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        spread::fill(self, &self.table, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        spread::fill_at(self, &self.table, at, rows, out)
    }

    fn size(&self) -> Size {
        let Size { mean, max } = self.inner.size();
        Size { mean, max: 2 * max + 13 }
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn nullable(&self) -> bool {
        self.inner.nullable()
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_different_texts_that_a_pattern_can_give_is_computed() {
        for (text, count) in [("AA-9999", 26 * 26 * 10_000), ("x", 1), ("\\A9", 10), ("", 1), ("é9", 10)] {
            assert_eq!(Pattern::of(text).unwrap().count, count, "{text}");
        }
        let long = Pattern::of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
        assert_eq!((long.count, long.numbered), (26_u64.pow(13), 13));
    }

    #[test]
    fn characters_and_not_bytes_are_cut_from_the_end_of_a_text() {
        assert_eq!(without_last(b"abc", 2), b"a");
        assert_eq!(without_last("aéü".as_bytes(), 2), b"a");
        assert_eq!(without_last(b"abc", 4), b"");
        assert_eq!(without_last(b"abc", 3), b"");
    }
}
