//! Strings: `digits`, `hex`, `text`, `blob`.
//!
//! Strings are written eight bytes at a time, over the end of each string into the next, which is written afterwards.
//! (Putting eight strings together in registers, to store them without overlap, was not faster.)

use std::ops::Range;
use std::sync::Arc;

use sqluice_core::error::Result;

use super::patterns::{Content as Made, of_length};
use super::{Arguments, Fault, Function, Generate, LENGTH_MAX, SMALL};
use crate::generator::{Class, Domain, Scope, Size, World};
use crate::random::{Key, below32, below64};
use crate::vector::{Layout, RowRange, SLACK, Vector, VectorKind};

const DIGITS_MAX: i64 = 1000;

pub(super) const DIGITS: Function = Function {
    name: "digits",
    signature: "digits(n)",
    about: "a text of n decimal digits, which may begin with zeros",
    example: "digits(6)",
    build: |arguments| {
        arguments.count(1)?;
        Ok(Arc::new(Digits { count: arguments.int_within(0, 1, DIGITS_MAX)? as usize }))
    },
};

pub(super) const TEXT: Function = Function {
    name: "text",
    signature: "text(min, max)",
    about: "a text of min to max characters out of a-z, A-Z, 0-9, - and _; in text(n), the length n is itself an expression, such as text(normal(20, 5))",
    example: "text(3, 20)",
    build: |arguments| {
        if arguments.arguments.len() == 1 {
            return of_length(arguments, Made::Characters);
        }
        let (min, max) = lengths(arguments)?;
        Ok(Arc::new(Bytes { min, max, text: true }))
    },
};

pub(super) const BLOB: Function = Function {
    name: "blob",
    signature: "blob(min, max)",
    about: "a blob of min to max random bytes; in blob(n), the length n is itself an expression, such as blob(normal(20, 5))",
    example: "blob(16, 64)",
    build: |arguments| {
        if arguments.arguments.len() == 1 {
            return of_length(arguments, Made::Bytes);
        }
        let (min, max) = lengths(arguments)?;
        Ok(Arc::new(Bytes { min, max, text: false }))
    },
};

pub(super) const HEX: Function = Function {
    name: "hex",
    signature: "hex(n)",
    about: "a text of n hexadecimal digits",
    example: "hex(32)",
    build: |arguments| {
        arguments.count(1)?;
        Ok(Arc::new(Hex { count: arguments.int_within(0, 1, DIGITS_MAX)? as usize }))
    },
};

fn lengths(arguments: &Arguments<'_>) -> Result<(u32, u32), Fault> {
    arguments.count(2)?;
    let (min, max) = (arguments.int_within(0, 0, LENGTH_MAX)?, arguments.int_within(1, 0, LENGTH_MAX)?);
    let (min, max) = arguments.ordered((min, max))?;
    Ok((min as u32, max as u32))
}

/// The numbers below 1000 as three digits, the first digit in the lowest byte.
static TRIPLES: [u32; 1000] = {
    let mut triples = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let (hundreds, tens, ones) = (number / 100, number / 10 % 10, number % 10);
        triples[number as usize] = 0x0030_3030 | hundreds | tens << 8 | ones << 16;
        number += 1;
    }
    triples
};

#[derive(Debug)]
struct Digits {
    count: usize,
}

/// The number of decimal digits that are taken from one random word.
const WORD_DIGITS: usize = 12;

/// Returns the next six digits of the fraction `bits / 2^64` in the lower bytes, and advances `bits` past them.
#[inline(always)]
fn six_digits(bits: &mut u64) -> u64 {
    let mut triple = || {
        let product = u128::from(*bits) * 1000;
        *bits = product as u64;
        u64::from(TRIPLES[(product >> 64) as usize])
    };
    triple() | triple() << 24
}

impl Generate for Digits {
    fn fill(&self, Scope { key, .. }: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let count = self.count;
        let out = out.fixed(VectorKind::Text, count, rows.count);
        if count <= 6 {
            for (index, row) in (rows.first..).take(rows.count).enumerate() {
                let mut bits = key.word(row);
                out[index * count..][..8].copy_from_slice(&six_digits(&mut bits).to_le_bytes());
            }
            return Ok(());
        }
        let words = count.div_ceil(WORD_DIGITS) as u64;
        for (index, row) in (rows.first..).take(rows.count).enumerate() {
            let row_out = &mut out[index * count..];
            for word in 0..words {
                let mut bits = key.word(row.wrapping_mul(words).wrapping_add(word));
                let at = word as usize * WORD_DIGITS;
                row_out[at..][..8].copy_from_slice(&six_digits(&mut bits).to_le_bytes());
                if at + 6 < count {
                    row_out[at + 6..][..8].copy_from_slice(&six_digits(&mut bits).to_le_bytes());
                }
            }
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::exactly(self.count as u64)
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

/// The characters of texts that are numbered: a text is a number written in this base.
struct Alphabet(&'static [u8]);

const DECIMAL_DIGITS: Alphabet = Alphabet(b"0123456789");
const HEX_DIGITS: Alphabet = Alphabet(b"0123456789abcdef");

impl Alphabet {
    fn base(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the number of digits at the end of a text that depend on the text's number alone: as many as fit in 2^62, `width` at most.
    fn numbered(&self, width: usize) -> usize {
        let fits = |digits: &usize| self.base().checked_pow(*digits as u32).is_some_and(|n| n <= 1 << 62);
        (1..=width).take_while(fits).count()
    }

    /// Returns the count of numbered texts of `width` digits.
    fn count(&self, width: usize) -> u64 {
        self.base().pow(self.numbered(width) as u32)
    }

    /// Generates the texts with these numbers.
    fn nth(&self, kind: fn(Layout) -> VectorKind, width: usize, key: Key, numbers: &[u64], out: &mut Vector) {
        let digits = self.numbered(width);
        let bytes = out.fixed(kind, width, numbers.len());
        if width > 0 {
            for (&number, slot) in numbers.iter().zip(bytes.chunks_exact_mut(width)) {
                self.write(number, digits, key, slot);
            }
        }
    }

    /// Writes `number` to the last `digits` bytes of `out`, and random digits that depend on `number` to the bytes before them.
    fn write(&self, mut number: u64, digits: usize, key: Key, out: &mut [u8]) {
        let (base, free) = (self.base(), out.len() - digits);
        let mut more = key.word(number);
        for slot in out[free..].iter_mut().rev() {
            *slot = self.0[(number % base) as usize];
            number /= base;
        }
        for (index, slot) in out[..free].iter_mut().enumerate() {
            if index % 8 == 7 {
                more = key.word(more);
            }
            *slot = self.0[((more >> (8 * (index % 8)) & 0xff) % base) as usize];
        }
    }
}

impl Domain for Digits {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(DECIMAL_DIGITS.count(self.count))
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        DECIMAL_DIGITS.nth(VectorKind::Text, self.count, at.key, numbers, out);
        Ok(())
    }
}

#[derive(Debug)]
struct Hex {
    count: usize,
}

impl Generate for Hex {
    fn fill(&self, Scope { key, .. }: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let words = self.count.div_ceil(16) as u64;
        let bytes = out.fixed(VectorKind::Text, self.count, rows.count);
        for (row, text) in (rows.first..).zip(bytes.chunks_exact_mut(self.count)).take(rows.count) {
            for (index, part) in text.chunks_mut(16).enumerate() {
                let mut word = key.word(row.wrapping_mul(words).wrapping_add(index as u64));
                for slot in part {
                    *slot = HEX_DIGITS.0[(word & 15) as usize];
                    word >>= 4;
                }
            }
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::exactly(self.count as u64)
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

impl Domain for Hex {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(HEX_DIGITS.count(self.count))
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        HEX_DIGITS.nth(VectorKind::Text, self.count, at.key, numbers, out);
        Ok(())
    }
}

#[derive(Debug)]
struct Bytes {
    min: u32,
    max: u32,
    text: bool,
}

impl Bytes {
    fn lengths(&self, key: Key, first: u64, out: &mut [u32]) {
        let (min, count) = (self.min, self.max - self.min + 1);
        if u64::from(count) <= SMALL {
            key.map32(first, out, |bits| min + below32(bits, count));
        } else {
            key.map64(first, out, |bits| min + below64(bits, u64::from(count)) as u32);
        }
    }
}

impl Generate for Bytes {
    fn fill(&self, Scope { key, .. }: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let kind = if self.text { VectorKind::Text } else { VectorKind::Blob };
        let content =
            Content { key: key.child(1), first: rows.first, words: u64::from(self.max.div_ceil(8)) };
        let bytes = if self.min == self.max {
            let width = self.max as usize;
            let bytes = out.fixed(kind, width, rows.count);
            content.write((0..rows.count).map(|row| row * width..(row + 1) * width), bytes);
            bytes
        } else {
            let lengths = |out: &mut [u32]| self.lengths(key.child(0), rows.first, out);
            let (offsets, bytes) = out.strings(kind, rows.count, lengths);
            content.write(offsets.windows(2).map(|ends| ends[0] as usize..ends[1] as usize), bytes);
            bytes
        };
        if self.text {
            bytes.iter_mut().for_each(|byte| *byte = character(*byte));
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size { mean: u64::from(self.min).midpoint(u64::from(self.max)), max: u64::from(self.max) }
    }

    fn class(&self) -> Class {
        if self.text { Class::Text } else { Class::Blob }
    }

    fn domain(&self) -> Option<&dyn Domain> {
        if self.min == self.max { Some(self) } else { None }
    }
}

/// The 64 characters of random texts.
const ALPHABET: &[u8; 64] = &{
    let mut alphabet = [0; 64];
    let mut index = 0;
    while index < 64 {
        alphabet[index] = character(index as u8);
        index += 1;
    }
    alphabet
};

/// All bytes.
const BYTES: &[u8; 256] = &{
    let mut bytes = [0; 256];
    let mut index = 0;
    while index < 256 {
        bytes[index] = index as u8;
        index += 1;
    }
    bytes
};

impl Bytes {
    fn alphabet(&self) -> Alphabet {
        Alphabet(if self.text { ALPHABET } else { BYTES })
    }
}

/// The domain of strings of a fixed length.
impl Domain for Bytes {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(self.alphabet().count(self.max as usize))
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        let kind = if self.text { VectorKind::Text } else { VectorKind::Blob };
        self.alphabet().nth(kind, self.max as usize, at.key, numbers, out);
        Ok(())
    }
}

/// The random bytes of some rows. Each row has its own words, as many as the longest string needs.
#[derive(Clone, Copy)]
struct Content {
    key: Key,
    first: u64,
    words: u64,
}

impl Content {
    /// Writes each row's bytes, and up to [`SLACK`] more, to the row's place.
    ///
    /// Short strings are written with all words of the longest, since a branch on the length would be mispredicted (`benches/gen.rs`,
    /// text(3, 20): 10 ns with the branch, 4 without).
    #[inline(always)]
    fn write(self, places: impl Iterator<Item = Range<usize>>, out: &mut [u8]) {
        const { assert!(SLACK >= 40) };
        match self.words {
            0 => (),
            1 => self.write_words::<1>(places, out),
            2 => self.write_words::<2>(places, out),
            3 => self.write_words::<3>(places, out),
            4 => self.write_words::<4>(places, out),
            5 => self.write_words::<5>(places, out),
            words => {
                for (row, place) in (self.first..).zip(places) {
                    let (mut word, mut at) = (row.wrapping_mul(words), place.start);
                    while at < place.end {
                        out[at..][..8].copy_from_slice(&self.key.word(word).to_le_bytes());
                        (at, word) = (at + 8, word.wrapping_add(1));
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn write_words<const WORDS: usize>(self, places: impl Iterator<Item = Range<usize>>, out: &mut [u8]) {
        for (row, place) in (self.first..).zip(places) {
            let word = row.wrapping_mul(WORDS as u64);
            let (words, _) = out[place.start..][..8 * WORDS].as_chunks_mut::<8>();
            for (index, slot) in words.iter_mut().enumerate() {
                *slot = self.key.word(word.wrapping_add(index as u64)).to_le_bytes();
            }
        }
    }
}

/// Returns the character for a random byte: six of its bits choose among 64. Comparisons instead of a table let
/// the loop be vectorized.
#[inline(always)]
const fn character(byte: u8) -> u8 {
    let index = byte & 63;
    let shift = match index {
        0..26 => b'a',
        26..52 => b'A' - 26,
        52..62 => b'0'.wrapping_sub(52),
        62 => b'-'.wrapping_sub(62),
        _ => b'_' - 63,
    };
    index.wrapping_add(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_characters_of_texts_are_sixty_four_and_equally_likely() {
        let mut seen = [0; 256];
        (0..=255).for_each(|byte| seen[usize::from(character(byte))] += 1);
        let alphabet = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(['-', '_']);
        assert!(alphabet.into_iter().all(|letter| seen[letter as usize] == 4));
    }

    #[test]
    fn six_digits_takes_the_first_digits_of_the_fraction() {
        // 0.123456789... of 2^64
        let mut bits = (0.123_456_789_012_5 * 2f64.powi(64)) as u64;
        assert_eq!(&six_digits(&mut bits).to_le_bytes()[..6], b"123456");
        assert_eq!(&six_digits(&mut bits).to_le_bytes()[..6], b"789012");
        assert_eq!(&six_digits(&mut { u64::MAX }).to_le_bytes()[..6], b"999999");
        assert_eq!(&six_digits(&mut 0).to_le_bytes()[..6], b"000000");
    }
}
