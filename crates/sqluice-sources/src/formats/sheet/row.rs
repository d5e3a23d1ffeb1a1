//! A row of a sheet, as the readers of all workbook formats return it.

use sqluice_core::batch::Span;
use sqluice_core::error::{Error, Place, Result};

use super::limits::Limits;
use crate::formats::address::{self, COLUMNS_MAX};

/// A row, whose buffers are reused for the next row.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The number of the row, counted from 1.
    pub(super) number: u32,
    /// The number of consecutive equal rows, of which this is the first.
    pub(super) repeat: u32,
    /// The cells that have a value, in the order of their columns.
    pub(super) cells: Vec<Cell>,
    /// The texts of all cells, one after another; cells have spans of it.
    pub(super) text: String,
}

/// A cell that has a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The column, counted from 1.
    pub(super) column: u32,
    pub(super) value: Value,
}

/// The value of a cell. Texts are spans of [`Row::text`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Real(f64),
    Bool(bool),
    /// Text, which is never a number.
    Text(Span),
    /// A date, a time or a duration, as text.
    Moment(Span),
    /// An error, such as `#N/A`.
    Error(Span),
    /// A formula whose value is not stored in the file.
    Uncomputed,
}

impl Row {
    /// Empties the row and gives it a number.
    pub(super) fn begin(&mut self, number: u32) {
        self.number = number;
        self.repeat = 1;
        self.cells.clear();
        self.text.clear();
    }

    /// Appends the text that `write` writes, and returns its span.
    pub(super) fn add_text(&mut self, write: impl FnOnce(&mut String)) -> Span {
        let start = self.text.len();
        write(&mut self.text);
        self.span_from(start)
    }

    /// Returns the span of the text from `start` to the end. It fits 32 bits, as the size of a row is checked earlier.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span { start: start as u32, len: (self.text.len() - start) as u32 }
    }

    pub(super) fn str(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    /// Sorts the cells by their columns. Returns an error if a column occurs twice.
    pub(super) fn sort(&mut self) -> Result<(), Fault> {
        if !self.cells.is_sorted_by(|one, other| one.column < other.column) {
            self.cells.sort_by_key(|cell| cell.column);
            if let Some(pair) = self.cells.windows(2).find(|pair| pair[0].column == pair[1].column) {
                let error = Error::input("the workbook has this cell twice");
                return Err(Fault::at(error, self.number, pair[0].column));
            }
        }
        Ok(())
    }

    pub(super) fn check(&self, limits: &Limits) -> Result<(), Fault> {
        limits.check_row(self.text.len()).map_err(|error| Fault::in_row(error, self.number))
    }
}

/// Writes a value as spreadsheet programs write it to CSV files. Used to recognise headers, and for files of rejected rows.
pub(super) fn write_plain(row: &Row, value: Value, out: &mut String) {
    use std::fmt::Write as _;
    match value {
        Value::Int(int) => _ = write!(out, "{int}"),
        Value::Real(real) => _ = write!(out, "{real}"),
        Value::Bool(bool) => out.push_str(if bool { "TRUE" } else { "FALSE" }),
        Value::Text(span) | Value::Moment(span) | Value::Error(span) => out.push_str(row.str(span)),
        Value::Uncomputed => {}
    }
}

/// An error in a sheet, with its row and column if they are known.
#[derive(Debug)]
pub(super) struct Fault {
    error: Error,
    row: Option<u32>,
    column: Option<u32>,
}

impl Fault {
    pub(super) fn at(error: Error, row: u32, column: u32) -> Fault {
        Fault { error, row: Some(row), column: Some(column) }
    }

    pub(super) fn in_row(error: Error, row: u32) -> Fault {
        Fault { error, row: Some(row), column: None }
    }

    /// Returns the error with the place of its row or cell. `sheet` is the place of the sheet. An error that already has a place, or is not
    /// about the input, is returned unchanged.
    pub(super) fn placed(self, sheet: &Place) -> Error {
        if self.error.place().is_some() || !matches!(self.error.kind(), sqluice_core::error::ErrorKind::Input)
        {
            return self.error;
        }
        self.error.at(place(sheet, self.row, self.column))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault { error, row: None, column: None }
    }
}

/// Returns the place of a row or a cell in the sheet with the place `sheet`.
pub(super) fn place(sheet: &Place, row: Option<u32>, column: Option<u32>) -> Place {
    Place { line: row.map(u64::from), column: column.map(u64::from), ..sheet.clone() }
}

/// A reader of the rows of a sheet.
pub(super) trait Rows: Send {
    /// Reads the next row that has a cell with a value. Returns `false` at the end of the sheet.
    fn next(&mut self, row: &mut Row) -> Result<bool, Fault>;

    /// Returns the number of bytes of XML or of records that were read so far, after decompression.
    fn inflated_bytes(&self) -> u64;

    /// Returns the number of bytes of the file that were read so far.
    fn file_bytes(&self) -> u64;
}

/// Returns `column + 1`, for a cell without an address, or an error if this is beyond the last column.
pub(super) fn next_column(column: u32, row: u32) -> Result<u32, Fault> {
    if column >= COLUMNS_MAX {
        let error = Error::input(format!("the row has more than {COLUMNS_MAX} columns"));
        return Err(Fault::in_row(error, row));
    }
    Ok(column + 1)
}

/// Returns `row + 1`, for a row without a number, or an error if this is beyond the last row.
pub(super) fn next_row(row: u32) -> Result<u32, Fault> {
    if row >= address::ROWS_MAX {
        let error = Error::input(format!("the sheet has more than {} rows", address::ROWS_MAX));
        return Err(Fault::in_row(error, row));
    }
    Ok(row + 1)
}
