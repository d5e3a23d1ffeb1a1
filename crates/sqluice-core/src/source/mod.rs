//! Sources of rows: a source hands out parts in order, and a part becomes batches on any core.
//!
//! ```text
//!  Source::next_part   one thread at a time, in order: cuts the input (a byte range, a range of rows)
//!  Part::decode        any thread, several at once: makes batches, in order, and feeds them to the sink
//! ```
//!
//! Invariant: the cuts between parts depend on the input alone, never on threads or memory.

pub mod around;
pub mod blocks;
#[doc(hidden)]
pub mod cells;
pub mod chain;
pub mod columns;
pub mod kept;
pub mod project;
pub mod recognised;
pub mod scan;

use sqluice_format::scan::Leaf;

use crate::batch::{Batch, Column, Values};
use crate::error::{Error, Place, Result};
use crate::progress::Amount;
use kept::{Kept, Picked};

/// The number of bytes of a part of a text file: the part stays in the second-level cache from reading to encoding.
pub const PART_BYTES: usize = 1 << 20;

/// A sequence of parts.
pub trait Source: Send {
    /// Returns the next part, or `None` after the last. Must be quick: parts are cut under a lock.
    ///
    /// # Errors
    /// If the input can't be read or cut.
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>>;

    /// Returns the total of rows or bytes of input, if it is known before reading.
    fn total(&self) -> Option<Amount> {
        None
    }
}

/// A run of consecutive rows.
pub trait Part: Send {
    /// Returns the number of the first row, counted from 0 over the whole source.
    fn first_row(&self) -> u64;

    /// Returns the number of bytes of input in the part; 0 without an input.
    fn input_bytes(&self) -> u64 {
        0
    }

    /// Returns the place in the input at which the part begins, if it has one.
    fn place(&self) -> Option<Place> {
        None
    }

    /// Returns `true` if the source itself distinguishes numbers from text, so that no text is a number written as text.
    fn is_typed(&self) -> bool {
        false
    }

    /// Returns the layout by which [`Quoting::is_quoted`] recognises quoted fields; `None` if fields are never quoted.
    fn quoting(&self) -> Option<Quoting> {
        None
    }

    /// Gives all rows to `sink`, in order: in batches, and bad rows between them, so that the sink can count. No batch is empty, none has
    /// more than [`ROWS_MAX`](crate::batch::ROWS_MAX) rows, and each has a column for every column of the table.
    ///
    /// # Errors
    /// If the part can't be decoded, or the sink fails. The error has the place in the input, if the part has one.
    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()>;
}

/// The layout of a part's data, in which the position of a field's text shows if the field was quoted.
#[derive(Clone, Copy, Debug)]
pub struct Quoting {
    /// The byte that stands before the text of a quoted field; `None` if the file has no quotes.
    pub quote: Option<u8>,
    /// The number of bytes of input at the start of the data. Texts behind them are copies without the escapes or doubled quotes of a
    /// field.
    pub raw_bytes: usize,
}

impl Quoting {
    /// Returns `true` if the text in `row` of a column was quoted or escaped.
    pub fn is_quoted(self, column: &Column<'_>, row: usize) -> bool {
        let Values::Text(text) = column.values else { return false };
        let start = text.range(row).start;
        start >= self.raw_bytes || start > 0 && Some(text.data[start - 1]) == self.quote
    }
}

/// A receiver of the rows of a part.
pub trait Sink {
    /// Takes a batch.
    ///
    /// # Errors
    /// If some rows can't be stored, or the run is over. Then nothing of the batch was taken.
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused>;

    /// Takes only the rows of a batch that are in `kept`. All other rows count as rows of the part, but are not stored, because the user
    /// leaves them out.
    /// A sink that counts rows or looks at all of them overrides this method.
    ///
    /// # Errors
    /// As [`Sink::rows`].
    fn kept_rows(&mut self, batch: &Batch<'_>, kept: &Kept<'_>) -> Result<(), Refused> {
        if kept.rows.is_empty() {
            return Ok(());
        }
        self.rows(&Picked::new(batch, kept).batch()).map_err(|refused| kept.of_all(refused))
    }

    /// Returns the least number of fields that a record must have if the sink takes rows as records: see [`Sink::record`]. Returns `None`
    /// if the sink takes no records.
    fn record_fields(&self) -> Option<usize> {
        None
    }

    /// Takes a row as the record that the table stores: its values have the types of the columns, and the row keeps all constraints other
    /// than those of unique keys. A part may give rows in this way to a sink that takes records, if its source stores records and knows
    /// that they meet these conditions. A record must have at least [`Sink::record_fields`] fields, and comes in its place between the
    /// batches.
    ///
    /// # Errors
    /// If the row can't be stored, or the run is over.
    fn record(&mut self, rowid: i64, record: &[u8]) -> Result<()> {
        let _ = (rowid, record);
        Err(Error::usage("this sink takes only batches of rows: it does not implement Sink::record"))
    }

    /// Takes the rows of a whole leaf, each as [`Sink::record`]. Returns `false`, and takes nothing, if the sink takes rows one by one.
    ///
    /// # Errors
    /// If the rows can't be stored, or the run is over.
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool> {
        let _ = leaf;
        Ok(false)
    }

    /// Returns `true` if the sink wants the lines of rows: see [`Sink::lines`].
    fn wants_lines(&self) -> bool {
        false
    }

    /// Takes the lines of the rows of the next batch: for each row, the line in the file of the record's first character, counted from 1. A
    /// part of a file that has lines calls this method before each batch if the sink wants lines.
    fn lines(&mut self, lines: &[i64]) {
        let _ = lines;
    }

    /// Takes a row that is malformed, or that [`Sink::rows`] has refused.
    ///
    /// # Errors
    /// The error of the row itself, unless the sink collects bad rows.
    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        Err(bad.error)
    }

    /// Decides how to handle a text of a column that is not valid UTF-8. Called once for each such text, before its batch.
    fn bad_text(&mut self, _column: usize) -> BadText {
        BadText::Refuse
    }
}

/// The handling of a text that is not valid UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadText {
    /// The row is a bad row.
    #[default]
    Refuse,
    /// The batch has the bytes as they are stored. If the database stores UTF-16, this is not possible, and the row is a bad row.
    Keep,
    /// The batch has U+FFFD in the place of the bytes that are not valid.
    Replace,
    /// The batch has NULL.
    Null,
}

/// A sink of batches, which handles all texts that are not valid UTF-8 in the given way.
pub struct WithBadText<F>(pub BadText, pub F);

impl<F: FnMut(&Batch<'_>) -> Result<(), Refused>> Sink for WithBadText<F> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.1(batch)
    }

    fn bad_text(&mut self, _column: usize) -> BadText {
        self.0
    }
}

impl<F: FnMut(&Batch<'_>) -> Result<(), Refused>> Sink for F {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self(batch)
    }
}

/// A row that can't be loaded.
#[derive(Debug)]
pub struct BadRow {
    /// The reason, with the place of the row.
    pub error: Error,
    /// The bytes of the row in the input, without the line end, or a text of its values, if the input is not text.
    pub raw: Vec<u8>,
}

impl BadRow {
    /// Returns how many lines the row takes in the input. A line ends with LF, CRLF or CR.
    pub fn lines(&self) -> u64 {
        let ends = |at: &usize| match self.raw[*at] {
            b'\n' => true,
            b'\r' => self.raw.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        1 + (0..self.raw.len()).filter(ends).count() as u64
    }
}

/// The reason why the sink did not take a batch.
#[derive(Debug)]
pub enum Refused {
    /// The rows that can't be stored, in order, each once. The batch may be given again without these rows.
    Rows(Vec<RefusedRow>),
    /// The run must end.
    Stop {
        /// The indexes of the row in the batch and of the column of the value at fault, if known.
        at: Option<(usize, usize)>,
        /// The reason. The caller of the decoder adds the place.
        error: Error,
    },
}

/// A row of a batch that can't be stored.
#[derive(Debug)]
pub struct RefusedRow {
    /// The index of the row in the batch.
    pub row: usize,
    /// The index of the column of the value that can't be stored.
    pub column: usize,
    /// The reason, with the column and the value. The caller of the decoder adds the place.
    pub error: Error,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Stop { at: None, error }
    }
}

impl Refused {
    /// Returns the first error, with its row and column if known: for sources that do not keep bad rows.
    pub fn first(self) -> (Option<(usize, usize)>, Error) {
        match self {
            Refused::Stop { at, error } => (at, error),
            Refused::Rows(mut rows) => {
                let RefusedRow { row, column, error } = rows.swap_remove(0);
                (Some((row, column)), error)
            }
        }
    }
}

/// A source without rows.
#[derive(Clone, Copy, Debug)]
pub struct NoRows;

impl Source for NoRows {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        Ok(None)
    }
}
