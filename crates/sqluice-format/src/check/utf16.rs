//! Comparable forms of keys in UTF-16.
//!
//! BINARY compares the stored bytes. NOCASE and RTRIM only know UTF-8, so SQLite first converts both texts, in its own way: half a
//! surrogate pair is combined with the next unit, even if that unit is not the other half; at the end of the text, half a pair is converted
//! by itself.
//!
//! ```text
//!  stored      | a: 41 00 62 00 | b: 3d d8 00 de | 7 |         UTF-16, little-endian
//!  compared    | a: 41 62       | b: f0 9f 98 80 |             the columns of the key; text that is not BINARY is in UTF-8
//! ```

use crate::key::{Collation, KeyOrder};
use crate::record;
use crate::value::Value;

/// The byte order of the database's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf16 {
    /// Little-endian: the low byte is first.
    Little,
    /// Big-endian: the high byte is first.
    Big,
}

impl Utf16 {
    /// Returns the byte order for a text encoding of the database header, or `None` for UTF-8.
    pub fn of_header(text_encoding: u32) -> Option<Utf16> {
        match text_encoding {
            2 => Some(Utf16::Little),
            3 => Some(Utf16::Big),
            _ => None,
        }
    }

    /// Returns the text, or `None` if it is malformed.
    pub fn decode(self, text: &[u8]) -> Option<String> {
        let (units, []) = text.as_chunks::<2>() else { return None };
        let units = units.iter().map(|unit| match self {
            Utf16::Little => u16::from_be_bytes([unit[1], unit[0]]),
            Utf16::Big => u16::from_be_bytes(*unit),
        });
        char::decode_utf16(units).collect::<Result<_, _>>().ok()
    }

    /// Returns the bytes of a text.
    pub fn encode(self, text: &str) -> Vec<u8> {
        let bytes = text.encode_utf16().flat_map(|unit| {
            let [high, low] = unit.to_be_bytes();
            match self {
                Utf16::Little => [low, high],
                Utf16::Big => [high, low],
            }
        });
        bytes.collect()
    }

    /// Returns a record whose key columns, compared in UTF-8, compare as SQLite compares those of `record`. Returns `None` if `record` is
    /// not a record.
    pub(super) fn comparable(self, order: &KeyOrder, record: &[u8]) -> Option<Vec<u8>> {
        let values = record::decode(record).ok()?;
        let columns = order.columns().iter().zip(&values);
        let texts = columns.map(|(column, value)| match value {
            Value::Text(text) if column.collation != Collation::Binary => Some(self.to_utf8(text)),
            _ => None,
        });
        let texts: Vec<Option<Vec<u8>>> = texts.collect();
        let compared = values.iter().zip(&texts).map(|(value, text)| match text {
            Some(text) => Value::Text(text),
            None => *value,
        });
        let mut comparable = Vec::with_capacity(record.len());
        record::encode(&compared.collect::<Vec<_>>(), &mut comparable);
        Some(comparable)
    }

    /// Converts text to UTF-8 as SQLite does. A last odd byte is left out.
    fn to_utf8(self, text: &[u8]) -> Vec<u8> {
        let mut units = text.as_chunks::<2>().0.iter().map(|bytes| match self {
            Utf16::Little => u32::from(u16::from_be_bytes([bytes[1], bytes[0]])),
            Utf16::Big => u32::from(u16::from_be_bytes(*bytes)),
        });
        let mut utf8 = Vec::with_capacity(text.len() / 2);
        while let Some(unit) = units.next() {
            let is_half = (0xd800..0xe000).contains(&unit);
            let other = if is_half { units.next() } else { None };
            let character = match other {
                Some(other) => (other & 0x3ff) + ((unit & 0x3f) << 10) + (((unit & 0x3c0) + 0x40) << 10),
                None => unit,
            };
            push(character, &mut utf8);
        }
        utf8
    }
}

/// Appends a character in UTF-8. The character may be half a surrogate pair.
fn push(character: u32, utf8: &mut Vec<u8>) {
    let low = |shift: u32| 0x80 | (character >> shift) as u8 & 0x3f;
    match character {
        0..0x80 => utf8.push(character as u8),
        0x80..0x800 => utf8.extend([0xc0 | (character >> 6) as u8, low(0)]),
        0x800..0x1_0000 => utf8.extend([0xe0 | (character >> 12) as u8, low(6), low(0)]),
        _ => utf8.extend([0xf0 | (character >> 18) as u8 & 7, low(12), low(6), low(0)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_text_is_converted_to_utf8() {
        for text in ["", "abc", "Grüße", "1 €", "😀 and \u{10ffff}", "\u{e000}\u{ffff}\0x"] {
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            assert_eq!(Utf16::Little.to_utf8(&little), text.as_bytes());
            assert_eq!(Utf16::Big.to_utf8(&big), text.as_bytes());
        }
        assert_eq!(Utf16::Big.to_utf8(&[0, 0x41, 0]), b"A");
        assert_eq!(Utf16::Big.to_utf8(&[0xd8, 0x3d]), [0xed, 0xa0, 0xbd]);
    }
}
