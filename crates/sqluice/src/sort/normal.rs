//! Keys as bytes whose order is that of the keys.

use sqluice_format::key::{Collation, KeyOrder};
use sqluice_format::record;
use sqluice_format::value::Value;

/// Appends at most `bytes_max` bytes of the normalized key of a record.
pub(super) fn normalize(order: &KeyOrder, record: &[u8], bytes_max: usize, out: &mut Vec<u8>) {
    let end = out.len() + bytes_max;
    let values = record::decode(record).expect("a record");
    for (value, column) in values.iter().zip(order.columns()) {
        let start = out.len();
        match value {
            Value::Null => out.push(0),
            Value::Int(int) => push_number(*int as f64, Some(*int), out),
            Value::Real(real) => push_number(*real, None, out),
            Value::Text(text) => {
                out.push(2);
                push_text(column.collation, &text[..text.len().min(text_max(column.collation, text))], out);
                if column.collation == Collation::NoCase {
                    out.extend_from_slice(&(text.len() as u64).to_be_bytes());
                }
            }
            Value::Blob(blob) => {
                out.push(3);
                push_escaped(blob.iter().copied(), out);
            }
        }
        if column.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        if out.len() >= end {
            out.truncate(end);
            return;
        }
    }
}

/// A float that is not above the number, then what is missing to it.
fn push_number(mut real: f64, int: Option<i64>, out: &mut Vec<u8>) {
    let mut more = 0_u16;
    if let Some(int) = int {
        if real as i128 > i128::from(int) {
            real = real.next_down();
        }
        more = (i128::from(int) - real as i128) as u16;
    }
    let bits = (real + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.push(1);
    out.extend_from_slice(&ordered.to_be_bytes());
    out.extend_from_slice(&more.to_be_bytes());
}

/// How much of the text its collation looks at, byte by byte.
fn text_max(collation: Collation, text: &[u8]) -> usize {
    let before = |found: Option<usize>, otherwise: usize| found.unwrap_or(otherwise);
    match collation {
        Collation::Binary => text.len(),
        Collation::RTrim => text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1),
        Collation::NoCase => before(text.iter().position(|&byte| byte == 0), text.len()),
    }
}

fn push_text(collation: Collation, text: &[u8], out: &mut Vec<u8>) {
    match collation {
        Collation::NoCase => push_escaped(text.iter().map(u8::to_ascii_lowercase), out),
        _ => push_escaped(text.iter().copied(), out),
    }
}

/// 00 as 00 FF, and 00 00 at the end.
fn push_escaped(bytes: impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The first 16 bytes of the normalized key.
pub(super) fn prefix(order: &KeyOrder, record: &[u8]) -> u128 {
    let mut key = Vec::with_capacity(32);
    normalize(order, record, 16, &mut key);
    key.resize(16, 0);
    u128::from_be_bytes(*key.first_chunk().expect("16 bytes"))
}
