//! Rows as objects of JSON, one a line.

use sqluice_core::batch::{Batch, Value};
use sqluice_core::source::Refused;

use super::{TextEncoder, columns};
use crate::digits::{push_int, push_real};
use crate::unfit::unfit;

/// What stands before the value of a column.
pub(super) fn key(index: usize, name: &str) -> Vec<u8> {
    let mut key = vec![if index == 0 { b'{' } else { b',' }];
    push_text(&mut key, name.as_bytes());
    key.push(b':');
    key
}

/// The bytes that are escaped.
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Appends text as a string.
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| is_special(*byte)) {
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

/// Appends the rows of a batch: of an array with commas between them, each on a line of its own.
pub(super) fn push(
    encoder: &TextEncoder,
    in_array: bool,
    batch: &Batch<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let columns = columns(batch, is_special);
    for row in 0..batch.rows {
        if in_array {
            out.extend_from_slice(if row == 0 { b"\n" } else { b",\n" });
        }
        for (index, (of, key)) in columns.iter().zip(&encoder.keys).enumerate() {
            out.extend_from_slice(key);
            match of.column.get(row) {
                Value::Null => out.extend_from_slice(b"null"),
                Value::Int(int) => push_int(out, int),
                Value::Real(real) if real.is_finite() => push_real(out, real),
                Value::Text(text) if !of.needs_care => {
                    out.push(b'"');
                    out.extend_from_slice(text);
                    out.push(b'"');
                }
                Value::Text(text) => push_text(out, text),
                value @ (Value::Real(_) | Value::Blob(_)) => {
                    encoder.unfit((row, index), || unfit(&value, "JSON"))?;
                    out.extend_from_slice(b"null");
                }
            }
        }
        out.push(b'}');
        if !in_array {
            out.push(b'\n');
        }
    }
    Ok(())
}
