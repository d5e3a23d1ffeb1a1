//! The parser: reads objects into columns.
//!
//! ```text
//!  data   {"id":7,"name":"Oslo","tags":["a","b"]}      to the slots of the row:
//!          ^^^^^                                       id    tag INT    bits 7
//!          the key that is expected next: compared,    name  tag TEXT   bits span of Oslo
//!          not looked up                               tags  tag TEXT   bits span of ["a","b"]
//! ```
//!
//! A repeated key replaces the earlier value. A key that a record lacks is NULL, and has the tag 0.

use sqluice_core::batch::{ROWS_MAX, Span};

use super::fault::{Fault, What};
use super::fields::{Fields, KeyMatch, NewKeys, Target};
use super::nested::{any_number, colon_end, literal, space_end, value_end};
use super::number::Number;
use super::text::string_end;
use crate::csv::FIELD_BYTES_MAX;

/// The tag of an integer. A tag is the kind of a value; 0 is NULL. The tags of a column, joined by or, show the kinds in the column.
pub(super) const INT: u8 = 1;
/// The tag of a float.
pub(super) const REAL: u8 = 2;
/// The tag of a text that stands in the data as it is.
pub(super) const TEXT: u8 = 4;
/// The tag of a text that has escapes in the data.
pub(super) const ESCAPED: u8 = 8;

/// The largest number of bytes of a batch's values, unless 64 rows need more.
const BITS_BYTES_MAX: usize = 2 << 20;

/// The buffers for the values of a batch.
pub(super) struct Scratch {
    /// The largest number of rows of a batch.
    pub(super) rows_max: usize,
    /// The distance between the first values of one slot and the next, in values. It is not a power of two, because then all slots would
    /// compete for a few lines of the cache.
    pub(super) stride: usize,
    pub(super) tags: Vec<u8>,
    /// The value that belongs to each tag: an integer, the bits of a float, or a [`Span`] of text.
    pub(super) bits: Vec<i64>,
    /// The span of each record.
    pub(super) records: Vec<Span>,
}

impl Scratch {
    pub(super) fn new(slots: usize) -> Scratch {
        let fitting = BITS_BYTES_MAX / size_of::<i64>() / slots.max(1);
        let rows_max = (fitting / 64 * 64).clamp(64, ROWS_MAX);
        let stride = rows_max + 8;
        Scratch {
            rows_max,
            stride,
            tags: vec![0; stride * slots],
            bits: vec![0; stride * slots],
            records: vec![Span::default(); rows_max],
        }
    }

    /// Makes all values NULL.
    pub(super) fn clear(&mut self) {
        self.tags.fill(0);
    }

    /// Makes the values of a row NULL.
    pub(super) fn clear_row(&mut self, row: usize) {
        self.tags.iter_mut().skip(row).step_by(self.stride).for_each(|tag| *tag = 0);
    }

    #[inline(always)]
    fn put(&mut self, slot: usize, row: usize, tag: u8, bits: i64) {
        let index = slot * self.stride + row;
        self.tags[index] = tag;
        self.bits[index] = bits;
    }
}

/// Packs a span into an element of [`Scratch::bits`].
#[inline]
pub(super) fn bits_of_span(start: usize, end: usize) -> i64 {
    // A part is shorter than 4 GiB: see `RECORD_BYTES_MAX`.
    ((start as u64) << 32 | (end - start) as u64).cast_signed()
}

#[inline]
pub(super) fn span_of_bits(bits: i64) -> Span {
    Span { start: (bits.cast_unsigned() >> 32) as u32, len: bits.cast_unsigned() as u32 }
}

/// Reads the object at `start`, behind white space, into a row. Returns the end of the object.
#[inline]
pub(super) fn object(
    data: &[u8],
    start: usize,
    fields: &Fields,
    row: usize,
    scratch: &mut Scratch,
    new: &mut NewKeys,
) -> Result<usize, Fault> {
    let mut at = space_end(data, start);
    if data.get(at) != Some(&b'{') {
        return Err(Fault::expected(at, "an object, which begins with {"));
    }
    at = space_end(data, at + 1);
    if data.get(at) == Some(&b'}') {
        return Ok(at + 1);
    }
    let mut next = 0;
    loop {
        let target;
        (target, at) = match fields.expected(data, at, next) {
            Some((field, target, end)) => {
                next = field + 1;
                (target, space_end(data, end))
            }
            None => other_key(data, at, fields, &mut next, new)?,
        };
        at = value(data, at, target, fields.lenient, row, scratch)?;
        at = space_end(data, at);
        match data.get(at) {
            Some(b',') => at = space_end(data, at + 1),
            Some(b'}') => return Ok(at + 1),
            _ => return Err(Fault::expected(at, "a comma or }")),
        }
    }
}

/// Looks up a key that is not the expected one. Returns the target of its value, and the start of the value.
fn other_key(
    data: &[u8],
    at: usize,
    fields: &Fields,
    next: &mut usize,
    new: &mut NewKeys,
) -> Result<(Target, usize), Fault> {
    if data.get(at) != Some(&b'"') {
        return Err(Fault::expected(at, "a key in quotes"));
    }
    let (end, escapes) = string_end(data, at, fields.lenient)?;
    let name = &data[at + 1..end];
    if !escapes && new.follows(name) {
        return Ok((Target::Nothing, colon_end(data, end + 1)?));
    }
    let target = match fields.find(name, escapes) {
        KeyMatch::Known(field) => {
            *next = field + 1;
            fields.target(field)
        }
        KeyMatch::Unwanted => Target::Nothing,
        KeyMatch::New(name) if name.contains('\0') => return Err(Fault { at, what: What::NulInKey }),
        KeyMatch::New(name) => {
            new.add(name, at);
            Target::Nothing
        }
    };
    Ok((target, colon_end(data, end + 1)?))
}

/// Reads a value into a row, and returns its end.
#[inline]
fn value(
    data: &[u8],
    at: usize,
    target: Target,
    lenient: bool,
    row: usize,
    scratch: &mut Scratch,
) -> Result<usize, Fault> {
    let (slot, as_text) = match target {
        Target::Slot(slot) => (slot, false),
        Target::TextSlot(slot) => (slot, true),
        Target::Nothing => return value_end(data, at, lenient),
    };
    match data.get(at) {
        Some(b'"') => {
            let (end, escapes) = string_end(data, at, lenient)?;
            let tag = if escapes { ESCAPED } else { TEXT };
            text(tag, at + 1, end, slot, row, scratch)?;
            Ok(end + 1)
        }
        Some(b'-' | b'0'..=b'9') => {
            let (number, end) = any_number(data, at, lenient)?;
            match number {
                Number::Int(int) if !as_text => scratch.put(slot, row, INT, int),
                Number::Real(real) if !as_text => scratch.put(slot, row, REAL, real.to_bits().cast_signed()),
                _ => text(TEXT, at, end, slot, row, scratch)?,
            }
            Ok(end)
        }
        Some(b'{' | b'[') => {
            let end = value_end(data, at, lenient)?;
            text(TEXT, at, end, slot, row, scratch)?;
            Ok(end)
        }
        _ => {
            let word = literal(data, at, lenient)?;
            match word {
                "null" | "NaN" => scratch.put(slot, row, 0, 0),
                _ if as_text => text(TEXT, at, at + word.len(), slot, row, scratch)?,
                "Infinity" => scratch.put(slot, row, REAL, f64::INFINITY.to_bits().cast_signed()),
                _ => scratch.put(slot, row, INT, i64::from(word == "true")),
            }
            Ok(at + word.len())
        }
    }
}

#[inline]
fn text(
    tag: u8,
    start: usize,
    end: usize,
    slot: usize,
    row: usize,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    if end - start > FIELD_BYTES_MAX {
        return Err(Fault { at: start, what: What::ValueTooLong });
    }
    scratch.put(slot, row, tag, bits_of_span(start, end));
    Ok(())
}

/// Returns the start of a key's value in the valid record that begins at `start`: of the last value, if the key is repeated.
pub(super) fn place_of(data: &[u8], start: usize, fields: &Fields, wanted: usize) -> Option<usize> {
    let mut at = space_end(data, start);
    let mut found = None;
    loop {
        at = space_end(data, at + 1);
        if data.get(at) != Some(&b'"') {
            return found;
        }
        let (end, escapes) = string_end(data, at, fields.lenient).ok()?;
        let begins = colon_end(data, end + 1).ok()?;
        if fields.find(&data[at + 1..end], escapes) == KeyMatch::Known(wanted) {
            found = Some(begins);
        }
        at = space_end(data, value_end(data, begins, fields.lenient).ok()?);
    }
}
