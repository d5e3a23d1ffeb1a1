//! Values, storage classes and serial types
//! ([§2.1](https://www.sqlite.org/fileformat2.html#record_format)).
//!
//! | serial type | bytes | meaning |
//! |---|---|---|
//! | 0 | 0 | NULL |
//! | 1, 2, 3, 4, 5, 6 | 1, 2, 3, 4, 6, 8 | big-endian two's-complement integer |
//! | 7 | 8 | big-endian IEEE 754 float |
//! | 8, 9 | 0 | the integers 0 and 1 |
//! | 10, 11 | | reserved |
//! | N >= 12, even | (N-12)/2 | BLOB |
//! | N >= 13, odd | (N-13)/2 | text |

/// A value as SQLite stores it. Text and blobs are borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A 64-bit signed integer.
    Int(i64),
    /// A 64-bit float. SQLite stores no NaN: writers must turn it into [`Value::Null`] first.
    Real(f64),
    /// Text in the encoding of the database; sqluice writes UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// A serial type: the class and length of a value, as encoded in a record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialType(pub u64);

/// The storage class that a serial type denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// NULL, of no bytes.
    Null,
    /// An integer of 0, 1, 2, 3, 4, 6 or 8 bytes.
    Int,
    /// A float of 8 bytes.
    Real,
    /// Text of any length.
    Text,
    /// Bytes of any length.
    Blob,
}

/// The number of bytes of a value by its serial type, for the serial types 0 to 9.
pub const FIXED_BYTES: [u8; 10] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

/// The serial type of an integer, by its number of bits.
const TYPE_OF_BITS: [u8; 65] = {
    let mut types = [6; 65];
    let mut bits = 0;
    while bits < 48 {
        types[bits] = match bits {
            0..=7 => 1,
            8..=15 => 2,
            16..=23 => 3,
            24..=31 => 4,
            _ => 5,
        };
        bits += 1;
    }
    types
};

impl SerialType {
    /// The serial type of NULL.
    pub const NULL: SerialType = SerialType(0);
    /// The serial type of a float.
    pub const REAL: SerialType = SerialType(7);

    /// Returns the narrowest serial type that holds `value`. 0 and 1 take no bytes (schema format 4).
    #[inline]
    pub const fn of_int(value: i64) -> SerialType {
        // The number of bits without the sign: 7 fit one byte, 15 two, ... A table avoids branches, which a column of mixed widths would
        // mispredict.
        let bits = 64 - (value ^ (value >> 63)).leading_zeros();
        let wide = TYPE_OF_BITS[bits as usize] as u64;
        SerialType(if value as u64 <= 1 { 8 + value as u64 } else { wide })
    }

    /// Returns the serial type of a text of `bytes` bytes.
    #[inline]
    pub const fn of_text(bytes: usize) -> SerialType {
        SerialType(bytes as u64 * 2 + 13)
    }

    /// Returns the serial type of a blob of `bytes` bytes.
    #[inline]
    pub const fn of_blob(bytes: usize) -> SerialType {
        SerialType(bytes as u64 * 2 + 12)
    }

    /// Returns the serial type of a value.
    pub const fn of(value: &Value<'_>) -> SerialType {
        match value {
            Value::Null => SerialType::NULL,
            Value::Int(i) => SerialType::of_int(*i),
            Value::Real(_) => SerialType::REAL,
            Value::Text(text) => SerialType::of_text(text.len()),
            Value::Blob(blob) => SerialType::of_blob(blob.len()),
        }
    }

    /// Returns the size of the value in the record's body; `None` for the reserved types 10 and 11.
    pub const fn content_bytes(self) -> Option<u64> {
        match self.0 {
            0..=9 => Some(FIXED_BYTES[self.0 as usize] as u64),
            10 | 11 => None,
            n => Some((n - 12) / 2),
        }
    }

    /// Returns the storage class; `None` for the reserved types 10 and 11.
    pub const fn class(self) -> Option<Class> {
        match self.0 {
            0 => Some(Class::Null),
            1..=6 | 8 | 9 => Some(Class::Int),
            7 => Some(Class::Real),
            10 | 11 => None,
            n if n % 2 == 0 => Some(Class::Blob),
            _ => Some(Class::Text),
        }
    }
}
