//! Encodes the parts of a source as CSV or JSON.
//!
//! ```text
//!  head        the line with the column names (CSV), or [ (JSON array)
//!  pieces      the rows of one part each, a row on a line
//!  separator   the comma between two pieces (JSON array)
//!  tail        ] (JSON array)
//! ```
//!
//! `load` reads the values back unchanged: NULL is an empty field of CSV, and empty text is `""`; integers have all digits, and floats the
//! fewest digits that read as the same float. A value that a format can't store is an error, or NULL if [`Mixed::Null`] is set: blobs and
//! infinities in both formats, and in CSV also text with a NUL byte. In CSV, a NULL that is the only column is always an error, because its
//! line would be empty.

mod csv;
mod json;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use sqluice_core::append::has_any;
use sqluice_core::batch::{Batch, Bytes, Column, Spans, Value, Values};
use sqluice_core::error::{Error, Result};
use sqluice_core::source::{BadRow, BadText, Part, Refused, Sink};

use self::json::Key;
use crate::compression::Compression;
use crate::in_order::Encode;
use crate::unfit::{Mixed, Nulled, without_bad_text};

/// A format of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Fields between delimiters, as in RFC 4180, but with lines that end with LF.
    Csv {
        /// The delimiter, a character of ASCII.
        delimiter: u8,
    },
    /// Objects, one on each line.
    Ndjson,
    /// An array of objects, one on each line.
    Json,
}

/// An encoder of parts as text.
pub struct TextEncoder {
    format: TextFormat,
    names: Vec<String>,
    /// For each column, the text before its values; empty for CSV.
    keys: Vec<Key>,
    compression: Compression,
    mixed: Mixed,
    nulled: Arc<Nulled>,
    seen: Vec<AtomicU8>,
}

/// The rows of a part as text.
#[derive(Debug, Default)]
pub struct TextPiece {
    /// The text, compressed if the encoder has a compression.
    pub bytes: Vec<u8>,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes of input that the part was decoded from.
    pub input_bytes: u64,
}

/// The bit of a column that has numbers.
const NUMBER: u8 = 1;
/// The bit of a column that has text.
const TEXT: u8 = 2;

impl TextEncoder {
    /// Creates an encoder for columns with these names. `mixed` is the handling of values that the format can't store; values that become
    /// NULL are counted in `nulled`.
    pub fn new(
        format: TextFormat,
        names: Vec<String>,
        compression: Compression,
        mixed: Mixed,
        nulled: Arc<Nulled>,
    ) -> TextEncoder {
        let keys = names.iter().enumerate().map(|(index, name)| Key::new(index, name)).collect();
        let seen = names.iter().map(|_| AtomicU8::new(0)).collect();
        TextEncoder { format, names, keys, compression, mixed, nulled, seen }
    }

    /// Returns the text before all rows, compressed if the encoder has a compression.
    ///
    /// # Errors
    /// If a name can't be written, or the text can't be compressed.
    pub fn head(&self) -> Result<Vec<u8>> {
        let head = match self.format {
            TextFormat::Csv { delimiter } => csv::header(&self.names, delimiter)?,
            TextFormat::Ndjson => Vec::new(),
            TextFormat::Json => b"[".to_vec(),
        };
        self.compression.piece(head)
    }

    /// Returns the text to write between two pieces that have rows; empty except for a JSON array.
    ///
    /// # Errors
    /// If the text can't be compressed.
    pub fn separator(&self) -> Result<Vec<u8>> {
        self.compression.piece(if self.format == TextFormat::Json { b",".to_vec() } else { Vec::new() })
    }

    /// Returns the text after all rows; empty except for a JSON array.
    ///
    /// # Errors
    /// If the text can't be compressed.
    pub fn tail(&self) -> Result<Vec<u8>> {
        self.compression.piece(if self.format == TextFormat::Json { b"\n]\n".to_vec() } else { Vec::new() })
    }

    /// Returns the names of the columns that had both numbers and text, which a reader of CSV can't tell apart. Empty for JSON.
    pub fn ambiguous(&self) -> Vec<&str> {
        let is_csv = matches!(self.format, TextFormat::Csv { .. });
        let columns = self.names.iter().zip(&self.seen);
        let both = columns.filter(|(_, seen)| is_csv && seen.load(Ordering::Relaxed) == NUMBER | TEXT);
        both.map(|(name, _)| name.as_str()).collect()
    }

    /// Adds the kinds (number, text) of the values in a batch to `seen`, for each column.
    fn see(&self, batch: &Batch<'_>) {
        for (column, seen) in batch.columns.iter().zip(&self.seen) {
            let of_value = |value: &Value<'_>| match value {
                Value::Int(_) | Value::Real(_) => NUMBER,
                Value::Text(_) => TEXT,
                Value::Null | Value::Blob(_) => 0,
            };
            let kinds = match column.values {
                Values::Int(_) | Values::Real(_) => NUMBER,
                Values::Text(_) => TEXT,
                Values::Null | Values::Blob(_) => 0,
                Values::Any(values) => values.iter().fold(0, |kinds, value| kinds | of_value(value)),
            };
            if seen.load(Ordering::Relaxed) | kinds != seen.load(Ordering::Relaxed) {
                seen.fetch_or(kinds, Ordering::Relaxed);
            }
        }
    }

    /// Handles a value that the format can't store. With [`Mixed::Null`], counts the value, which the caller writes as NULL; else returns
    /// the error. `at` is the row and the column.
    fn unfit(&self, at: (usize, usize), error: impl FnOnce() -> Error) -> Result<(), Refused> {
        if self.mixed == Mixed::Null {
            self.nulled.count(at.1);
            return Ok(());
        }
        Err(Refused::Stop { at: Some(at), error: error() })
    }
}

impl Encode for TextEncoder {
    type Piece = TextPiece;

    fn encode(&self, part: &mut dyn Part) -> Result<TextPiece> {
        let mut sink = TextSink { encoder: self, out: Vec::new(), rows: 0 };
        part.decode(&mut sink)?;
        let TextSink { out, rows, .. } = sink;
        Ok(TextPiece { bytes: self.compression.piece(out)?, rows, input_bytes: part.input_bytes() })
    }
}

struct TextSink<'e> {
    encoder: &'e TextEncoder,
    out: Vec<u8>,
    rows: u64,
}

impl Sink for TextSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.encoder.see(batch);
        match self.encoder.format {
            TextFormat::Csv { delimiter } => csv::push(self.encoder, delimiter, batch, &mut self.out)?,
            TextFormat::Ndjson => json::push(self.encoder, false, batch, &mut self.out)?,
            TextFormat::Json => {
                if self.rows > 0 {
                    self.out.push(b',');
                }
                json::push(self.encoder, true, batch, &mut self.out)?;
            }
        }
        self.rows += batch.rows as u64;
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        Err(without_bad_text(bad.error))
    }

    fn bad_text(&mut self, column: usize) -> BadText {
        self.encoder.mixed.bad_text(&self.encoder.nulled, column)
    }
}

/// A column of a batch, in the form that is fastest to write.
enum Field<'b> {
    /// Integers without NULLs.
    Ints(&'b [i64]),
    /// Finite floats without NULLs.
    Reals(&'b [f64]),
    /// Text without NULLs.
    Text {
        data: &'b [u8],
        offsets: &'b [u32],
        /// `true` if some bytes must be quoted or escaped.
        needs_care: bool,
    },
    /// Any other column.
    Other(Column<'b>),
}

/// Returns the columns of a batch. `special` returns `true` for bytes that must be quoted or escaped.
fn fields<'b>(batch: &Batch<'b>, special: impl Fn(u8) -> bool + Copy) -> Vec<Field<'b>> {
    let field = |column: &Column<'b>| match column.values {
        _ if column.validity.is_some() => Field::Other(*column),
        Values::Int(ints) => Field::Ints(&ints[..batch.rows]),
        Values::Real(reals) if reals[..batch.rows].iter().all(|real| real.is_finite()) => {
            Field::Reals(&reals[..batch.rows])
        }
        Values::Text(Bytes { data, spans: Spans::Offsets(offsets) }) => {
            let text = &data[offsets[0] as usize..offsets[batch.rows] as usize];
            Field::Text { data, offsets: &offsets[..=batch.rows], needs_care: has_any(text, special) }
        }
        _ => Field::Other(*column),
    };
    batch.columns.iter().map(field).collect()
}
