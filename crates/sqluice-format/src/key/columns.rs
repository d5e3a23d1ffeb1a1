//! Iterates over the columns of a record without building a list of them.

use std::cmp::Ordering;

use crate::record;
use crate::value::{FIXED_BYTES, SerialType, Value};
use crate::varint;

/// A cursor that walks the header and the body of a record side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns<'a> {
    pub(super) record: &'a [u8],
    /// The serial types of the remaining columns.
    types: &'a [u8],
    /// The offset of the next column's value.
    body: usize,
}

/// The serial type of a column and the offsets of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) serial: SerialType,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'a> Columns<'a> {
    /// Returns a cursor before the first column.
    ///
    /// # Panics
    /// If `record` is not a record.
    #[inline]
    pub(super) fn of(record: &'a [u8]) -> Columns<'a> {
        let (header_bytes, rest) = read_varint(record);
        let body = usize::try_from(header_bytes).expect("a record");
        Columns { record, types: &record[record.len() - rest.len()..body], body }
    }

    /// Advances to the next column and returns it.
    ///
    /// # Panics
    /// If the column does not exist, or the bytes are not a record.
    #[inline]
    pub(super) fn next_column(&mut self) -> Column {
        let (serial, rest) = read_varint(self.types);
        self.types = rest;
        let bytes = match serial {
            0..10 => usize::from(FIXED_BYTES[serial as usize]),
            _ => ((serial - 12) / 2) as usize,
        };
        let start = self.body;
        self.body += bytes;
        Column { serial: SerialType(serial), start, end: self.body }
    }

    /// Advances to the next column and returns its value.
    ///
    /// # Panics
    /// Like [`Columns::next_column`].
    #[inline]
    pub(super) fn next_value(&mut self) -> Value<'a> {
        let column = self.next_column();
        self.value(column)
    }

    /// Returns the value of a column.
    #[inline]
    pub(super) fn value(&self, column: Column) -> Value<'a> {
        let Column { serial, start, end } = column;
        let content = &self.record[start..end];
        match serial.0 {
            0 => Value::Null,
            1..=6 => Value::Int(int(self.record, start, end)),
            7 => Value::Real(f64::from_bits(record::int(content) as u64)),
            8 | 9 => Value::Int(serial.0 as i64 - 8),
            type_ if type_ % 2 == 0 => Value::Blob(content),
            _ => Value::Text(content),
        }
    }
}

/// Compares two byte strings. Short ones are compared word by word, which is faster than a call.
#[inline]
pub(super) fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    const WORDS: usize = 4;
    let (mut left, mut right) = (a, b);
    for _ in 0..WORDS {
        let (Some((x, after_x)), Some((y, after_y))) = (left.split_first_chunk(), right.split_first_chunk())
        else {
            break;
        };
        let order = u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y));
        if order.is_ne() {
            return order;
        }
        (left, right) = (after_x, after_y);
    }
    if left.len() >= 8 || right.len() >= 8 {
        return left.cmp(right);
    }
    let word = |bytes: &[u8]| bytes.iter().fold(1, |word: u64, byte| word << 8 | u64::from(*byte));
    match left.len() == right.len() {
        true => word(left).cmp(&word(right)),
        false => left.cmp(right),
    }
}

/// Returns the big-endian integer of 1 to 8 bytes from `start` to `end`.
#[inline]
pub(super) fn int(record: &[u8], start: usize, end: usize) -> i64 {
    let unused = 64 - 8 * (end - start);
    match record[..end].last_chunk() {
        Some(bytes) => i64::from_be_bytes(*bytes) << unused >> unused,
        None => (first_word(record) << (8 * start)) as i64 >> unused,
    }
}

/// Returns the first 16 bytes of a value as a big-endian number. A shorter value is padded with zeros.
#[inline]
pub(super) fn start_of(record: &[u8], start: usize, end: usize) -> u128 {
    let bytes = end - start;
    if bytes >= 16 {
        return first_16(record, start);
    }
    if bytes <= 8 {
        let unused = (64 - 8 * bytes) as u32;
        let word = word(record, start, end) & u64::MAX.checked_shl(unused).unwrap_or(0);
        return u128::from(word) << 64;
    }
    let first = word(record, start, start + 8);
    // The shift drops the bytes that are already in the first word.
    let rest = word(record, end - 8, end) << (8 * (16 - bytes));
    u128::from(first) << 64 | u128::from(rest)
}

/// Returns the first 16 bytes of a value of at least 16 bytes.
#[inline]
pub(super) fn first_16(record: &[u8], start: usize) -> u128 {
    u128::from_be_bytes(*record[start..].first_chunk().expect("16 bytes of a value"))
}

/// Returns up to 8 bytes from `start` to `end` in the highest bytes of a word. The other bytes are arbitrary.
#[inline]
pub(super) fn word(record: &[u8], start: usize, end: usize) -> u64 {
    if let Some(bytes) = record.get(start..).and_then(|rest| rest.first_chunk()) {
        return u64::from_be_bytes(*bytes);
    }
    // The record ends within the word, so the word that ends with the value is loaded.
    match record[..end].last_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes).checked_shl((64 - 8 * (end - start)) as u32).unwrap_or(0),
        None => first_word(record) << (8 * start),
    }
}

/// Returns the first 8 bytes of a record as a big-endian number. A shorter record is padded with zeros.
#[inline]
pub(super) fn first_word(record: &[u8]) -> u64 {
    let unused = 64 - 8 * record.len().min(8) as u32;
    if let Some(bytes) = record.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    match (record.first_chunk(), record.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            // The bytes in the middle are in both words.
            u64::from(first) << 32 | u64::from(last) << unused
        }
        _ => {
            let word = record.iter().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
            word.checked_shl(unused).unwrap_or(0)
        }
    }
}

/// Returns a varint and the bytes after it.
#[inline]
fn read_varint(bytes: &[u8]) -> (u64, &[u8]) {
    match bytes.split_first() {
        Some((&byte, rest)) if byte < 0x80 => (byte.into(), rest),
        _ => read_long_varint(bytes),
    }
}

#[cold]
#[inline(never)]
fn read_long_varint(bytes: &[u8]) -> (u64, &[u8]) {
    let (value, n) = varint::read(bytes).expect("a record has the columns of its key");
    (value, &bytes[n..])
}
