//! Encodes rows as JSON objects, one object on each line.

use sqluice_core::append::{append_start, has_any};
use sqluice_core::batch::{Batch, Value};
use sqluice_core::source::Refused;

use super::{Field, TextEncoder, fields};
use crate::digits::{push_int, push_real};
use crate::unfit::unfit;

/// The text before a value: the name of its column. A few more bytes follow the text, so that a copy of fixed length can be used.
pub(super) struct Key {
    bytes: Vec<u8>,
    len: usize,
}

impl Key {
    /// Creates the key of a column by the column's index and name: `{"a":`, `,"b":`.
    pub(super) fn new(index: usize, name: &str) -> Key {
        let mut bytes = vec![if index == 0 { b'{' } else { b',' }];
        push_text(&mut bytes, name.as_bytes());
        bytes.push(b':');
        let len = bytes.len();
        bytes.resize(len + 32, 0);
        Key { bytes, len }
    }
}

/// Returns `true` for bytes that are escaped.
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Appends text as a JSON string, with quotes and escapes.
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut rest = text;
    while has_any(rest, is_special)
        && let Some(at) = rest.iter().position(|byte| is_special(*byte))
    {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => {
                let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends the rows of a batch, each as an object on its own line. In the format JSON, a comma separates the objects.
pub(super) fn push(
    encoder: &TextEncoder,
    in_array: bool,
    batch: &Batch<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let fields = fields(batch, is_special);
    for row in 0..batch.rows {
        if in_array {
            out.extend_from_slice(if row == 0 { b"\n" } else { b",\n" });
        }
        for (index, (field, key)) in fields.iter().zip(&encoder.keys).enumerate() {
            append_start(out, &key.bytes, key.len);
            match field {
                Field::Ints(ints) => push_int(out, ints[row]),
                Field::Reals(reals) => push_real(out, reals[row]),
                Field::Text { data, offsets, needs_care: false } => {
                    let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
                    out.push(b'"');
                    append_start(out, &data[start..], end - start);
                    out.push(b'"');
                }
                Field::Text { data, offsets, .. } => {
                    push_text(out, &data[offsets[row] as usize..offsets[row + 1] as usize]);
                }
                Field::Other(column) => push_any(encoder, &column.get(row), (row, index), out)?,
            }
        }
        out.push(b'}');
        if !in_array {
            out.push(b'\n');
        }
    }
    Ok(())
}

/// Appends a value of any kind, or reports that JSON can't store it.
fn push_any(
    encoder: &TextEncoder,
    value: &Value<'_>,
    at: (usize, usize),
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    match *value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Int(int) => push_int(out, int),
        Value::Real(real) if real.is_finite() => push_real(out, real),
        Value::Text(text) => push_text(out, text),
        value @ (Value::Real(_) | Value::Blob(_)) => {
            encoder.unfit(at, || unfit(&value, "JSON"))?;
            out.extend_from_slice(b"null");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_is_read_back_from_any_place_in_a_json_text() {
        for character in '\0'..'\u{3000}' {
            for text in [
                format!("{character}"),
                format!("a{character}"),
                format!("some {character}{character} words"),
            ] {
                let mut json = Vec::new();
                push_text(&mut json, text.as_bytes());
                let read = serde_json::from_slice::<String>(&json);
                assert!(read.is_ok_and(|read| read == text), "{}", json.escape_ascii());
            }
        }
    }
}
