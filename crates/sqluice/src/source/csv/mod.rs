//! CSV files, as [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180) has them and as they are.
//!
//! ```text
//!  CsvReader::open ──> header ──> map_by_name ──> into_source ──> CsvSource::next_part ──> CsvPart::decode
//!                                                                 cut: under a lock        decode: any core
//! ```
//!
//! What is read:
//!
//! * The first record is the header. Its names must be there, and differ (ASCII letters in either case are the same).
//! * Fields are separated by commas. Records end with LF, CRLF or CR, or with the file. Empty lines are no records; a
//!   record of one empty field is written `""`.
//! * A field that begins with a quote goes on to the closing quote; a quote in it is written twice. A quote anywhere else is a
//!   character like any other, also in csv-core.
//! * Text is UTF-8; a byte order mark is skipped.
//! * An unquoted empty field is NULL, a quoted one is the empty text (both are, with [`CsvOptions::empty_as_text`]).
//!
//! What is malformed (a record with more or fewer fields than the header, text after a closing quote, no closing quote, bytes
//! that are no UTF-8, a NUL byte) is an [`Error`] with file, line and column, never repaired. Well-formed
//! files mean to csv-core what they mean here.
//!
//! Invariant: rows and the first error equal those of the slow twin (`naive`), for any input and any size of parts.
//!
//! For those who change it: a rule of the grammar is in four places: `naive` (by which the rest is tested), `cut` (quotes
//! and line ends), `decode` (all of it, but only to notice what is wrong), `malformed` (the words for it).

mod columns;
mod cut;
mod decode;
mod dialect;
mod find;
mod malformed;
mod naive;
mod sniff;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::columns::{ColumnFrom, Constant};
use self::columns::{Header, Repeated};
use self::cut::Cutter;
use self::decode::{CsvPart, Filled, Pool, Shared};
pub use self::dialect::Dialect;
use self::naive::{Limits, Parser};
pub use self::sniff::{Given, Sniffed, sniff};
use crate::batch::ROWS_MAX;
use crate::error::{Error, Place, Result};
use crate::progress::Amount;
use crate::source::{Part, Source};

/// How much of a file one part is, in bytes: it stays in the second-level cache from reading to encoding.
pub const PART_BYTES: usize = 1 << 20;

/// The longest value that SQLite stores, in bytes.
pub const FIELD_BYTES_MAX: usize = 1_000_000_000;

/// The longest record, in bytes: one that holds the longest value, even if that is quotes alone, each doubled. A part with its
/// unescaped text stays below 4 GiB, which spans can address.
pub const RECORD_BYTES_MAX: usize = 2_100_000_000;

/// How a file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Unquoted empty fields are empty text, too.
    pub empty_as_text: bool,
    /// Parts end with the first record at or after this many bytes. At most 16 MiB.
    pub part_bytes: usize,
    /// A longer value is an error. At most [`FIELD_BYTES_MAX`].
    pub field_bytes_max: usize,
    /// A longer record (with its quotes, without its line end) is an error: so much may be in memory for one part. At most
    /// [`RECORD_BYTES_MAX`].
    pub record_bytes_max: usize,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            empty_as_text: false,
            part_bytes: PART_BYTES,
            field_bytes_max: FIELD_BYTES_MAX,
            record_bytes_max: RECORD_BYTES_MAX,
        }
    }
}

impl CsvOptions {
    fn limits(&self) -> Limits {
        Limits {
            field_bytes_max: self.field_bytes_max.min(FIELD_BYTES_MAX),
            record_bytes_max: self.record_bytes_max.min(RECORD_BYTES_MAX),
        }
    }
}

/// A file whose header has been read.
pub struct CsvReader {
    file: PathBuf,
    options: CsvOptions,
    cutter: Cutter,
    header: Header,
    bytes: Option<u64>,
}

/// A file whose rows can be read.
pub struct CsvSource {
    shared: Arc<Shared>,
    cutter: Cutter,
    part_bytes: usize,
    /// How much of the file is in parts that were handed out.
    bytes_done: u64,
    bytes: Option<u64>,
}

impl CsvReader {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// When the file can't be read, or its header is malformed or missing.
    pub fn open(file: &Path, options: CsvOptions) -> Result<CsvReader> {
        let input = File::open(file).map_err(|e| Error::read(file, e))?;
        let about = input.metadata().map_err(|e| Error::read(file, e))?;
        let mut reader = CsvReader::new(Box::new(input), file, options)?;
        reader.bytes = about.is_file().then_some(about.len());
        Ok(reader)
    }

    /// Reads the header of `input`, which messages call `file`.
    ///
    /// # Errors
    /// When it can't be read, or its header is malformed or missing.
    pub fn new(input: Box<dyn Read + Send>, file: &Path, options: CsvOptions) -> Result<CsvReader> {
        let limits = options.limits();
        let mut cutter = Cutter::new(input, file.to_owned(), limits.record_bytes_max)?;
        let header = loop {
            // Parts of one byte are parts of one line.
            let Some(cut) = cutter.next(Vec::new(), 1)? else {
                return Err(Error::input("the file is empty")
                    .at(Place::file(file))
                    .hint("its first line should name the columns"));
            };
            match Parser::new(&cut.data, cut.at, limits).record(None) {
                Some(Ok(fields)) => break fields,
                Some(Err(malformed)) => return Err(malformed.error(file)),
                None => {}
            }
        };
        let at = header.iter().map(|field| field.at).collect();
        let names = header.into_iter().map(|field| {
            // The parser takes no other.
            String::from_utf8(field.value.unwrap_or_default()).expect("a field is UTF-8")
        });
        let header = Header { names: names.collect(), at };
        header.check(file)?;
        Ok(CsvReader { file: file.to_owned(), options, cutter, header, bytes: None })
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header.names
    }

    /// Which field goes to which of a table's columns, by name, as SQLite compares them: ASCII letters in either case.
    /// For a column that the file does not have, `missing` is asked, with the column's index.
    ///
    /// # Errors
    /// When the file has a column that the table does not, or `missing` says so.
    pub fn map_by_name(
        &self,
        columns: &[&str],
        missing: impl FnMut(usize) -> Result<Constant>,
    ) -> Result<Vec<ColumnFrom>> {
        self.header.map(&self.file, columns, missing)
    }

    /// Goes on to the rows, which have a column for each of `columns`.
    ///
    /// # Panics
    /// When `columns` names a field that the header does not have.
    pub fn into_source(self, columns: Vec<ColumnFrom>) -> CsvSource {
        let filled = |from| match from {
            ColumnFrom::Field(field) => {
                assert!(field < self.header.names.len(), "field {field} is not in the header");
                Filled::Field(field)
            }
            ColumnFrom::Constant(constant) => Filled::Constant(Repeated::new(constant, ROWS_MAX)),
        };
        let shared = Shared {
            columns: columns.into_iter().map(filled).collect(),
            file: self.file,
            header: self.header,
            empty_as_text: self.options.empty_as_text,
            limits: self.options.limits(),
            pool: Pool::default(),
        };
        CsvSource {
            shared: Arc::new(shared),
            cutter: self.cutter,
            part_bytes: self.options.part_bytes.clamp(1, 16 << 20),
            bytes_done: 0,
            bytes: self.bytes,
        }
    }
}

impl Source for CsvSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(cut) = self.cutter.next(self.shared.pool.data(), self.part_bytes)? else { return Ok(None) };
        let end = self.cutter.at().byte;
        let input_bytes = end - self.bytes_done;
        self.bytes_done = end;
        Ok(Some(Box::new(CsvPart {
            shared: Arc::clone(&self.shared),
            // The header is a record, too.
            first_row: cut.first_record - 1,
            input_bytes,
            raw_bytes: cut.data.len(),
            cut,
        })))
    }

    fn total(&self) -> Option<Amount> {
        self.bytes.map(|bytes| Amount { rows: 0, bytes })
    }
}
