//! Writes the values of rows as literals of INSERT statements, as `mysqldump --hex-blob` does.
//!
//! | type | literal |
//! |---|---|
//! | numbers | as the server sends them |
//! | binary strings, blobs, BIT, geometry | `0x00FF`; `''` if empty |
//! | all others | `'it\'s'`, with escapes for zero bytes, line ends, quotes, backslashes and Ctrl-Z |

use super::connection::Column;
use super::packets::{Fault, Fields};

/// The number of the collation `binary`, which columns of bytes have.
const BYTES: u16 = 63;

/// The numbers of the types in column definitions.
mod kind {
    pub(super) const DECIMAL: u8 = 0;
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const YEAR: u8 = 13;
    pub(super) const NEWDATE: u8 = 14;
    pub(super) const VARCHAR: u8 = 15;
    pub(super) const BIT: u8 = 16;
    pub(super) const JSON: u8 = 245;
    pub(super) const NEWDECIMAL: u8 = 246;
    pub(super) const TINY_BLOB: u8 = 249;
    pub(super) const BLOB: u8 = 252;
    pub(super) const VAR_STRING: u8 = 253;
    pub(super) const STRING: u8 = 254;
    pub(super) const GEOMETRY: u8 = 255;
}

/// The form of a column's literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Text,
    Hexadecimal,
}

/// Returns the form of the literals of a column.
pub(super) fn form(column: &Column) -> Form {
    match column.kind {
        kind::DECIMAL..=kind::DOUBLE | kind::LONGLONG | kind::INT24 | kind::YEAR | kind::NEWDECIMAL => {
            Form::Number
        }
        kind::VARCHAR | kind::BIT | kind::TINY_BLOB..=kind::GEOMETRY if column.collation == BYTES => {
            Form::Hexadecimal
        }
        _ => Form::Text,
    }
}

/// Writes a row as `(value, value, ...)`.
#[inline]
pub(super) fn write_row(row: &[u8], forms: &[Form], text: &mut Vec<u8>) -> Result<(), Fault> {
    let mut fields = Fields(row);
    let mut before = b'(';
    for form in forms {
        text.push(before);
        before = b',';
        match fields.value()? {
            Some(value) => write_value(value, *form, text),
            None => text.extend_from_slice(b"NULL"),
        }
    }
    if !fields.0.is_empty() {
        return Err(Fault::Malformed("a row with more values than columns"));
    }
    text.push(b')');
    Ok(())
}

#[inline]
fn write_value(value: &[u8], form: Form, text: &mut Vec<u8>) {
    match form {
        Form::Number => match value {
            // Infinity and NaN become NULL, as MySQL has no literals for them.
            [b'a'..=b'z' | b'A'..=b'Z', ..] | [b'-', b'a'..=b'z' | b'A'..=b'Z', ..] | [] => {
                text.extend_from_slice(b"NULL");
            }
            number => text.extend_from_slice(number),
        },
        Form::Text => {
            text.push(b'\'');
            escape(value, text);
            text.push(b'\'');
        }
        Form::Hexadecimal if value.is_empty() => text.extend_from_slice(b"''"),
        Form::Hexadecimal => {
            text.extend_from_slice(b"0x");
            hexadecimal(value, text);
        }
    }
}

/// For each byte that mysqldump escapes, the letter after the backslash; 0 for all other bytes.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[0] = b'0';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\\' as usize] = b'\\';
    table[b'\'' as usize] = b'\'';
    table[b'"' as usize] = b'"';
    table[0x1a] = b'Z';
    table
};

/// Appends text with escapes.
#[inline]
fn escape(mut value: &[u8], text: &mut Vec<u8>) {
    while let Some(at) = value.iter().position(|byte| ESCAPES[usize::from(*byte)] != 0) {
        text.extend_from_slice(&value[..at]);
        text.extend_from_slice(&[b'\\', ESCAPES[usize::from(value[at])]]);
        value = &value[at + 1..];
    }
    text.extend_from_slice(value);
}

/// Appends bytes as hexadecimal digits.
fn hexadecimal(value: &[u8], text: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.extend(
        value.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
    );
}

/// Returns the declaration of a query's column, as SHOW CREATE TABLE writes it.
pub(super) fn declared(column: &Column) -> String {
    const NOT_NULL: u16 = 1;
    const UNSIGNED: u16 = 1 << 5;
    const NO_DECIMALS: u8 = 31;
    let unsigned = if column.flags & UNSIGNED != 0 { " unsigned" } else { "" };
    let fraction = match column.decimals {
        digits @ 1..=6 => format!("({digits})"),
        _ => String::new(),
    };
    let is_bytes = column.collation == BYTES;
    let declared = match column.kind {
        kind::TINY => format!("tinyint{unsigned}"),
        kind::SHORT => format!("smallint{unsigned}"),
        kind::INT24 => format!("mediumint{unsigned}"),
        kind::LONG => format!("int{unsigned}"),
        kind::LONGLONG => format!("bigint{unsigned}"),
        kind::FLOAT => "float".to_owned(),
        kind::DOUBLE => "double".to_owned(),
        kind::DECIMAL | kind::NEWDECIMAL => {
            // The length in the definition includes the sign and the decimal point.
            let sign = u32::from(unsigned.is_empty());
            let point = u32::from(column.decimals > 0);
            let digits = column.bytes_max.saturating_sub(sign + point).clamp(1, 65);
            format!("decimal({digits},{})", u32::from(column.decimals.min(NO_DECIMALS - 1)).min(digits))
        }
        kind::DATE | kind::NEWDATE => "date".to_owned(),
        kind::TIME => format!("time{fraction}"),
        kind::DATETIME => format!("datetime{fraction}"),
        kind::TIMESTAMP => format!("timestamp{fraction}"),
        kind::YEAR => "year".to_owned(),
        kind::BIT => format!("bit({})", column.bytes_max.clamp(1, 64)),
        kind::JSON => "json".to_owned(),
        kind::GEOMETRY => "geometry".to_owned(),
        kind::VARCHAR | kind::VAR_STRING | kind::STRING if is_bytes => {
            format!("varbinary({})", column.bytes_max.min(65_535))
        }
        kind::TINY_BLOB..=kind::BLOB if is_bytes => "longblob".to_owned(),
        _ => "longtext".to_owned(),
    };
    if column.flags & NOT_NULL != 0 { format!("{declared} NOT NULL") } else { declared }
}
