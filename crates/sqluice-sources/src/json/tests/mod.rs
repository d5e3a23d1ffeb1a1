//! What all tests of this module use: a reader of one file that tells all that comes of it.

mod cases;
mod properties;

use std::io::Cursor;
use std::path::Path;

use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::source::{BadRow, Refused, RefusedRow, Sink, Source};

use super::{ColumnFrom, JsonColumn, JsonOptions, JsonSource, Layout, RecordsPath};

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// What a sink got.
#[derive(Clone, Debug, PartialEq)]
enum Taken {
    Row(Vec<Cell>),
    Bad { error: String, raw: String },
}

/// What comes of a file.
#[derive(Debug, PartialEq)]
struct Outcome {
    keys: Vec<String>,
    taken: Vec<Taken>,
    /// What ended it.
    error: Option<String>,
}

impl Outcome {
    fn rows(&self) -> Vec<&[Cell]> {
        let rows = self.taken.iter().filter_map(|taken| match taken {
            Taken::Row(row) => Some(&row[..]),
            Taken::Bad { .. } => None,
        });
        rows.collect()
    }

    fn bad(&self) -> Vec<&str> {
        let bad = self.taken.iter().filter_map(|taken| match taken {
            Taken::Row(_) => None,
            Taken::Bad { error, .. } => Some(&error[..]),
        });
        bad.collect()
    }
}

/// Takes all, but refuses what has this value, blaming its column.
#[derive(Default)]
struct Taker {
    taken: Vec<Taken>,
    refuses: Option<Cell>,
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

fn cell(value: Value<'_>) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Int(int) => Cell::Int(int),
        Value::Real(real) => Cell::Real(real),
        Value::Text(text) => Cell::Text(String::from_utf8(text.to_vec()).expect("text is UTF-8")),
        Value::Blob(_) => panic!("JSON has no blobs"),
    }
}

fn options(layout: Layout, part_bytes: usize) -> JsonOptions {
    JsonOptions { part_bytes, ..JsonOptions::new(layout) }
}

/// All keys become columns.
fn read(bytes: &[u8], options: &JsonOptions) -> Outcome {
    read_by(bytes, options, Taker::default(), false)
}

fn read_by(bytes: &[u8], options: &JsonOptions, mut sink: Taker, as_text: bool) -> Outcome {
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
        // What is wrong is told again.
        let _ = feed(&mut source, &mut Taker::default());
        keys = met.all().into_iter().map(|key| key.name).collect();
    }
    let columns = (0..keys.len()).map(|field| JsonColumn { from: ColumnFrom::Field(field), as_text });
    let source = JsonSource::new(input(), file, options, &keys, columns.collect(), 0..u64::MAX);
    let fed = source.and_then(|mut source| feed(&mut source, &mut sink));
    Outcome { keys, taken: sink.taken, error: fed.err().map(|error| error.without_hint()) }
}
