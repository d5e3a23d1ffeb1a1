//! Encodes rows as lines of CSV.

use sqluice_core::append::{append_start, has_any};
use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::source::Refused;

use super::{Field, TextEncoder, fields};
use crate::digits::{push_int, push_real};
use crate::unfit::unfit;

/// Returns the line with the names of the columns.
pub(super) fn header(names: &[String], delimiter: u8) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            out.push(delimiter);
        }
        if name.contains('\0') {
            return Err(Error::input(format!(
                "CSV can't store the NUL character of the column name {}",
                name.escape_debug()
            )));
        }
        // Quote a first name that begins with a byte order mark: readers skip the mark at the start of a file.
        push_text(&mut out, name.as_bytes(), delimiter, index == 0 && name.starts_with('\u{feff}'));
    }
    out.push(b'\n');
    Ok(out)
}

/// Returns `true` for a byte that needs quotes around its field, or that no field can have (NUL).
fn is_special(byte: u8, delimiter: u8) -> bool {
    (byte == delimiter) | (byte == b'"') | (byte == b'\n') | (byte == b'\r') | (byte == 0)
}

/// Appends a field, quoted if necessary.
fn push_text(out: &mut Vec<u8>, text: &[u8], delimiter: u8, quoted: bool) {
    if !quoted && !text.is_empty() && !has_any(text, |byte| is_special(byte, delimiter)) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for piece in text.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(piece);
        if piece.last() == Some(&b'"') {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

/// Appends the rows of a batch.
pub(super) fn push(
    encoder: &TextEncoder,
    delimiter: u8,
    batch: &Batch<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let fields = fields(batch, |byte| is_special(byte, delimiter));
    for row in 0..batch.rows {
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                out.push(delimiter);
            }
            let value = match field {
                Field::Ints(ints) => {
                    push_int(out, ints[row]);
                    continue;
                }
                Field::Reals(reals) => {
                    push_real(out, reals[row]);
                    continue;
                }
                Field::Text { data, offsets, needs_care: false } if index > 0 => {
                    let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
                    match start == end {
                        true => out.extend_from_slice(b"\"\""),
                        false => append_start(out, &data[start..], end - start),
                    }
                    continue;
                }
                Field::Text { data, offsets, .. } => {
                    Value::Text(&data[offsets[row] as usize..offsets[row + 1] as usize])
                }
                Field::Other(column) => column.get(row),
            };
            push_any(encoder, delimiter, &value, (row, index), out)?;
        }
        out.push(b'\n');
    }
    Ok(())
}

/// Appends a value of any kind, or reports that CSV can't store it.
fn push_any(
    encoder: &TextEncoder,
    delimiter: u8,
    value: &Value<'_>,
    at: (usize, usize),
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let is_only = encoder.names.len() == 1;
    match *value {
        Value::Int(int) => push_int(out, int),
        Value::Real(real) if real.is_finite() => push_real(out, real),
        // Quote a first field that begins with #: readers may take its line for a comment.
        Value::Text(text) if !text.contains(&0) => {
            push_text(out, text, delimiter, at.1 == 0 && text.starts_with(b"#"));
        }
        Value::Null if !is_only => {}
        Value::Null => return Err(Refused::Stop { at: Some(at), error: lone_null() }),
        value => {
            encoder.unfit(at, || unfit_in_csv(&value))?;
            if is_only {
                return Err(Refused::Stop { at: Some(at), error: lone_null() });
            }
        }
    }
    Ok(())
}

fn unfit_in_csv(value: &Value<'_>) -> Error {
    let error = unfit(value, "CSV");
    if matches!(value, Value::Text(_)) { error.with_words(", which has a NUL character") } else { error }
}

fn lone_null() -> Error {
    Error::input("a row whose only value is NULL would be an empty line in CSV, and readers skip empty lines")
        .hint("write NDJSON, Parquet or Arrow, or export another column with it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use csv_core::{ReadRecordResult, ReaderBuilder};

    /// Returns the fields of the first record, as another CSV reader finds them.
    fn read(csv: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
        let (mut bytes, mut ends) = ([0; 64], [0; 8]);
        let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
        let (result, _, _, fields) = reader.read_record(csv, &mut bytes, &mut ends);
        assert_eq!(result, ReadRecordResult::Record);
        let mut start = 0;
        ends[..fields].iter().map(|&end| bytes[std::mem::replace(&mut start, end)..end].to_vec()).collect()
    }

    #[test]
    fn each_character_is_read_back_from_any_place_in_a_csv_field() {
        for (delimiter, byte) in
            b",\t;|".iter().flat_map(|&delimiter| (1..0x80).map(move |byte| (delimiter, byte)))
        {
            for text in [&[byte][..], &[byte, b'a'], &[b'a', byte], &[b'a', byte, b'a'], &[byte, byte]] {
                let mut csv = Vec::new();
                for end in [delimiter, b'\n'] {
                    push_text(&mut csv, text, delimiter, false);
                    csv.push(end);
                }
                assert_eq!(read(&csv, delimiter), [text, text], "{:?}", csv.escape_ascii().to_string());
            }
        }
    }
}
