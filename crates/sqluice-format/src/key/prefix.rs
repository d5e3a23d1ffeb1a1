//! The first 16 bytes of normalized keys as numbers, computed without the other bytes.

use super::columns::{self, Column, Columns};
use super::number::NumberKey;
use super::{Collation, END, ESCAPE, ESCAPED_00, KIND_BLOB, KIND_NULL, KIND_TEXT, KeyColumn, KeyOrder};
use crate::value::SerialType;

/// The byte 01, sixteen times.
const ONES: u128 = u128::MAX / 0xff;

/// The part of a prefix that belongs to one column.
#[derive(Clone, Copy)]
pub(super) struct KeyPart {
    /// The bytes as a big-endian number, padded with zeros.
    left: u128,
    /// The number of bytes. A part of more than 16 bytes is cut off.
    pub(super) bytes: usize,
}

impl KeyPart {
    pub(super) const NULL: KeyPart = KeyPart { left: (KIND_NULL as u128) << 120, bytes: 1 };

    #[inline]
    pub(super) fn of_int(int: i64) -> KeyPart {
        number_part(NumberKey::of_int(int))
    }

    /// Returns the part's bytes, shifted to offset `before` of the prefix and inverted if the column is descending.
    #[inline]
    pub(super) fn within(self, column: &KeyColumn, before: usize) -> u128 {
        let inverted = if column.descending { first_bytes(self.bytes) } else { 0 };
        (self.left ^ inverted) >> (8 * before)
    }
}

impl KeyOrder {
    /// Returns the first 16 bytes of the normalized key as a big-endian number, padded with zeros. Of two records with different prefixes,
    /// the record with the smaller prefix sorts first. Records with equal prefixes have equal keys if the prefix is
    /// [whole](KeyOrder::prefix_is_whole); otherwise the prefix does not decide.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    #[inline]
    pub fn prefix(&self, record: &[u8]) -> u128 {
        let mut columns = Columns::of(record);
        let (mut prefix, mut bytes) = (0, 0);
        for key_column in self.columns() {
            let column = columns.next_column();
            let part = key_column.part(record, column);
            prefix |= part.within(key_column, bytes);
            bytes += part.bytes;
            if bytes >= 16 {
                break;
            }
        }
        prefix
    }

    /// Returns the 16 bytes of the normalized key from offset `skip_bytes`, in the form of [`KeyOrder::prefix`]. This slower function is
    /// for keys whose first bytes are equal.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    pub fn prefix_at(&self, record: &[u8], skip_bytes: usize) -> u128 {
        if skip_bytes == 0 {
            return self.prefix(record);
        }
        let mut key = Vec::new();
        self.normalize_until(record, skip_bytes.saturating_add(16), &mut key);
        left_of(key.get(skip_bytes..).unwrap_or_default())
    }

    /// Returns `true` if a prefix from [`KeyOrder::prefix`] is the whole key. Records with the same whole prefix have equal keys.
    pub fn prefix_is_whole(&self, prefix: u128) -> bool {
        let mut at = 0;
        for column in self.columns() {
            if at >= 16 {
                return false;
            }
            let left = prefix << (8 * at);
            let bytes = column.bytes_of(if column.descending { !left } else { left });
            at += bytes;
        }
        at <= 16
    }
}

impl KeyColumn {
    /// Returns the first 16 bytes of a value's normalized form, not inverted.
    #[inline]
    pub(super) fn part(self, record: &[u8], column: Column) -> KeyPart {
        let Column { serial: SerialType(serial), start, end } = column;
        let int = match serial {
            1..=6 => columns::int(record, start, end),
            8 | 9 => serial as i64 - 8,
            13.. if end - start <= 8 && serial % 2 == 1 && self.collation == Collation::Binary => {
                return short_part(KIND_TEXT, record, start, end);
            }
            13.. if serial % 2 == 1 && self.collation == Collation::Binary => {
                return first_part(KIND_TEXT, columns::start_of(record, start, end), end - start);
            }
            _ => return self.other_part(record, serial, start, end),
        };
        KeyPart::of_int(int)
    }

    /// Returns the part for values other than integers and BINARY text.
    #[inline(never)]
    fn other_part(self, record: &[u8], serial: u64, start: usize, end: usize) -> KeyPart {
        match serial {
            0 => KeyPart::NULL,
            7 => number_part(NumberKey::of_real(f64::from_bits(columns::int(record, start, end) as u64))),
            blob if blob % 2 == 0 => bytes_part(KIND_BLOB, record, start, end),
            _ => self.collation.part(record, start, end),
        }
    }

    /// Returns the number of bytes of a column whose normalized form, not inverted, begins with the bytes in `left`. If the column's end is
    /// not among the valid bytes, the result exceeds the number of valid bytes.
    fn bytes_of(self, left: u128) -> usize {
        let kind = (left >> 120) as u8;
        match kind {
            KIND_NULL => 1,
            KIND_TEXT | KIND_BLOB => {
                let bytes = left.to_be_bytes();
                let lengths = kind == KIND_TEXT && self.collation == Collation::NoCase;
                let end_at = |at: usize| match bytes[at..] {
                    [END, ..] => Some(at + 1),
                    // The length of the text follows.
                    [ESCAPE, ESCAPED_00, ..] if lengths => Some(at + 2 + 8),
                    _ => None,
                };
                (1..16).find_map(end_at).unwrap_or(17)
            }
            _ => NumberKey::bytes_of(left) as usize,
        }
    }
}

impl Collation {
    #[inline]
    fn part(self, record: &[u8], start: usize, end: usize) -> KeyPart {
        match self {
            Collation::Binary => bytes_part(KIND_TEXT, record, start, end),
            Collation::RTrim => {
                let seen = super::trimmed(&record[start..end]).len();
                bytes_part(KIND_TEXT, record, start, start + seen)
            }
            Collation::NoCase => {
                let first = columns::start_of(record, start, end);
                if has_less_than_2(first, end - start) {
                    let mut key = Vec::new();
                    key.push(KIND_TEXT);
                    self.normalize(&record[start..end], 16, &mut key);
                    return KeyPart { left: left_of(&key), bytes: key.len() };
                }
                first_part(KIND_TEXT, folded(first), end - start)
            }
        }
    }
}

#[inline]
fn number_part(number: NumberKey) -> KeyPart {
    KeyPart { left: number.left, bytes: number.bytes as usize }
}

/// Returns the part for a text or blob.
#[inline]
pub(super) fn bytes_part(kind: u8, record: &[u8], start: usize, end: usize) -> KeyPart {
    let bytes = end - start;
    if bytes <= 8 {
        return short_part(kind, record, start, end);
    }
    first_part(kind, columns::start_of(record, start, end), bytes)
}

/// Returns the part for a text or blob of up to 8 bytes, computed in 64 bits.
#[inline]
fn short_part(kind: u8, record: &[u8], start: usize, end: usize) -> KeyPart {
    let bytes = end - start;
    let unused = u64::MAX.checked_shr(8 * bytes as u32).unwrap_or(0);
    let word = columns::word(record, start, end);
    if less_than_2(word | unused) != 0 {
        return escaped(kind, u128::from(word) << 64, bytes);
    }
    KeyPart { left: u128::from(kind) << 120 | u128::from(word & !unused) << 56, bytes: 1 + bytes + 1 }
}

/// Returns the part for a text or blob of `bytes` bytes, whose first 16 bytes are in `first`.
#[inline]
fn first_part(kind: u8, first: u128, bytes: usize) -> KeyPart {
    if has_less_than_2(first, bytes) {
        return escaped(kind, first, bytes);
    }
    KeyPart { left: u128::from(kind) << 120 | first >> 8, bytes: 1 + bytes + 1 }
}

/// Returns the part for a text or blob with bytes that must be escaped.
#[cold]
#[inline(never)]
fn escaped(kind: u8, first: u128, bytes: usize) -> KeyPart {
    let mut key = vec![kind];
    Collation::Binary.normalize(&first.to_be_bytes()[..bytes.min(16)], usize::MAX, &mut key);
    KeyPart { left: left_of(&key), bytes: key.len() }
}

/// Returns `true` if any of the first `bytes` bytes is 00 or 01.
#[inline]
pub(super) fn has_less_than_2(first: u128, bytes: usize) -> bool {
    let first = first | !first_bytes(bytes);
    less_than_2((first >> 64) as u64) | less_than_2(first as u64) != 0
}

/// Returns a number other than 0 if any of the bytes is 00 or 01.
#[inline]
fn less_than_2(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    word.wrapping_sub(ONES * 2) & !word & (ONES * 0x80)
}

/// Converts the bytes A to Z to a to z.
#[inline]
fn folded(bytes: u128) -> u128 {
    // In each byte, the highest bit of `from_a` says if the other seven bits are at least `A`; that of `beyond_z` says if they are beyond
    // `Z`.
    let seven = bytes & (ONES * 0x7f);
    let from_a = seven + ONES * u128::from(0x80 - b'A');
    let beyond_z = seven + ONES * u128::from(0x7f - b'Z');
    let letters = (from_a ^ beyond_z) & !bytes & (ONES * 0x80);
    bytes | letters >> 2
}

/// Returns the first 16 bytes as a big-endian number, padded with zeros.
fn left_of(bytes: &[u8]) -> u128 {
    let mut first = [0; 16];
    let n = bytes.len().min(16);
    first[..n].copy_from_slice(&bytes[..n]);
    u128::from_be_bytes(first)
}

/// Returns a mask of the first `bytes` bytes.
#[inline]
fn first_bytes(bytes: usize) -> u128 {
    if bytes >= 16 { u128::MAX } else { !(u128::MAX >> (8 * bytes)) }
}
