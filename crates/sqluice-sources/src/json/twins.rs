//! The values that this crate reads from JSON, and the values that serde_json reads, for comparison in tests and in fuzzing.

use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;

use serde_json::value::RawValue;
use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::source::{BadRow, Refused, RefusedRow, Sink, Source};

use super::{ColumnFrom, JsonColumn, JsonOptions, JsonSource, Layout};

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

pub(super) fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// A row or a bad row that a sink has received.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Taken {
    Row(Vec<Cell>),
    Bad { error: String, raw: String },
}

/// The result of reading a file.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) keys: Vec<String>,
    pub(super) taken: Vec<Taken>,
    /// The error that ended the reading.
    pub(super) error: Option<String>,
}

impl Outcome {
    pub(super) fn rows(&self) -> Vec<&[Cell]> {
        let rows = self.taken.iter().filter_map(|taken| match taken {
            Taken::Row(row) => Some(&row[..]),
            Taken::Bad { .. } => None,
        });
        rows.collect()
    }

    pub(super) fn bad(&self) -> Vec<&str> {
        let bad = self.taken.iter().filter_map(|taken| match taken {
            Taken::Row(_) => None,
            Taken::Bad { error, .. } => Some(&error[..]),
        });
        bad.collect()
    }
}

/// A sink that takes all rows, except those with the value `refuses`: for these it blames the value's column.
#[derive(Default)]
pub(super) struct Taker {
    pub(super) taken: Vec<Taken>,
    pub(super) refuses: Option<Cell>,
}

impl Sink for Taker {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let mut rows = Vec::new();
        let mut refused = Vec::new();
        for row in 0..batch.rows {
            let cells: Vec<Cell> = batch.columns.iter().map(|column| cell(column.get(row))).collect();
            if let Some(column) = cells.iter().position(|cell| Some(cell) == self.refuses.as_ref()) {
                refused.push(RefusedRow { row, column, error: Error::input("refused") });
            }
            rows.push(Taken::Row(cells));
        }
        if !refused.is_empty() {
            return Err(Refused::Rows(refused));
        }
        self.taken.extend(rows);
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        let raw = String::from_utf8_lossy(&bad.raw).into_owned();
        self.taken.push(Taken::Bad { error: bad.error.without_hint(), raw });
        Ok(())
    }
}

pub(super) fn cell(value: Value<'_>) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Int(int) => Cell::Int(int),
        Value::Real(real) => Cell::Real(real),
        Value::Text(text) => Cell::Text(String::from_utf8(text.to_vec()).expect("text is UTF-8")),
        Value::Blob(_) => panic!("JSON has no blobs"),
    }
}

pub(super) fn options(layout: Layout, part_bytes: usize) -> JsonOptions {
    JsonOptions { part_bytes, ..JsonOptions::new(layout) }
}

/// Reads a file with all its keys as columns.
pub(super) fn read(bytes: &[u8], options: &JsonOptions) -> Outcome {
    read_by(bytes, options, Taker::default(), false)
}

pub(super) fn read_by(bytes: &[u8], options: &JsonOptions, mut sink: Taker, as_text: bool) -> Outcome {
    let file = Path::new("x.json");
    let input = || Box::new(Cursor::new(bytes.to_vec()));
    let feed = |source: &mut JsonSource, sink: &mut Taker| -> Result<()> {
        while let Some(mut part) = source.next_part()? {
            part.decode(sink)?;
        }
        Ok(())
    };
    let mut keys = Vec::new();
    if let Ok(mut source) = JsonSource::of_keys(input(), file, options, &[], 0..u64::MAX) {
        let met = source.new_keys();
        // Reading the file a second time gives the error again.
        let _ = feed(&mut source, &mut Taker::default());
        keys = met.all().into_iter().map(|key| key.name).collect();
    }
    let columns = (0..keys.len()).map(|field| JsonColumn { from: ColumnFrom::Field(field), as_text });
    let source = JsonSource::new(input(), file, options, &keys, columns.collect(), 0..u64::MAX);
    let fed = source.and_then(|mut source| feed(&mut source, &mut sink));
    Outcome { keys, taken: sink.taken, error: fed.err().map(|error| error.without_hint()) }
}

/// Returns the values of a record by their keys, as serde_json reads them; `None` if the text is not a record.
pub(super) fn expected(record: &str) -> Option<HashMap<String, Cell>> {
    // 1e999, which is beyond the range of floats, is an error of serde_json, but not of this crate.
    let in_range = record.replace("1e999", "1e99");
    serde_json::from_str::<HashMap<String, serde_json::Value>>(&in_range).ok()?;
    let raw: HashMap<String, Box<RawValue>> = serde_json::from_str(record).ok()?;
    if raw.keys().any(|key| key.contains('\0')) {
        return None;
    }
    Some(raw.into_iter().map(|(key, raw)| (key, cell_of(raw.get()))).collect())
}

pub(super) fn cell_of(raw: &str) -> Cell {
    match raw.as_bytes()[0] {
        b'"' => Cell::Text(serde_json::from_str(raw).unwrap()),
        b'{' | b'[' => text(raw),
        b'n' => Cell::Null,
        b't' | b'f' => Cell::Int(i64::from(raw == "true")),
        // SQLite stores no negative zero, so it stays text.
        b'-' if !raw.split(['e', 'E']).next().unwrap().contains(|digit| ('1'..='9').contains(&digit)) => {
            text(raw)
        }
        _ if !raw.contains(['.', 'e', 'E']) => raw.parse().map_or(text(raw), Cell::Int),
        _ => match raw.parse::<f64>() {
            Ok(real) if held(raw, real) => Cell::Real(real),
            _ => text(raw),
        },
    }
}

/// Returns `true` if a float, printed with as many digits as the text or as few as identify it, is the same number.
pub(super) fn held(text: &str, real: f64) -> bool {
    let digits: String =
        text.split(['e', 'E']).next().unwrap().chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0');
    let printed = format!("{real:.*e}", digits.len().max(1) - 1);
    // Halfway between two decimals of its length, the shortest decimal of the float may be the other one.
    real.is_finite() && (same_number(text, &printed) || same_number(text, &format!("{real:e}")))
}

/// Returns `true` if two decimals are the same number, compared digit by digit.
pub(super) fn same_number(one: &str, other: &str) -> bool {
    let parts = |text: &str| {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i64 = exponent.parse::<i64>().unwrap() - fraction.len() as i64;
        let digits = format!("{whole}{fraction}").replace('-', "").trim_start_matches('0').to_owned();
        let kept = digits.trim_end_matches('0').len();
        let dropped = (digits.len() - kept) as i64;
        (digits[..kept].to_owned(), if kept == 0 { 0 } else { exponent + dropped })
    };
    parts(one) == parts(other)
}

/// Returns the values of each row by their keys; `None` for a bad record.
pub(super) fn taken_rows(outcome: &Outcome) -> Vec<Option<HashMap<String, Cell>>> {
    let row = |taken: &Taken| match taken {
        Taken::Bad { .. } => None,
        Taken::Row(cells) => {
            let cells = outcome.keys.iter().cloned().zip(cells.iter().cloned());
            Some(cells.filter(|(_, cell)| *cell != Cell::Null).collect())
        }
    };
    outcome.taken.iter().map(row).collect()
}
