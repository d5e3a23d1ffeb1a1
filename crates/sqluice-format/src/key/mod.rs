//! The order of keys in an index ([§2.3](https://www.sqlite.org/fileformat2.html#representation_of_sql_indices),
//! [datatypes §4.1](https://www.sqlite.org/datatype3.html#sort_order)).
//!
//! NULL sorts before numbers, numbers before text, and text before blobs. Integers and floats are compared by their exact values, texts by
//! the collation. A descending column reverses the order. Columns are compared one after another.
//!
//! The order has two implementations: [`KeyOrder::compare`] walks two records, and a *normalized key* is compared byte by byte with other
//! keys of the same order. The bytes of a column show where the column ends, so no key is the beginning of another. A descending column has
//! all of its bytes inverted.
//!
//! ```text
//!  +------+---------------+------+---------------+
//!  | kind | value         | kind | value         | ...
//!  +------+---------------+------+---------------+
//!
//!  kind   value
//!  01     NULL: nothing
//!  76-7e  negative numbers: the bytes of the positive number inverted
//!  80     0: nothing
//!  80+n   2 * i + f in n = 1 to 8 bytes, big-endian, for a number below 2^63: i is the whole part, f is 1 with a fraction
//!           then the fraction, if any: 52 - log2(i) bits, left-aligned in as few bytes as possible
//!           if i = 0, the whole number as a big-endian IEEE 754 float instead
//!  89     numbers from 2^63 on as a big-endian IEEE 754 float
//!  a0     text: the bytes that its collation compares, and 00; the byte 00 becomes 01 01, 01 becomes 01 02
//!           NOCASE: letters folded; from the first NUL on, 01 01 and the length of all in 8 bytes instead
//!  b0     blob: as text
//! ```
//!
//! The key of a six-character text and a rowid below 2^39 has 14 bytes, the key of any integer and such a rowid at most 15. So
//! [`KeyOrder::prefix`], the first 16 bytes, is usually the whole key, and sorting needs no other bytes. If it is the whole key, and the
//! key has all columns, no float and no text other than BINARY, the prefix even decodes to the record ([`KeyOrder::decodable_prefix`]), and
//! nothing else needs to be stored. Two integers have an even simpler key ([`KeyOrder::pair`]). Records that begin with a UUID have a key
//! of their own ([`KeyOrder::uuid_key`]), because their normalized keys are too long for two words.

mod ascends;
mod columns;
mod decodable;
mod number;
mod pair;
mod prefix;
mod uuid;

use std::cmp::Ordering;

use crate::value::Value;
use columns::Columns;
pub use decodable::{DECODED_BYTES_MAX, DECODED_ROOM};
use number::NumberKey;
pub use pair::{PAIRED_NULL, paired_int, short_half};

/// The first bytes of normalized columns, except those of numbers.
const KIND_NULL: u8 = 0x01;
const KIND_TEXT: u8 = 0xa0;
const KIND_BLOB: u8 = 0xb0;

/// The byte after a text or blob.
const END: u8 = 0x00;

/// The byte that escapes 00 and 01, which are written as [`ESCAPED_00`] and [`ESCAPED_01`] after it.
const ESCAPE: u8 = 0x01;
const ESCAPED_00: u8 = 0x01;
const ESCAPED_01: u8 = 0x02;

/// The order of text ([datatypes §7](https://www.sqlite.org/datatype3.html#collation)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Collation {
    /// The order of the bytes.
    #[default]
    Binary,
    /// The order of the bytes, with the ASCII letters A to Z folded to a to z.
    NoCase,
    /// The order of the bytes, without trailing spaces.
    RTrim,
}

/// A column of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyColumn {
    /// The collation by which texts in the column are compared.
    pub collation: Collation,
    /// `true` if the order is descending.
    pub descending: bool,
}

/// The order of records by their leading columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyOrder {
    columns: Box<[KeyColumn]>,
}

impl KeyOrder {
    /// Creates an order by these columns.
    pub fn new(columns: impl Into<Box<[KeyColumn]>>) -> KeyOrder {
        KeyOrder { columns: columns.into() }
    }

    /// Returns the columns of the key.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// Compares two records by the columns of the key.
    ///
    /// # Panics
    /// If either is not a record, or has fewer columns than the key.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare_columns(a, b, self.columns.len())
    }

    /// Compares two records by the first `columns` columns of the key.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    pub fn compare_columns(&self, a: &[u8], b: &[u8], columns: usize) -> Ordering {
        let (mut a, mut b) = (Columns::of(a), Columns::of(b));
        for column in self.columns.iter().take(columns) {
            let order = column.compare_columns(&mut a, &mut b);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Returns `true` if any of the first `columns` columns of the key is NULL in this record. UNIQUE treats such a record as different
    /// from all others.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    pub fn has_null(&self, record: &[u8], columns: usize) -> bool {
        let mut values = Columns::of(record);
        (0..columns.min(self.columns.len())).any(|_| values.next_column().serial.0 == 0)
    }

    /// Appends the normalized key of a record to `key`. Normalized keys sort by their bytes, and equal keys have equal bytes.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    pub fn normalize(&self, record: &[u8], key: &mut Vec<u8>) {
        self.normalize_until(record, usize::MAX, key);
    }

    /// Appends the normalized key of a record, and may stop once `key` has `bytes_max` bytes.
    fn normalize_until(&self, record: &[u8], bytes_max: usize, key: &mut Vec<u8>) {
        let mut values = Columns::of(record);
        for column in &self.columns {
            if key.len() >= bytes_max {
                break;
            }
            column.normalize(&values.next_value(), bytes_max, key);
        }
    }
}

impl KeyColumn {
    /// Compares the next columns of two records. Integers and BINARY text are compared without decoding a [`Value`].
    #[inline]
    fn compare_columns(self, a: &mut Columns<'_>, b: &mut Columns<'_>) -> Ordering {
        let (x, y) = (a.next_column(), b.next_column());
        let order = match (x.serial.0, y.serial.0) {
            (1..=6, 1..=6) => {
                columns::int(a.record, x.start, x.end).cmp(&columns::int(b.record, y.start, y.end))
            }
            (13.., 13..) if x.serial.0 & y.serial.0 & 1 == 1 && self.collation == Collation::Binary => {
                columns::compare_bytes(&a.record[x.start..x.end], &b.record[y.start..y.end])
            }
            _ => return self.compare(&a.value(x), &b.value(y)),
        };
        if self.descending { order.reverse() } else { order }
    }

    /// Compares two values of the column, in its collation and direction.
    #[inline]
    pub fn compare(self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        let class = |value: &Value<'_>| match value {
            Value::Null => 0,
            Value::Int(_) | Value::Real(_) => 1,
            Value::Text(_) => 2,
            Value::Blob(_) => 3,
        };
        let order = match (a, b) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => self.collation.compare(a, b),
            (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
            (Value::Real(a), Value::Real(b)) => a.partial_cmp(b).expect("no NaN"),
            (Value::Int(a), Value::Real(b)) => number::compare_int_real(*a, *b),
            (Value::Real(a), Value::Int(b)) => number::compare_int_real(*b, *a).reverse(),
            _ => class(a).cmp(&class(b)),
        };
        if self.descending { order.reverse() } else { order }
    }

    /// Appends the normalized form of a value to `key`. Text and blobs may be cut off after `bytes_max` bytes.
    fn normalize(self, value: &Value<'_>, bytes_max: usize, key: &mut Vec<u8>) {
        let start = key.len();
        match *value {
            Value::Null => key.push(KIND_NULL),
            Value::Int(int) => NumberKey::of_int(int).push_to(key),
            Value::Real(real) => NumberKey::of_real(real).push_to(key),
            Value::Text(text) => {
                key.push(KIND_TEXT);
                self.collation.normalize(text, bytes_max, key);
            }
            Value::Blob(blob) => {
                key.push(KIND_BLOB);
                Collation::Binary.normalize(blob, bytes_max, key);
            }
        }
        if self.descending {
            key[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

impl Collation {
    /// Compares two texts in this collation.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Collation::Binary => a.cmp(b),
            Collation::RTrim => trimmed(a).cmp(trimmed(b)),
            // Letters are compared up to the first NUL, then the lengths: SQLite's comparison treats texts as C strings.
            Collation::NoCase => folded(a).cmp(folded(b)).then(a.len().cmp(&b.len())),
        }
    }

    /// Appends the normalized form of a text. It includes the end byte unless the text is cut off after `bytes_max` bytes.
    fn normalize(self, text: &[u8], bytes_max: usize, key: &mut Vec<u8>) {
        let seen = if self == Collation::RTrim { trimmed(text) } else { text };
        // Each byte becomes one or more bytes of the key.
        let taken = &seen[..seen.len().min(bytes_max)];
        let start = key.len();
        if taken.iter().fold(false, |escape, &byte| escape | (byte <= ESCAPE)) {
            return self.normalize_escaped(taken, text.len(), key);
        }
        key.extend_from_slice(taken);
        if self == Collation::NoCase {
            key[start..].make_ascii_lowercase();
        }
        key.push(END);
    }

    /// Normalizes a text that contains the bytes 00 or 01, byte by byte. `text_bytes` is the size of the entire text.
    fn normalize_escaped(self, text: &[u8], text_bytes: usize, key: &mut Vec<u8>) {
        for &byte in text {
            match byte {
                0x00 => {
                    key.extend([ESCAPE, ESCAPED_00]);
                    if self == Collation::NoCase {
                        key.extend((text_bytes as u64).to_be_bytes());
                        return;
                    }
                }
                0x01 => key.extend([ESCAPE, ESCAPED_01]),
                _ if self == Collation::NoCase => key.push(byte.to_ascii_lowercase()),
                _ => key.push(byte),
            }
        }
        key.push(END);
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

fn folded(text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    until_nul(text).iter().map(u8::to_ascii_lowercase)
}

fn until_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    &text[..end]
}
