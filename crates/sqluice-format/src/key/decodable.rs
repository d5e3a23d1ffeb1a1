//! Key-only records: a key of one or two 16-byte words decodes to the whole record, so that only the key must be stored.
//!
//! ```text
//!           header     1000       42
//!  record   03 02 01 | 03 e8    | 2a
//!  key                 82 07 d0 | 81 54       80 + number of bytes, then twice the integer
//! ```
//!
//! A record is key-only if its key has all columns and at most two words, and if its values are integers other than `i64::MIN`, NULL, blobs
//! and BINARY text, each stored in no more bytes than it needs.

use super::columns::{self, Column, Columns};
use super::number::NumberKey;
use super::prefix::{self, KeyPart, has_less_than_2};
use super::{Collation, ESCAPE, ESCAPED_00, KIND_BLOB, KIND_NULL, KIND_TEXT, KeyColumn, KeyOrder};
use crate::value::{FIXED_BYTES, SerialType};

/// The size of a key's word.
const WORD_BYTES: usize = size_of::<u128>();
/// The maximum number of words of a key that decodes to a record.
const WORDS_MAX: usize = 2;

/// The maximum size of a key-only record: a column's value takes at most as many bytes as its part of the key, and its serial type one byte
/// more.
pub const DECODED_BYTES_MAX: usize = 1 + 2 * WORDS_MAX * WORD_BYTES;

/// The size of a buffer for a key-only record: values are written as whole words, so the last words may reach beyond the record's end.
pub const DECODED_ROOM: usize = DECODED_BYTES_MAX + WORDS_MAX * WORD_BYTES;

/// The bytes of a key of `WORDS` words that are not decoded yet, as big-endian numbers padded with zeros.
#[derive(Clone, Copy)]
struct Left<const WORDS: usize>([u128; WORDS]);

impl<const WORDS: usize> Left<WORDS> {
    /// Returns the 16 bytes from byte `at` on as a word. Bytes after the end are zeros.
    #[inline]
    fn word(&self, at: usize) -> u128 {
        let word = |word: usize| self.0.get(word).copied().unwrap_or(0);
        let (first, shift) = (at / WORD_BYTES, 8 * (at % WORD_BYTES) as u32);
        word(first) << shift | word(first + 1) >> 1 >> (u128::BITS - 1 - shift)
    }

    /// Returns the key without its first `bytes` bytes.
    #[inline]
    fn after(self, bytes: usize) -> Left<WORDS> {
        if WORDS == 1 {
            return Left(self.0.map(|word| word.checked_shl(8 * bytes as u32).unwrap_or(0)));
        }
        Left(std::array::from_fn(|word| self.word(bytes + WORD_BYTES * word)))
    }

    /// Returns the key moved to the right by `bytes` bytes, with zero bytes before it. Its last bytes are lost.
    #[inline]
    fn behind(self, bytes: usize) -> Left<WORDS> {
        let shift = 8 * (bytes % WORD_BYTES) as u32;
        Left(std::array::from_fn(|word| {
            let at = |back: usize| word.checked_sub(bytes / WORD_BYTES + back).map_or(0, |word| self.0[word]);
            at(0) >> shift | at(1).checked_shl(u128::BITS - shift).unwrap_or(0)
        }))
    }

    /// Returns the first `bytes` bytes of the key, followed by zeros.
    #[inline]
    fn first(self, bytes: usize) -> [u128; WORDS] {
        let all = Left([u128::MAX; WORDS]).behind(bytes).0;
        std::array::from_fn(|word| self.0[word] & !all[word])
    }

    /// Returns the bytes as they would be if `column` were ascending: all bytes are inverted if the column is descending.
    #[inline]
    fn ascending(self, column: &KeyColumn) -> Left<WORDS> {
        if column.descending { Left(self.0.map(|word| !word)) } else { self }
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        (self.0[at / WORD_BYTES] >> (120 - 8 * (at % WORD_BYTES))) as u8
    }

    /// Returns the number of bytes before the first 00 or 01, which ends a text or escapes a byte.
    #[inline]
    fn plain_bytes(&self) -> usize {
        const LOW: u128 = u128::MAX / 0xff * 0x7f;
        let mut bytes = 0;
        for word in self.0 {
            // In `ends`, the highest bit of a byte is set if this byte of `word` is 00 or 01.
            let some = word & !(u128::MAX / 0xff);
            let ends = !(((some & LOW) + LOW) | some | LOW);
            bytes += ends.leading_zeros() as usize / 8;
            if ends != 0 {
                break;
            }
        }
        bytes
    }
}

impl KeyOrder {
    /// Returns [`KeyOrder::prefix`], and `true` if [`KeyOrder::decode`] converts this prefix back to the record.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    #[inline]
    pub fn decodable_prefix(&self, record: &[u8]) -> (u128, bool) {
        let columns = self.columns();
        let header_bytes = 1 + columns.len();
        // Further columns or longer serial types would make the header longer.
        let mut decodable = usize::from(record[0]) == header_bytes && columns.len() <= 16;
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
            decodable &= key_column.is_decodable(record, column);
            end = column.end;
        }
        (prefix, decodable && bytes <= 16 && record.len() == end)
    }

    /// Returns the prefix of a record with these values, integers or NULL, one for each column of the key, and the size of the record.
    /// Returns `None` if the prefix does not decode to the record.
    #[inline]
    pub fn decodable_prefix_of_ints(&self, values: &[Option<i64>]) -> Option<(u128, usize)> {
        let (mut prefix, mut bytes, mut record_bytes) = (0, 0, 1 + values.len());
        for (column, value) in self.columns().iter().zip(values) {
            let part = match *value {
                Some(i64::MIN) => return None,
                Some(int) => {
                    record_bytes += usize::from(FIXED_BYTES[SerialType::of_int(int).0 as usize]);
                    KeyPart::of_int(int)
                }
                None => KeyPart::NULL,
            };
            if bytes + part.bytes > 16 {
                return None;
            }
            prefix |= part.within(column, bytes);
            bytes += part.bytes;
        }
        (values.len() == self.columns().len()).then_some((prefix, record_bytes))
    }

    /// Returns the normalized key in two words, the first of which is [`KeyOrder::prefix`], and the size of the key. Returns `None` if the
    /// key is longer or does not decode to the record.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    #[inline]
    pub fn decodable_key(&self, record: &[u8]) -> Option<([u128; WORDS_MAX], usize)> {
        let columns = self.columns();
        let header_bytes = 1 + columns.len();
        if usize::from(record[0]) != header_bytes || columns.len() > WORDS_MAX * WORD_BYTES {
            return None;
        }
        let (mut values, mut end) = (Columns::of(record), header_bytes);
        let (mut key, mut bytes, mut is_plain) = ([0; WORDS_MAX], 0, true);
        for key_column in columns {
            let column = values.next_column();
            if !key_column.is_decodable(record, column) {
                return None;
            }
            let (part, part_bytes) = match column.serial.0 {
                0..=11 => {
                    let part = key_column.part(record, column);
                    ([part.within(&KeyColumn::default(), 0), 0], part.bytes)
                }
                serial => {
                    let Column { start, end, .. } = column;
                    let kind = if serial % 2 == 1 { KIND_TEXT } else { KIND_BLOB };
                    let (part, is_this_plain) = bytes_part(kind, record, start, end);
                    is_plain &= is_this_plain;
                    (part, 1 + (end - start) + 1)
                }
            };
            let left = WORDS_MAX * WORD_BYTES - bytes;
            if part_bytes > left {
                return None;
            }
            let part = Left(key_column.in_order(part, part_bytes)).behind(bytes).0;
            key = [key[0] | part[0], key[1] | part[1]];
            bytes += part_bytes;
            end = column.end;
        }
        match is_plain {
            _ if record.len() != end => None,
            true => Some((key, bytes)),
            false => self.escaped_decodable_key(record),
        }
    }

    /// Returns [`KeyOrder::decodable_key`] for a record of a text in `data` and an integer, followed by the size of the integer in the
    /// record. Also returns `None` for records that need a slower method.
    #[inline]
    pub fn decodable_key_of_text(
        &self,
        data: &[u8],
        (start, end): (usize, usize),
        int: i64,
    ) -> Option<([u128; WORDS_MAX], usize, usize)> {
        let [text_column @ KeyColumn { collation: Collation::Binary, .. }, int_column] = self.columns()
        else {
            return None;
        };
        let text_bytes = 1 + end.checked_sub(start)? + 1;
        let int_part = KeyPart::of_int(int);
        let key_bytes = text_bytes + int_part.bytes;
        if int == i64::MIN || key_bytes > WORDS_MAX * WORD_BYTES {
            return None;
        }
        let int_bytes = usize::from(FIXED_BYTES[SerialType::of_int(int).0 as usize]);
        if key_bytes <= WORD_BYTES {
            let text = prefix::bytes_part(KIND_TEXT, data, start, end);
            let word = text.within(text_column, 0) | int_part.within(int_column, text_bytes);
            return (text.bytes == text_bytes).then_some(([word, 0], key_bytes, int_bytes));
        }
        let (text, is_plain) = bytes_part(KIND_TEXT, data, start, end);
        let [first, second] = text_column.in_order(text, text_bytes);
        let int = Left([int_part.within(int_column, 0), 0]).behind(text_bytes).0;
        is_plain.then_some(([first | int[0], second | int[1]], key_bytes, int_bytes))
    }

    /// Returns [`KeyOrder::decodable_key`] for a record with bytes that must be escaped; `None` if the key is longer than two words.
    #[cold]
    fn escaped_decodable_key(&self, record: &[u8]) -> Option<([u128; WORDS_MAX], usize)> {
        let mut key = Vec::new();
        self.normalize(record, &mut key);
        let bytes = key.len();
        key.resize(WORDS_MAX * WORD_BYTES, 0);
        let (first, second) = key.split_first_chunk()?;
        let words = [u128::from_be_bytes(*first), u128::from_be_bytes(*second.first_chunk()?)];
        (bytes <= WORDS_MAX * WORD_BYTES).then_some((words, bytes))
    }

    /// Decodes a key of `WORDS` words and returns the length of the record. The bytes after the record are arbitrary.
    ///
    /// # Panics
    /// If the key can't be decoded. Some such keys give an arbitrary record instead.
    #[inline]
    pub fn decode<const WORDS: usize>(&self, key: [u128; WORDS], record: &mut [u8; DECODED_ROOM]) -> usize {
        const { assert!(WORDS <= WORDS_MAX) };
        let columns = self.columns();
        let mut end = 1 + columns.len();
        record[0] = end as u8;
        let mut left = Left(key);
        for (at, column) in columns.iter().enumerate() {
            // Words are inverted only after they are cut out: the padding is zeros in every key, also where a column is descending.
            let [first] = Left([left.0[0]]).ascending(column).0;
            let (serial, bytes) = match (first >> 120) as u8 {
                KIND_NULL => (0, 1),
                kind @ (KIND_TEXT | KIND_BLOB) => {
                    decode_bytes(kind, left.after(1).ascending(column), record, &mut end)
                }
                _ => decode_int(first, record, &mut end),
            };
            record[1 + at] = serial;
            left = left.after(bytes);
        }
        end
    }
}

/// Returns the normalized form of a text or blob, cut off after two words, and `true` if none of its bytes must be escaped.
#[inline]
fn bytes_part(kind: u8, data: &[u8], start: usize, end: usize) -> ([u128; WORDS_MAX], bool) {
    let second = start + WORD_BYTES;
    let first = columns::start_of(data, start, end);
    let rest = if end > second { columns::start_of(data, second, end) } else { 0 };
    let is_plain = !has_less_than_2(first, end - start) && !has_less_than_2(rest, end.saturating_sub(second));
    let [first, rest] = Left([first, rest]).behind(1).0;
    ([u128::from(kind) << 120 | first, rest], is_plain)
}

/// Decodes the integer at the start of a normalized key, and appends it to the record. Returns its serial type, and the number of bytes
/// that it takes in the key.
#[inline]
fn decode_int(key: u128, record: &mut [u8; DECODED_ROOM], end: &mut usize) -> (u8, usize) {
    let (int, bytes) = NumberKey::int_of(key);
    let serial = SerialType::of_int(int).0 as u8;
    let content = usize::from(FIXED_BYTES[serial as usize]);
    let word = int.checked_shl(64 - 8 * content as u32).unwrap_or(0);
    record[*end..*end + 8].copy_from_slice(&word.to_be_bytes());
    *end += content;
    (serial, bytes as usize)
}

/// Appends a text or blob to the record. `content` is the normalized form of the value without the byte for its kind. Returns its serial
/// type, and the number of bytes that it takes in the key.
#[inline]
fn decode_bytes<const WORDS: usize>(
    kind: u8,
    content: Left<WORDS>,
    record: &mut [u8; DECODED_ROOM],
    end: &mut usize,
) -> (u8, usize) {
    let mut at = content.plain_bytes();
    let mut bytes = at;
    for (word, room) in content.0.iter().zip(record[*end..].as_chunks_mut::<WORD_BYTES>().0) {
        *room = word.to_be_bytes();
    }
    while at + 1 < WORDS * WORD_BYTES && content.byte(at) == ESCAPE {
        // An escaped byte takes two bytes of the key.
        record[*end + bytes] = if content.byte(at + 1) == ESCAPED_00 { 0 } else { 1 };
        (at, bytes) = (at + 2, bytes + 1);
        let rest = content.after(at);
        let plain = rest.plain_bytes().min(WORDS * WORD_BYTES - at);
        for next in 0..plain {
            record[*end + bytes + next] = rest.byte(next);
        }
        (at, bytes) = (at + plain, bytes + plain);
    }
    *end += bytes;
    let twice = 2 * bytes as u8;
    (twice + if kind == KIND_TEXT { 13 } else { 12 }, 1 + at + 1)
}

impl KeyColumn {
    /// Returns a part of `bytes` bytes, inverted if the column is descending.
    #[inline]
    fn in_order(&self, part: [u128; WORDS_MAX], bytes: usize) -> [u128; WORDS_MAX] {
        let inverted = match self.descending {
            true => Left([u128::MAX; WORDS_MAX]).first(bytes),
            false => [0; WORDS_MAX],
        };
        [part[0] ^ inverted[0], part[1] ^ inverted[1]]
    }

    /// Returns `true` if the value can be restored from its normalized form, and the record stores it in as few bytes as possible.
    #[inline]
    fn is_decodable(&self, record: &[u8], column: Column) -> bool {
        let Column { serial, start, end } = column;
        match serial.0 {
            0 => true,
            1..=6 => {
                let int = columns::int(record, start, end);
                // The normalized form of the smallest integer is that of a float.
                SerialType::of_int(int) == serial && int != i64::MIN
            }
            8 | 9 => true,
            text if text % 2 == 1 => text >= 13 && self.collation == Collation::Binary,
            blob => blob >= 12,
        }
    }
}
