//! The entries that rows demand of their indexes, the entries that indexes have, and checks for values that a column must not hold.

use super::digest::{self, Entry};
use super::fields::Fields;
use super::spec::{Field, Index, Source, Table};
use crate::value::{Class, Value};

/// The index entries that the rows of a table demand. The value is reused from row to row to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct Demanded {
    /// The indexed fields, in ascending order.
    indexed: Vec<usize>,
    /// The hashes of a row's fields, followed by the hash of its rowid.
    values: Vec<u64>,
    /// The indexes that are neither partial nor computed: for each its position in [`Table::indexes`], and the positions in `values` of the
    /// values of its entry.
    entries: Vec<(usize, Vec<usize>)>,
}

impl Demanded {
    /// Returns the entries that rows of this table demand.
    pub(super) fn of(table: &Table) -> Demanded {
        let rowid = table.fields.len();
        let place = |source: &Source| match *source {
            Source::Field(field) => Some(field),
            Source::Rowid => Some(rowid),
            Source::Computed => None,
        };
        let is_of_fields = |index: &Index| !index.partial && !index.computed;
        let whole = table.indexes.iter().enumerate().filter(|(_, index)| is_of_fields(index));
        let entries: Vec<(usize, Vec<usize>)> =
            whole.map(|(number, index)| (number, index.fields.iter().filter_map(place).collect())).collect();
        let mut indexed: Vec<usize> = entries.iter().flat_map(|(_, places)| places).copied().collect();
        indexed.retain(|&place| place != rowid);
        indexed.sort_unstable();
        indexed.dedup();
        Demanded { indexed, values: vec![0; rowid + 1], entries }
    }

    /// Returns the last field that [`Demanded::of_row`] reads, or `None` if it reads none.
    pub(super) fn last_field(&self) -> Option<usize> {
        self.indexed.last().copied()
    }

    /// Calls `each` for each index that is neither partial nor computed, with its position in [`Table::indexes`] and the row's entry in
    /// this index.
    #[inline]
    pub(super) fn of_row(
        &mut self,
        table: &Table,
        fields: &Fields,
        (rowid, start): (i64, &[u8]),
        mut each: impl FnMut(usize, Entry),
    ) {
        let Demanded { indexed, values, entries } = self;
        for &field in &*indexed {
            values[field] = match fields.digest(field, start) {
                Some(digest) => digest,
                None => digest::value(table.fields[field].default.value()),
            };
        }
        if let Some(of_rowid) = values.last_mut() {
            *of_rowid = digest::int(rowid);
        }
        for (index, places) in &*entries {
            let mut entry = Entry::EMPTY;
            places.iter().for_each(|&place| entry.push(values[place]));
            each(*index, entry);
        }
    }
}

/// Returns the hash of an index entry. The entry must have the fields of the index. A value that SQLite computes counts only if the index
/// is [`Index::computed`].
#[inline]
pub(super) fn found(index: &Index, fields: &Fields, record: &[u8]) -> Entry {
    let mut entry = Entry::EMPTY;
    for (field, source) in index.fields.iter().enumerate() {
        if index.computed || *source != Source::Computed {
            entry.push(fields.digest(field, record).unwrap_or(digest::NULL));
        }
    }
    entry
}

/// Returns the rowid in an entry of an index, if it has one.
pub(super) fn rowid_of(index: &Index, fields: &Fields, record: &[u8]) -> Option<i64> {
    let field = index.fields.iter().rposition(|source| *source == Source::Rowid)?;
    match fields.value(field, record)? {
        Value::Int(rowid) => Some(rowid),
        _ => None,
    }
}

/// Calls `each` for each field that holds a value which its column does not permit, with the field and a description of the value. Returns
/// `true` if no row with the same header can have such a field.
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
            // Text that is a number differs from row to row with the same header, so this header does not vouch for other rows.
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

/// Returns `true` if the entire text is a number, apart from surrounding spaces. Numeric affinity converts such a text to a number.
fn is_number(text: &[u8], encoding: u32) -> bool {
    // Text in UTF-16 is narrowed to one byte for each unit. A unit above 255 becomes `?`, which is part of no number.
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
    fn only_a_text_that_is_a_number_as_a_whole_counts_as_a_number() {
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
