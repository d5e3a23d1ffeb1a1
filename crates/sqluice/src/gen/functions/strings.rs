//! Strings: `digits`, `text`, `blob`.
//!
//! They are written eight bytes at a time, over the end of each string into the next, which is written afterwards.
//! (Eight strings put together in registers and stored without overlap came out no faster.)

use std::ops::Range;
use std::sync::Arc;

use super::{Arguments, Fault, Function, Generate, LENGTH_MAX, SMALL, Size};
use crate::r#gen::random::{Key, below32, below64};
use crate::r#gen::vector::{Kind, Rows, SLACK, Vector};

const DIGITS_MAX: i64 = 1000;

pub(super) const DIGITS: Function = Function {
    name: "digits",
    signature: "digits(n)",
    about: "a text of n decimal digits, zeros in front among them",
    example: "digits(6)",
    build: |arguments| {
        arguments.count(1)?;
        Ok(Arc::new(Digits { count: arguments.int_within(0, 1, DIGITS_MAX)? as usize }))
    },
};

pub(super) const TEXT: Function = Function {
    name: "text",
    signature: "text(min, max)",
    about: "a text of min to max characters out of a-z, A-Z, 0-9, - and _",
    example: "text(3, 20)",
    build: |arguments| {
        let (min, max) = lengths(arguments)?;
        Ok(Arc::new(Bytes { min, max, text: true }))
    },
};

pub(super) const BLOB: Function = Function {
    name: "blob",
    signature: "blob(min, max)",
    about: "a blob of min to max random bytes",
    example: "blob(16, 64)",
    build: |arguments| {
        let (min, max) = lengths(arguments)?;
        Ok(Arc::new(Bytes { min, max, text: false }))
    },
};

fn lengths(arguments: &Arguments<'_>) -> Result<(u32, u32), Fault> {
    arguments.count(2)?;
    let (min, max) = (arguments.int_within(0, 0, LENGTH_MAX)?, arguments.int_within(1, 0, LENGTH_MAX)?);
    let (min, max) = arguments.ordered((min, max))?;
    Ok((min as u32, max as u32))
}

/// The numbers below 1000 as three digits, the first in the lowest byte.
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

/// Digits that one random word gives.
const WORD_DIGITS: usize = 12;

/// The next six digits of the fraction `bits / 2^64`, in the lower bytes; `bits` goes on to what comes after them.
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
    fn fill(&self, key: Key, rows: Rows, out: &mut Vector) {
        let count = self.count;
        let out = out.fixed(Kind::Text, count, rows.count);
        if count <= 6 {
            for (index, row) in (rows.first..).take(rows.count).enumerate() {
                let mut bits = key.word(row);
                out[index * count..][..8].copy_from_slice(&six_digits(&mut bits).to_le_bytes());
            }
            return;
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
    }

    fn size(&self) -> Size {
        Size { mean: self.count as u64, max: self.count as u64 }
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
    fn fill(&self, key: Key, rows: Rows, out: &mut Vector) {
        let kind = if self.text { Kind::Text } else { Kind::Blob };
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
    }

    fn size(&self) -> Size {
        Size { mean: u64::from(self.min).midpoint(u64::from(self.max)), max: u64::from(self.max) }
    }
}

/// The random bytes of some rows. Each row has words of its own, as many as the longest string needs.
#[derive(Clone, Copy)]
struct Content {
    key: Key,
    first: u64,
    words: u64,
}

impl Content {
    /// Writes each row's bytes, and up to [`SLACK`] more, to its place.
    ///
    /// Of short strings all words are written, however many are needed: a branch on that would be mispredicted (`benches/gen.rs`,
    /// text(3, 20): 10 ns with it, 4 without).
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

/// The character that a random byte stands for: six of its bits choose among 64. Comparisons instead of a table, for
/// the loop to be vectorized.
#[inline(always)]
fn character(byte: u8) -> u8 {
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
    fn six_digits_are_the_first_of_the_fraction() {
        // 0.123456789... of 2^64
        let mut bits = (0.123_456_789_012_5 * 2f64.powi(64)) as u64;
        assert_eq!(&six_digits(&mut bits).to_le_bytes()[..6], b"123456");
        assert_eq!(&six_digits(&mut bits).to_le_bytes()[..6], b"789012");
        assert_eq!(&six_digits(&mut { u64::MAX }).to_le_bytes()[..6], b"999999");
        assert_eq!(&six_digits(&mut 0).to_le_bytes()[..6], b"000000");
    }
}
