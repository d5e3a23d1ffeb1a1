//! Reads Avro files as a load does, for tests and for fuzzing.

use std::io::Cursor;
use std::path::Path;

use arrow_schema::DataType;
use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::Result;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::{BadRow, Refused, Sink, Source};

use crate::arrow::{ArrowOptions, ArrowRows, ArrowSource, MemoryBound, declared_type};

/// A value of a row, comparable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    /// The bits of a float, so that NaN is equal to itself.
    Real(u64),
    Text(String),
    Blob(Vec<u8>),
}

/// The rows, bad rows and errors of a file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// The names and declared types of the columns.
    pub(super) columns: Vec<(String, Option<&'static str>)>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// The errors of the bad rows.
    pub(super) bad: Vec<String>,
    /// The error that ended the reading.
    pub(super) error: Option<String>,
}

/// The maximum number of rows that are read from a file.
const ROWS_MAX: usize = 1 << 16;

/// Reads a file as a load with this memory does.
pub(super) fn read(file: &[u8], memory_bytes: u64) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err(error) = take(file, MemoryBound(Some(memory_bytes)), &mut outcome) {
        outcome.error = Some(with_cause(&error));
    }
    outcome
}

/// Returns the message of an error, followed by the messages of its causes.
fn with_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", with_cause(cause)))
}

fn take(file: &[u8], memory: MemoryBound, outcome: &mut Outcome) -> Result<()> {
    let name = Path::new("x.avro");
    let (schema, batches) = super::read(Cursor::new(file.to_vec()), name, memory)?;
    let options = ArrowOptions::new().memory(memory);
    let fields = schema.fields();
    let types = fields.iter().map(|field| declared_type(field.data_type(), options));
    outcome.columns = fields.iter().map(|field| field.name().clone()).zip(types).collect();
    let as_text: Vec<bool> = outcome.columns.iter().map(|(_, declared)| *declared == Some("TEXT")).collect();
    let kinds: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
    let map = (0..kinds.len()).map(ColumnFrom::Field).collect();
    let rows = ArrowRows::new(Some(name.to_owned()), kinds.len(), map, &as_text, options).kinds(&kinds);
    let mut source = ArrowSource::new(batches, rows, 0..ROWS_MAX as u64);
    while let Some(mut part) = source.next_part()? {
        part.decode(outcome)?;
    }
    Ok(())
}

impl Sink for Outcome {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        for row in 0..batch.rows {
            self.rows.push(batch.columns.iter().map(|column| cell(column.get(row))).collect());
        }
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.bad.push(bad.error.to_string());
        Ok(())
    }
}

fn cell(value: Value<'_>) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Int(int) => Cell::Int(int),
        Value::Real(real) => Cell::Real(real.to_bits()),
        Value::Text(text) => Cell::Text(String::from_utf8(text.to_vec()).expect("texts are UTF-8")),
        Value::Blob(blob) => Cell::Blob(blob.to_vec()),
    }
}
