//! The entries that rows demand of their indexes, those that indexes have, and the values that rows must not have.

use super::digest::{self, Entry};
use super::fields::Fields;
use super::spec::{Field, Index, Source, Table};
use crate::value::{Class, Value};

/// Returns the numbers of the fields that an index takes, in ascending order. Partial indexes are left out.
pub(super) fn indexed_fields(table: &Table) -> Vec<usize> {
    let sources = table.indexes.iter().filter(|index| !index.partial).flat_map(|index| &index.fields);
    let mut indexed: Vec<usize> = sources
        .filter_map(|source| match source {
            Source::Field(field) => Some(*field),
            _ => None,
        })
        .collect();
    indexed.sort_unstable();
    indexed.dedup();
    indexed
}

/// Calls `each` with the entry of a row in each index that is not partial, and the number of the index. `indexed` are the fields that an
/// index takes, and `values` is room for the hashes of all fields.
#[inline]
pub(super) fn demanded(
    table: &Table,
    (indexed, values): (&[usize], &mut [u64]),
    fields: &Fields,
    (rowid, start): (i64, &[u8]),
    mut each: impl FnMut(usize, Entry),
) {
    for &field in indexed {
        let value = match fields.value(field, start) {
            Some(value) => value,
            None => table.fields[field].default.value(),
        };
        values[field] = digest::value(value);
    }
    let rowid = digest::value(Value::Int(rowid));
    for (i, index) in table.indexes.iter().enumerate() {
        if index.partial {
            continue;
        }
        let mut entry = Entry::EMPTY;
        for source in &index.fields {
            match *source {
                Source::Field(field) => entry.push(values[field]),
                Source::Rowid => entry.push(rowid),
                Source::Computed => {}
            }
        }
        each(i, entry);
    }
}

/// Returns an entry of an index, which has the fields of the index, and the rowid in it.
#[inline]
pub(super) fn found(index: &Index, fields: &Fields, record: &[u8]) -> (Entry, Option<i64>) {
    let mut entry = Entry::EMPTY;
    let mut rowid = None;
    for (i, source) in index.fields.iter().enumerate() {
        if *source == Source::Computed {
            continue;
        }
        let value = fields.value(i, record).unwrap_or(Value::Null);
        entry.push(digest::value(value));
        if let (Source::Rowid, Value::Int(int)) = (source, value) {
            rowid = Some(int);
        }
    }
    (entry, rowid)
}

/// Calls `each` with each field that holds what its column does not take, and what that is. Returns `true` if no row with the same header
/// can have such a field.
pub(super) fn misfits(
    table: &Table,
    fields: &Fields,
    (start, encoding): (&[u8], u32),
    mut each: impl FnMut(&Field, &'static str),
) -> bool {
    let mut fit = true;
    for (i, field) in table.fields.iter().enumerate() {
        let class = fields.class(i).unwrap_or_else(|| field.default.class());
        let numeric = || match fields.value(i, start) {
            Some(Value::Text(text)) => is_number(text, encoding),
            _ => false,
        };
        let what = match class {
            _ if Some(i) == table.rowid_field => continue,
            // Of another row with the same header it may be a number.
            Class::Text if field.takes.text && !field.takes.numeric_text => {
                fit = false;
                if !numeric() {
                    continue;
                }
                "text that is a number"
            }
            _ if field.takes.class(class) => continue,
            Class::Null => "NULL",
            Class::Int => "an integer",
            Class::Real => "a float",
            Class::Text => "text",
            Class::Blob => "a blob",
        };
        fit = false;
        each(field, what);
    }
    fit
}

/// Returns true if a text is a number as a whole, except for spaces around it. Numeric affinity makes a
/// number of such a text.
fn is_number(text: &[u8], encoding: u32) -> bool {
    // A character of UTF-16 that is not ASCII is no part of a number either.
    let narrowed: Vec<u8>;
    let text = match encoding {
        2 | 3 => {
            let high = usize::from(encoding == 2);
            let narrow = |pair: &[u8; 2]| if pair[high] == 0 { pair[1 - high] } else { b'?' };
            narrowed = text.as_chunks::<2>().0.iter().map(narrow).collect();
            &narrowed
        }
        _ => text,
    };
    let is_space = |byte: &u8| matches!(byte, b' ' | 0x09..=0x0d);
    let start = text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest: &[u8] = unsigned(&text[start..end]);
    let mut count = digits(rest);
    rest = &rest[count..];
    if let [b'.', fraction @ ..] = rest {
        let n = digits(fraction);
        count += n;
        rest = &fraction[n..];
    }
    match rest {
        _ if count == 0 => false,
        [b'e' | b'E', exponent @ ..] => {
            let exponent = unsigned(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => rest.is_empty(),
    }
}

fn unsigned(text: &[u8]) -> &[u8] {
    match text {
        [b'+' | b'-', rest @ ..] => rest,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_a_number_is_one_as_a_whole() {
        for text in [
            "0",
            "-1",
            "+1",
            " 12 ",
            "\t1.5\r\n",
            "1.",
            ".5",
            "-.5e-7",
            "1E+5",
            "007",
            "1e400",
            "99999999999999999999",
        ] {
            assert!(is_number(text.as_bytes(), 1), "{text}");
            let little: Vec<u8> =
                text.encode_utf16().flat_map(|unit| [unit as u8, (unit >> 8) as u8]).collect();
            assert!(is_number(&little, 2), "{text}");
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            assert!(is_number(&big, 3) && !is_number(&big, 2), "{text}");
        }
        for text in [
            "", " ", ".", "-", "+ 1", "1 2", "e5", "1e", "1e+", "0x10", "1\0", "\u{a0}1", "inf", "1.5.",
            "--1", "1_0",
        ] {
            assert!(!is_number(text.as_bytes(), 1), "{text}");
        }
        assert!(!is_number("１".as_bytes(), 1) && !is_number(&[0x31, 0x31], 2));
    }
}
