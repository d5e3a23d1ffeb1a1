//! Record batches as a source.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::ArrowOptions;
use super::column::{Fault, convert};
use super::nested::members_of;
use crate::batch::{Batch, Column, ROWS_MAX};
use crate::error::{Error, Place, Result};
use crate::progress::Amount;
use crate::source::chain::Counted;
use crate::source::columns::{ColumnFrom, Filled};
use crate::source::give::{self, give};
use crate::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};

/// Rows of a part at most.
pub(crate) const PART_ROWS: usize = 128 << 10;

/// What becomes of the columns of record batches.
pub struct Rows {
    file: PathBuf,
    columns: Vec<Filled>,
    as_text: Vec<bool>,
    options: ArrowOptions,
}

impl Rows {
    /// Rows that have a column for each of `columns`, which are filled from batches with so many `fields`; `as_text` says which of them
    /// have TEXT affinity. Messages call the input `file`.
    ///
    /// # Panics
    /// When a field is named that there is not.
    pub fn new(
        file: PathBuf,
        fields: usize,
        columns: Vec<ColumnFrom>,
        as_text: &[bool],
        options: ArrowOptions,
    ) -> Rows {
        Rows { file, columns: Filled::all(columns, fields), as_text: as_text.to_vec(), options }
    }

    pub(crate) fn place(&self) -> Place {
        Place::file(&self.file)
    }

    /// Gives all rows of a batch, the first of which has number `first_row`, to the sink.
    pub(crate) fn give(&self, batch: &RecordBatch, first_row: u64, sink: &mut dyn Sink) -> Result<()> {
        for from in (0..batch.num_rows()).step_by(ROWS_MAX) {
            let rows = ROWS_MAX.min(batch.num_rows() - from);
            let mut some =
                Slice { rows: self, batch: batch.slice(from, rows), first_row: first_row + from as u64 };
            give(rows, &mut some, sink)?;
        }
        Ok(())
    }
}

/// Rows of a batch.
struct Slice<'r> {
    rows: &'r Rows,
    batch: RecordBatch,
    /// The number of the first.
    first_row: u64,
}

impl give::Rows for Slice<'_> {
    fn batch(&mut self, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), Refused> {
        let batch = self.batch.slice(rows.start, rows.len());
        let Rows { columns, as_text, options, .. } = self.rows;
        let mut converted = Vec::new();
        let mut refused: Vec<RefusedRow> = Vec::new();
        for (column, filled) in columns.iter().enumerate() {
            let Filled::Field(field) = filled else {
                converted.push(None);
                continue;
            };
            match convert(&**batch.column(*field), as_text.get(column) == Some(&true), *options) {
                Ok(values) => converted.push(Some(values)),
                Err(Fault { row, message }) => {
                    let name = batch.schema_ref().field(*field).name().clone();
                    let error = Error::input(format!("column {name}: {message}"));
                    refused.push(RefusedRow { row, column, error });
                }
            }
        }
        // Each column tells its first: without that row it tells the next.
        if let Some(first) = refused.into_iter().min_by_key(|refused| refused.row) {
            return Err(Refused::Rows(vec![first]));
        }
        let values = columns.iter().zip(&converted).map(|(filled, converted)| match (filled, converted) {
            (Filled::Constant(repeated), _) => repeated.column(rows.len()),
            (_, Some(converted)) => converted.column(),
            (_, None) => Column::NULL,
        });
        sink.rows(&Batch { rows: rows.len(), columns: values.collect() })
    }

    fn refused(&mut self, row: usize, _: usize, error: Error) -> BadRow {
        let number = self.first_row + row as u64 + 1;
        let schema = self.batch.schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let mut raw = String::new();
        members_of(names.zip(self.batch.columns()), row, &mut raw);
        let error = error.with_words(&format!(" (row {number})")).at(self.rows.place());
        BadRow { error, raw: raw.into_bytes() }
    }
}

/// Record batches, one after another.
pub struct ArrowSource {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    rows: Arc<Rows>,
    /// What is left of the present batch.
    rest: Option<RecordBatch>,
    first_row: u64,
    next_row: u64,
    end_row: u64,
}

impl ArrowSource {
    /// The rows of `batches`, numbered from `numbers.start` on; at its end reading stops.
    pub fn new(
        batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
        rows: Rows,
        numbers: Range<u64>,
    ) -> ArrowSource {
        let rows = Arc::new(rows);
        let Range { start, end } = numbers;
        ArrowSource { batches, rows, rest: None, first_row: start, next_row: start, end_row: end }
    }
}

impl Source for ArrowSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        while self.rest.is_none() {
            match self.batches.next() {
                None => return Ok(None),
                Some(batch) => self.rest = Some(batch?).filter(|batch| batch.num_rows() > 0),
            }
        }
        let left = self.end_row.saturating_sub(self.next_row);
        let Some(batch) = self.rest.take().filter(|_| left > 0) else { return Ok(None) };
        let rows = batch.num_rows().min(PART_ROWS).min(usize::try_from(left).unwrap_or(usize::MAX));
        let part = batch.slice(0, rows);
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        let first_row = self.next_row;
        self.next_row += rows as u64;
        let input_bytes = part.get_array_memory_size() as u64;
        Ok(Some(Box::new(ArrowPart { batch: part, rows: Arc::clone(&self.rows), first_row, input_bytes })))
    }

    fn total(&self) -> Option<Amount> {
        None
    }
}

impl Counted for ArrowSource {
    fn rows_done(&self) -> u64 {
        self.next_row - self.first_row
    }
}

/// Some rows of a record batch.
struct ArrowPart {
    batch: RecordBatch,
    rows: Arc<Rows>,
    first_row: u64,
    input_bytes: u64,
}

impl Part for ArrowPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    fn place(&self) -> Option<Place> {
        Some(self.rows.place())
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.rows.give(&self.batch, self.first_row, sink)
    }
}
