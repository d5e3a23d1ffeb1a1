//! Records that begin with a UUID, as keys of four numbers. A UUID takes 16 bytes of its key instead of the 36 bytes of its text, and the
//! keys sort like the texts.
//!
//! ```text
//!  text   550e8400-e29b-41d4-a716-446655440000      36 bytes: hexadecimal digits in lower case, and four hyphens
//!
//!  key columns       record             key
//!  uuid              uuid               550e8400e29b41d4 a716446655440000 0 0
//!  uuid              uuid, number       550e8400e29b41d4 a716446655440000 type content      a number or NULL decides between equal UUIDs
//!  uuid, integer     uuid, integer      550e8400e29b41d4 a716446655440000 half 0            of a pair: see `pair`
//! ```
//!
//! The numbers of descending columns are inverted.

use super::decodable::DECODED_ROOM;
use super::pair::{half_of, paired_int, push_half};
use super::{Collation, KIND_TEXT, KeyColumn, KeyOrder, prefix};
use crate::record;
use crate::value::{FIXED_BYTES, SerialType};

/// The size of the text of a UUID.
const TEXT_BYTES: usize = 36;
/// The serial type of the text.
const TEXT_TYPE: u8 = 13 + 2 * TEXT_BYTES as u8;
/// The offsets of the digits: each pair is eight digits, four at each offset.
const DIGITS: [(usize, usize); 4] = [(0, 4), (9, 14), (19, 24), (28, 32)];
/// The offsets of the hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The third number for a record that only has a UUID. For other records, it is the serial type of the second value plus [`FIRST_TYPE`].
const ALONE: u64 = 0;
const FIRST_TYPE: u64 = 1;

/// The byte 01 eight times, and a mask of the lower half of each byte.
const EACH: u64 = u64::MAX / 0xff;
const HALVES: u64 = EACH * 0x0f;

impl KeyOrder {
    /// Returns `true` if records of this order may have UUID keys.
    fn has_uuids(&self) -> bool {
        matches!(self.columns(), [first] | [first, _] if first.collation == Collation::Binary)
    }

    /// Returns the key of a record that begins with a UUID. Returns `None` for any other record, and if the key has no room for the value
    /// after the UUID.
    #[inline]
    pub fn uuid_key(&self, record: &[u8]) -> Option<[u64; 4]> {
        if !self.has_uuids() {
            return None;
        }
        let (text_at, serial) = match *record {
            [2, TEXT_TYPE, ..] if self.columns().len() == 1 => (2, None),
            [3, TEXT_TYPE, serial, ..] => (3, Some(serial)),
            _ => return None,
        };
        let [high, low] = uuid(record[text_at..].first_chunk()?)?;
        let mut end = text_at + TEXT_BYTES;
        let [rest, content] = match serial {
            None => [ALONE, 0],
            Some(serial) if self.columns().len() == 2 => [half_of(record, serial, &mut end)?, 0],
            Some(serial) => {
                let start = end;
                end += usize::from(*FIXED_BYTES.get(usize::from(serial))?);
                let content = record.get(start..end)?;
                let int = if content.is_empty() { 0 } else { record::int(content) };
                [u64::from(serial) + FIRST_TYPE, int as u64]
            }
        };
        (record.len() == end).then(|| self.inverted_uuid([high, low, rest, content]))
    }

    /// Returns [`KeyOrder::uuid_key`] for a record of a text in `data` and an integer, followed by the record's [prefix](KeyOrder::prefix)
    /// and the size of the integer in the record. Also returns `None` if the integer is not part of the key.
    #[inline]
    pub fn uuid_key_of_text(
        &self,
        data: &[u8],
        (start, end): (usize, usize),
        int: i64,
    ) -> Option<([u64; 4], u128, usize)> {
        let [text_column @ KeyColumn { collation: Collation::Binary, .. }, _] = self.columns() else {
            return None;
        };
        if int == i64::MIN {
            return None;
        }
        let [high, low] = uuid(data.get(start..end)?.try_into().ok()?)?;
        let int_bytes = usize::from(FIXED_BYTES[SerialType::of_int(int).0 as usize]);
        let prefix = prefix::bytes_part(KIND_TEXT, data, start, end).within(text_column, 0);
        Some((self.inverted_uuid([high, low, paired_int(int), 0]), prefix, int_bytes))
    }

    /// Decodes a UUID key to its record and returns the length of the record. The bytes after the record are arbitrary.
    #[inline]
    pub fn decode_uuid(&self, key: [u64; 4], record: &mut [u8; DECODED_ROOM]) -> usize {
        let [high, low, rest, content] = self.inverted_uuid(key);
        let is_alone = self.columns().len() == 1 && rest == ALONE;
        let text_at = if is_alone { 2 } else { 3 };
        (record[0], record[1]) = (text_at as u8, TEXT_TYPE);
        let mut end = text_at + TEXT_BYTES;
        record[text_at..end].copy_from_slice(&text([high, low]));
        if is_alone {
            return end;
        }
        if self.columns().len() == 2 {
            record[2] = push_half(rest, record, &mut end);
            return end;
        }
        let serial = (rest - FIRST_TYPE) as u8;
        let bytes = FIXED_BYTES[usize::from(serial)];
        record[2] = serial;
        let word = content.checked_shl(64 - 8 * u32::from(bytes)).unwrap_or(0);
        record[end..end + 8].copy_from_slice(&word.to_be_bytes());
        end + usize::from(bytes)
    }

    /// Inverts the numbers of descending columns; a second call restores them.
    #[inline]
    fn inverted_uuid(&self, key: [u64; 4]) -> [u64; 4] {
        let mask = |column: usize| {
            let descending = self.columns().get(column).is_some_and(|column| column.descending);
            u64::from(descending).wrapping_neg()
        };
        let [high, low, rest, content] = key;
        [high ^ mask(0), low ^ mask(0), rest ^ mask(1), content]
    }
}

/// Returns the UUID as two numbers, or `None` if the text is no UUID in lower case with hyphens.
#[inline]
fn uuid(text: &[u8; TEXT_BYTES]) -> Option<[u64; 2]> {
    if HYPHENS.iter().any(|at| text[*at] != b'-') {
        return None;
    }
    let mut wrong = 0;
    let eight = DIGITS.map(|(first, second)| {
        let four = |at: usize| u32::from_be_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]);
        let digits = u64::from(four(first)) << 32 | u64::from(four(second));
        // The ASCII codes of letters have a bit that digits lack, and their lower halves count from 1.
        let values = (digits & HALVES) + (digits >> 6 & EACH) * 9;
        wrong |= values & !HALVES | (as_digits(values & HALVES) ^ digits);
        packed(values)
    });
    let [a, b, c, d] = eight;
    (wrong == 0).then_some([a << 32 | b, c << 32 | d])
}

/// Formats a UUID as text.
#[inline]
fn text([high, low]: [u64; 2]) -> [u8; TEXT_BYTES] {
    let mut text = [b'-'; TEXT_BYTES];
    for ((first, second), eight) in DIGITS.into_iter().zip([high >> 32, high, low >> 32, low]) {
        let digits = as_digits(unpacked(eight & u64::from(u32::MAX))).to_be_bytes();
        text[first..first + 4].copy_from_slice(&digits[..4]);
        text[second..second + 4].copy_from_slice(&digits[4..]);
    }
    text
}

/// Converts eight bytes below 16 to hexadecimal digits in lower case.
#[inline]
fn as_digits(values: u64) -> u64 {
    let letters = (values + EACH * 6) >> 4 & EACH;
    values + EACH * u64::from(b'0') + letters * u64::from(b'a' - b'0' - 10)
}

/// Packs eight bytes below 16 into half a byte each.
#[inline]
fn packed(values: u64) -> u64 {
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (fours | fours >> 16) & u64::from(u32::MAX)
}

/// Reverses [`packed`].
#[inline]
fn unpacked(packed: u64) -> u64 {
    let fours = (packed | packed << 16) & 0x0000_ffff_0000_ffff;
    let pairs = (fours | fours << 8) & 0x00ff_00ff_00ff_00ff;
    (pairs | pairs << 4) & HALVES
}
