//! What the calling thread sends, as a source.

use std::sync::Arc;

use arrow_array::RecordBatch;
use crossbeam_channel::Receiver;
use sqluice::batch::{Batch, Column, ROWS_MAX, Value, Values};
use sqluice::error::{Error, Result};
use sqluice::progress::Amount;
use sqluice::source::columns::{ColumnFrom, Constant};
use sqluice::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};

use crate::cells::Cells;

/// What the calling thread sends.
pub(crate) enum Piece {
    /// Rows of Python.
    Rows(RowsOfPython),
    /// Rows of Arrow.
    Batch(RecordBatch),
    /// There are no more: whoever goes away without saying so has failed.
    End,
}

/// Rows of Python, column by column.
pub(crate) struct RowsOfPython {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Cells>,
}

/// The next piece, if there is one.
fn next(pieces: &Receiver<Piece>) -> Result<Option<Piece>> {
    match pieces.recv() {
        Ok(Piece::End) => Ok(None),
        Ok(piece) => Ok(Some(piece)),
        Err(_) => Err(Error::interrupted()),
    }
}

/// The record batches among the pieces.
pub(crate) struct Batches(pub(crate) Receiver<Piece>);

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match next(&self.0) {
            Ok(Some(Piece::Batch(batch))) => Some(Ok(batch)),
            Ok(Some(_)) => Some(Err(Error::usage("rows of Python among those of Arrow"))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// The rows of Python among the pieces.
pub(crate) struct Pieces(pub(crate) Receiver<Piece>);

impl Iterator for Pieces {
    type Item = Result<RowsOfPython>;

    fn next(&mut self) -> Option<Result<RowsOfPython>> {
        match next(&self.0) {
            Ok(Some(Piece::Rows(rows))) => Some(Ok(rows)),
            Ok(Some(_)) => Some(Err(Error::usage("rows of Arrow among those of Python"))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Rows of Python as a source.
pub(crate) struct RowSource<I> {
    pieces: I,
    filled: Arc<Vec<ColumnFrom>>,
    first_row: u64,
}

impl<I> RowSource<I> {
    /// Rows for a table whose columns are `filled` so.
    pub(crate) fn new(pieces: I, filled: Vec<ColumnFrom>) -> RowSource<I> {
        RowSource { pieces, filled: Arc::new(filled), first_row: 0 }
    }
}

impl<I: Iterator<Item = Result<RowsOfPython>> + Send> Source for RowSource<I> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(rows) = self.pieces.next().transpose()? else { return Ok(None) };
        let first_row = self.first_row;
        self.first_row += rows.rows as u64;
        Ok(Some(Box::new(RowPart { rows, filled: Arc::clone(&self.filled), first_row })))
    }
}

struct RowPart {
    rows: RowsOfPython,
    filled: Arc<Vec<ColumnFrom>>,
    first_row: u64,
}

impl Part for RowPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.rows.columns.iter().map(Cells::bytes).sum::<usize>() as u64
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let RowsOfPython { rows, columns } = &self.rows;
        let constants: Vec<Vec<Value<'_>>> = self.filled.iter().map(repeated).collect();
        for from in (0..*rows).step_by(ROWS_MAX) {
            let count = ROWS_MAX.min(rows - from);
            let mixed: Vec<Vec<Value<'_>>> = columns.iter().map(|cells| cells.mixed(from, count)).collect();
            let columns = self.filled.iter().zip(&constants).map(|(from_where, constant)| match from_where {
                ColumnFrom::Field(field) => columns[*field].column(from, count, &mixed[*field]),
                ColumnFrom::Constant(_) => Column::new(Values::Any(&constant[..count])),
            });
            let batch = Batch { rows: count, columns: columns.collect() };
            if let Err(refused) = sink.rows(&batch) {
                let (at, error) = refused.first();
                return Err(match at {
                    Some((row, _)) if error.record().is_none() => {
                        error.of_record("", self.first_row + (from + row) as u64 + 1)
                    }
                    _ => error,
                });
            }
        }
        Ok(())
    }
}

/// A constant, as often as a batch has rows.
fn repeated(from: &ColumnFrom) -> Vec<Value<'_>> {
    let ColumnFrom::Constant(constant) = from else { return Vec::new() };
    let value = match constant {
        Constant::Null => Value::Null,
        Constant::Int(int) => Value::Int(*int),
        Constant::Real(real) => Value::Real(*real),
        Constant::Text(text) => Value::Text(text.as_bytes()),
        Constant::Blob(blob) => Value::Blob(blob),
    };
    vec![value; ROWS_MAX]
}

/// A source whose errors name the row.
pub(crate) struct Numbered<S>(pub(crate) S);

impl<S: Source> Source for Numbered<S> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        Ok(self.0.next_part()?.map(|part| Box::new(NumberedPart(part)) as Box<dyn Part>))
    }

    fn total(&self) -> Option<Amount> {
        self.0.total()
    }
}

struct NumberedPart(Box<dyn Part>);

impl Part for NumberedPart {
    fn first_row(&self) -> u64 {
        self.0.first_row()
    }

    fn input_bytes(&self) -> u64 {
        self.0.input_bytes()
    }

    fn is_typed(&self) -> bool {
        self.0.is_typed()
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let next = self.0.first_row();
        self.0.decode(&mut Numbering { sink, next })
    }
}

/// Counts the rows along.
struct Numbering<'s> {
    sink: &'s mut dyn Sink,
    /// The number of the next row, from 0.
    next: u64,
}

impl Sink for Numbering<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let first = self.next;
        let number = |error: Error, row: usize| match error.record() {
            None => error.of_record("", first + row as u64 + 1),
            Some(_) => error,
        };
        match self.sink.rows(batch) {
            Ok(()) => {
                self.next += batch.rows as u64;
                Ok(())
            }
            Err(Refused::Stop { at: Some((row, column)), error }) => {
                Err(Refused::Stop { at: Some((row, column)), error: number(error, row) })
            }
            Err(Refused::Rows(rows)) => {
                let rows = rows.into_iter();
                let rows =
                    rows.map(|refused| RefusedRow { error: number(refused.error, refused.row), ..refused });
                Err(Refused::Rows(rows.collect()))
            }
            Err(stop) => Err(stop),
        }
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.next += 1;
        let error = match bad.error.record() {
            None => bad.error.of_record("", self.next),
            Some(_) => bad.error,
        };
        self.sink.bad_row(BadRow { error, ..bad })
    }
}
