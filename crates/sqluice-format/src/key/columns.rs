//! The columns of a record, one after another, without a list of them.

use crate::record;
use crate::value::{FIXED_BYTES, SerialType, Value};
use crate::varint;

/// Walks the header and the body of a record side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns<'a> {
    record: &'a [u8],
    /// Where the next serial type is.
    header: usize,
    header_end: usize,
    /// Where its value begins.
    body: usize,
}

/// One column: its type and where its value is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) serial: SerialType,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'a> Columns<'a> {
    /// # Panics
    /// When it is no record.
    #[inline]
    pub(super) fn of(record: &'a [u8]) -> Columns<'a> {
        let (header_end, header) = read_varint(record, 0);
        let body = usize::try_from(header_end).expect("a record");
        Columns { record, header, header_end: body, body }
    }

    /// # Panics
    /// When there is none, or it is no record.
    #[inline]
    pub(super) fn next_column(&mut self) -> Column {
        assert!(self.header < self.header_end, "a record has the columns of its key");
        let (serial, after) = read_varint(self.record, self.header);
        self.header = after;
        let bytes = match serial {
            0..10 => usize::from(FIXED_BYTES[serial as usize]),
            _ => ((serial - 12) / 2) as usize,
        };
        let start = self.body;
        self.body += bytes;
        Column { serial: SerialType(serial), start, end: self.body }
    }

    /// # Panics
    /// As [`Columns::next_column`].
    #[inline]
    pub(super) fn next_value(&mut self) -> Value<'a> {
        let Column { serial, start, end } = self.next_column();
        let content = self.content(start, end);
        match serial.0 {
            0 => Value::Null,
            1..=6 => Value::Int(self.int(start, end)),
            7 => Value::Real(f64::from_bits(record::int(content) as u64)),
            8 | 9 => Value::Int(serial.0 as i64 - 8),
            type_ if type_ % 2 == 0 => Value::Blob(content),
            _ => Value::Text(content),
        }
    }

    /// The bytes of a value.
    #[inline]
    pub(super) fn content(&self, start: usize, end: usize) -> &'a [u8] {
        &self.record[start..end]
    }

    /// The integer there, of 1 to 8 bytes.
    #[inline]
    pub(super) fn int(&self, start: usize, end: usize) -> i64 {
        (self.window(start) >> 64) as i64 >> (64 - 8 * (end - start))
    }

    /// The 16 bytes that begin there, the first the highest, with zeros after the end of the record.
    #[inline]
    pub(super) fn window(&self, start: usize) -> u128 {
        let record = self.record;
        if let Some(bytes) = record.get(start..).and_then(|rest| rest.first_chunk()) {
            return u128::from_be_bytes(*bytes);
        }
        // What is left is less, so load what ends where the record does.
        match record.last_chunk() {
            Some(last) => {
                let missing = start + 16 - record.len();
                u128::from_be_bytes(*last).checked_shl(8 * missing as u32).unwrap_or(0)
            }
            None => short(record).checked_shl(8 * start as u32).unwrap_or(0),
        }
    }
}

/// Fewer than 16 bytes, the first the highest.
#[inline]
fn short(bytes: &[u8]) -> u128 {
    let missing = 16 - bytes.len() as u32;
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u64::from_be_bytes(*first), u64::from_be_bytes(*last));
            // The bytes in the middle are in both.
            u128::from(first) << 64 | u128::from(last) << (8 * missing)
        }
        _ => bytes.iter().fold(0, |value, &byte| value << 8 | u128::from(byte)) << (8 * missing),
    }
}

/// The varint there, and where it ends.
#[inline]
fn read_varint(bytes: &[u8], at: usize) -> (u64, usize) {
    match bytes.get(at) {
        Some(&byte) if byte < 0x80 => (byte.into(), at + 1),
        _ => {
            let (value, n) = bytes.get(at..).and_then(varint::read).expect("a record");
            (value, at + n)
        }
    }
}
