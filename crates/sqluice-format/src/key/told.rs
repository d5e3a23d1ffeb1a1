//! Records that the first 16 bytes of their normalized keys tell, so that nothing else of them need be kept.
//!
//! ```text
//!  record   03 02 01 | 03 e8 | 2a         integers, NULL, blobs and BINARY text, in no more bytes than they need
//!  key      82 07 d0 | 81 54              the key has all columns, and ends within 16 bytes
//! ```

use super::columns::{Column, Columns};
use super::number::NumberKey;
use super::prefix::Part;
use super::{Collation, END, ESCAPE, ESCAPED_00, KIND_BLOB, KIND_NULL, KIND_TEXT, KeyColumn, KeyOrder};
use crate::value::{FIXED_BYTES, SerialType};

/// The most bytes that a record has which its prefix tells: each column's value takes no more than its part of the prefix, and there is a
/// byte for its type.
pub const TOLD_BYTES_MAX: usize = 1 + 16 + 16;

/// Room for such a record: integers are written as whole words, the last one over its end.
pub const TOLD_ROOM: usize = TOLD_BYTES_MAX + 8;

impl KeyOrder {
    /// [`KeyOrder::prefix`], and whether it tells the record: then [`KeyOrder::tell`] makes the same bytes of it.
    ///
    /// # Panics
    /// As [`KeyOrder::compare`].
    #[inline]
    pub fn telling_prefix(&self, record: &[u8]) -> (u128, bool) {
        let columns = self.columns();
        let header_bytes = 1 + columns.len();
        // Of more columns, or longer types, the header has more bytes.
        let mut tells = usize::from(record[0]) == header_bytes && columns.len() <= 16;
        let (mut values, mut end) = (Columns::of(record), header_bytes);
        let (mut prefix, mut bytes) = (0, 0);
        for key_column in columns {
            if bytes >= 16 {
                return (prefix, false);
            }
            let column = values.next_column();
            let part = key_column.part(record, column);
            prefix |= part.within(key_column, bytes);
            bytes += part.bytes;
            tells &= key_column.is_told(record, column);
            end = column.end;
        }
        (prefix, tells && bytes <= 16 && record.len() == end)
    }

    /// The prefix of a record of these values, integers or NULL, one for each column of the key, and how many bytes the record has; `None`
    /// when the prefix does not tell it.
    #[inline]
    pub fn telling_prefix_of_ints(&self, values: &[Option<i64>]) -> Option<(u128, usize)> {
        let (mut prefix, mut bytes, mut record_bytes) = (0, 0, 1 + values.len());
        for (column, value) in self.columns().iter().zip(values) {
            let part = match *value {
                Some(i64::MIN) => return None,
                Some(int) => {
                    record_bytes += usize::from(FIXED_BYTES[SerialType::of_int(int).0 as usize]);
                    Part::of_int(int)
                }
                None => Part::NULL,
            };
            if bytes + part.bytes > 16 {
                return None;
            }
            prefix |= part.within(column, bytes);
            bytes += part.bytes;
        }
        (values.len() == self.columns().len()).then_some((prefix, record_bytes))
    }

    /// Writes the record that a prefix tells, and anything behind it; returns how many bytes it has.
    ///
    /// # Panics
    /// Perhaps, when it tells none.
    #[inline]
    pub fn tell(&self, prefix: u128, record: &mut [u8; TOLD_ROOM]) -> usize {
        let columns = self.columns();
        let mut end = 1 + columns.len();
        record[0] = end as u8;
        let mut left = prefix;
        for (at, column) in columns.iter().enumerate() {
            let plain = if column.descending { !left } else { left };
            let (serial, bytes) = match (plain >> 120) as u8 {
                KIND_NULL => (0, 1),
                kind @ (KIND_TEXT | KIND_BLOB) => tell_bytes(kind, plain, record, &mut end),
                _ => tell_int(plain, record, &mut end),
            };
            record[1 + at] = serial;
            left = left.checked_shl(8 * bytes).unwrap_or(0);
        }
        end
    }
}

/// Appends the integer with which a normalized key begins: its serial type, and how many bytes of the key it takes.
#[inline]
fn tell_int(key: u128, record: &mut [u8; TOLD_ROOM], end: &mut usize) -> (u8, u32) {
    let (int, bytes) = NumberKey::int_of(key);
    let serial = SerialType::of_int(int).0 as u8;
    let content = usize::from(FIXED_BYTES[serial as usize]);
    let word = int.checked_shl(64 - 8 * content as u32).unwrap_or(0);
    record[*end..*end + 8].copy_from_slice(&word.to_be_bytes());
    *end += content;
    (serial, bytes)
}

/// The same for text or a blob.
#[inline]
fn tell_bytes(kind: u8, key: u128, record: &mut [u8; TOLD_ROOM], end: &mut usize) -> (u8, u32) {
    let (key, start, mut at) = (key.to_be_bytes(), *end, 1);
    while at < 16 && key[at] != END {
        let mut byte = key[at];
        if byte == ESCAPE && at < 15 {
            at += 1;
            byte = if key[at] == ESCAPED_00 { 0 } else { 1 };
        }
        record[*end] = byte;
        *end += 1;
        at += 1;
    }
    let twice = 2 * (*end - start) as u8;
    (twice + if kind == KIND_TEXT { 13 } else { 12 }, at as u32 + 1)
}

impl KeyColumn {
    /// Whether the value is all that its normalized form can mean, stored as it always is.
    #[inline]
    fn is_told(&self, record: &[u8], column: Column) -> bool {
        let Column { serial, start, end } = column;
        match serial.0 {
            0 => true,
            1..=6 => {
                let int = super::columns::int(record, start, end);
                // The smallest is written as a float would be.
                SerialType::of_int(int) == serial && int != i64::MIN
            }
            8 | 9 => true,
            text if text % 2 == 1 => text >= 13 && self.collation == Collation::Binary,
            blob => blob >= 12,
        }
    }
}
