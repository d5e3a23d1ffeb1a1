//! Reads CSV files: those that follow [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), and those that occur in practice.
//!
//! ```text
//!  CsvReader::new ──> header ──> into_source ──> CsvSource::next_part ──> CsvPart::decode
//!                                                cut: under a lock        decode: any core
//! ```
//!
//! The rules:
//!
//! * The first record is the header. In a file without a header, the first record is a row, and the fields are called `column1`,
//!   `column2`, ... The first record sets the number of fields of all records; [`CsvOptions::fields`] can set this number for a file
//!   without a header. Names that are empty or repeated (ASCII letters compare without case) are replaced and reported
//!   ([`CsvReader::renamed`]).
//! * A delimiter separates fields: any text, or a run of blanks. The first match counts: `a|||b` with `||` is `a` and `|b`. If the
//!   delimiter is a run of blanks, blanks at the start and the end of a line separate nothing.
//! * Records end with LF, CRLF, CR or the end of the file ([`LineEnd`] can restrict this to CRLF). Lines that begin with the comment
//!   character are skipped, whatever bytes they have. Empty lines are skipped, too. But in a file of one column, each empty line after the
//!   first record is a record of one empty field, unless the delimiter is a run of blanks.
//! * A field that begins with a quote ends with the closing quote. Blanks may precede the opening quote if the field closes in the same
//!   line. A quote inside the field is written twice, or behind the escape character, which makes any character stand for itself. Any
//!   other quote is text, as in csv-core, Python, DuckDB and the shell of SQLite, unless [`CsvOptions::strict_quotes`] is set.
//!   ([`Dialect`] names the characters.)
//! * If the escape works outside of quotes ([`Dialect::escapes_unquoted`]), the escape also makes delimiters and line ends text, `\t`,
//!   `\n` and other letters are control characters inside and outside of quotes, and the unquoted field `\N` is NULL. MySQL
//!   (`SELECT ... INTO OUTFILE`) and PostgreSQL (`COPY`) write such files.
//! * Text is UTF-8. Byte order marks at the start of the file are skipped. NUL bytes and Ctrl-Z at the end of the file are padding
//!   (module `padding`).
//! * An unquoted field is NULL if the field is one of [`CsvOptions::null_tokens`], or empty (except with
//!   [`CsvOptions::empty_as_text`]). A quoted field is never NULL.
//! * Fields that are missing at the end of a record are NULL with [`CsvOptions::pad`].
//!
//! A malformed record (more or fewer fields than the first record, text after a closing quote, no closing quote, bytes that are not
//! UTF-8, a NUL byte) is a bad row with an [`Error`] that names the file, the line and the column. Malformed records are never repaired.
//! Reading can go on after a bad row, because the grammar defines the end of a record for any bytes. csv-core reads well-formed files
//! in the same way.
//!
//! Invariant: rows, bad rows and the first error equal those of the slow twin (`naive`), for any input and any size of parts.
//!
//! A rule of the grammar is implemented in several modules: `naive` (the reference for all tests), `scan` (quotes, escapes, comments
//! and line ends), `records` (all rules, but faults are only noticed) and `sniff::field` (plain lines). `malformed` lists the faults,
//! and `messages` has their texts.

mod cut;
mod decode;
mod delimiter;
mod dialect;
mod doubt;
mod find;
#[cfg(fuzzing)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing;
mod header;
mod malformed;
mod messages;
mod naive;
mod nulls;
mod padding;
mod records;
mod repeats;
mod scan;
mod sniff;
#[cfg(test)]
mod tests;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, allow(dead_code))]
mod twins;

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::Amount;
use sqluice_core::setters;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::Filled;
use sqluice_core::source::{Part, Source};
use sqluice_format::limits;

use self::cut::Cutter;
use self::decode::{CsvPart, Shared};
pub use self::delimiter::{DELIMITER_BYTES_MAX, Delimiter};
pub use self::dialect::{Dialect, LineEnd};
pub use self::doubt::Doubts;
pub use self::header::Header;
pub use self::header::Renamed;
pub use self::header::unique;
use self::malformed::{Malformed, What};
use self::naive::{Field, Limits, Parser, Record, Width};
use self::nulls::NullTokens;
use self::padding::Unpadded;
pub use self::repeats::RepeatedHeaders;
use self::repeats::Repeats;
pub use self::sniff::{Given, Preamble, Sniffed, sniff};
use crate::input::MemberStarts;
use crate::text::{HandedOut, Pool, Position};
pub use sqluice_core::source::PART_BYTES;
pub use sqluice_core::source::columns::{ColumnFrom, Constant};
pub use sqluice_format::limits::COLUMNS_MAX;

/// The longest value that SQLite stores, in bytes.
pub const FIELD_BYTES_MAX: usize = limits::LENGTH_MAX;

/// The longest record, in bytes: enough for the longest value, even if all its characters are doubled quotes. A part with its
/// unescaped text stays below 4 GiB, which spans can address.
pub const RECORD_BYTES_MAX: usize = 2_100_000_000;

/// The records that end with a surplus delimiter, which separates nothing and adds no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailingDelimiter {
    /// All records but the header.
    Rows,
    /// The header alone.
    Header,
}

/// The options for reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsvOptions {
    /// The delimiter, the quote and the other special characters.
    pub dialect: Dialect,
    /// `true` if the first record names the fields, `false` if the first record is a row.
    pub header: bool,
    /// `true` if the header is a comment, whose sign `#` is left out.
    pub commented_header: bool,
    /// The number of fields of every record in a file without a header; `None`: as many as the first record has.
    pub fields: Option<usize>,
    /// The number of lines to skip at the start. Places in messages count the skipped lines.
    pub skip_lines: u64,
    /// The first line of a likely footer. From this line on, errors about the number of fields mention the footer.
    pub footer: Option<u64>,
    /// The line of the header of a larger table that begins below other records. Above this line, errors about the number of fields mention
    /// the table.
    pub table_below: Option<u64>,
    /// The unquoted texts that are NULL.
    pub null_tokens: Vec<Vec<u8>>,
    /// `true` if the blanks around unquoted fields are removed.
    pub trim: bool,
    /// `true` if unquoted empty fields are empty text, not NULL (unless the empty text is one of the tokens).
    pub empty_as_text: bool,
    /// `true` if fields that are missing at the end of a record are NULL, `false` if such a record is malformed.
    pub pad: bool,
    /// The records that end with a surplus delimiter; `None`: no records. If the value is not `None`, any record after the header that has
    /// all its fields may end with a surplus delimiter.
    pub trailing_delimiter: Option<TrailingDelimiter>,
    /// `true` if a quote within an unquoted field is malformed, and so is a quoted field of several lines that could be rows. If `false`,
    /// the quote is text, and the field is a value, which [`Doubts`] reports.
    pub strict_quotes: bool,
    /// A flag for each field, `true` if all its known values are numbers. A record that repeats the header, with text in such a field, is
    /// therefore no row.
    pub numbers: Vec<bool>,
    /// `true` if records at the end of the file whose fields are all empty are left out, unless the delimiter is a run of blanks.
    pub leave_out_empty: bool,
    /// `true` if some fields of the file are surely quoted, so that a malformed quote is no reason to read all quotes as text.
    pub has_quoted_fields: bool,
    /// The target size of a part in bytes, at most 16 MiB. A part ends with the first record that reaches this size.
    pub part_bytes: usize,
    /// The longest value in bytes, at most [`FIELD_BYTES_MAX`]. A longer value is malformed.
    pub field_bytes_max: usize,
    /// The longest record (with its quotes, without its line end) or comment in bytes, at most [`RECORD_BYTES_MAX`]. A longer record is
    /// an error, so that the memory of one part is bounded.
    pub record_bytes_max: usize,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            dialect: Dialect::default(),
            header: true,
            commented_header: false,
            fields: None,
            skip_lines: 0,
            footer: None,
            table_below: None,
            null_tokens: Vec::new(),
            trim: false,
            empty_as_text: false,
            pad: false,
            trailing_delimiter: None,
            strict_quotes: false,
            numbers: Vec::new(),
            leave_out_empty: false,
            has_quoted_fields: false,
            part_bytes: PART_BYTES,
            field_bytes_max: FIELD_BYTES_MAX,
            record_bytes_max: RECORD_BYTES_MAX,
        }
    }
}

setters! { CsvOptions:
    /// Sets the delimiter, the quote and the other special characters.
    dialect(dialect: Dialect) = dialect;
    /// Sets whether the first record names the fields.
    header(header: bool) = header;
    /// Sets whether the header is a comment.
    commented_header(commented: bool) = commented;
    /// Sets the number of fields of each record in a file without a header; `None`: as many as the first record has.
    fields(fields: impl Into<Option<usize>>) = fields.into();
    /// Sets the number of lines to skip at the start.
    skip_lines(lines: u64) = lines;
    /// Sets the first line of a likely footer.
    footer(line: impl Into<Option<u64>>) = line.into();
    /// Sets the line of the header of a larger table below other records.
    table_below(line: impl Into<Option<u64>>) = line.into();
    /// Sets the unquoted texts that are NULL.
    null_tokens(tokens: impl IntoIterator<Item = impl Into<Vec<u8>>>) =
        tokens.into_iter().map(Into::into).collect();
    /// Removes the blanks around unquoted fields.
    trim(trim: bool) = trim;
    /// Reads unquoted empty fields as empty text, not as NULL.
    empty_as_text(empty_as_text: bool) = empty_as_text;
    /// Fills fields that are missing at the end of a record with NULL.
    pad(pad: bool) = pad;
    /// Sets the records that end with a surplus delimiter.
    trailing_delimiter(records: impl Into<Option<TrailingDelimiter>>) = records.into();
    /// Treats quotes inside unquoted fields, and quoted fields of several lines that could be rows, as malformed.
    strict_quotes(strict: bool) = strict;
    /// Sets a flag for each field: `true` if all its known values are numbers.
    numbers(numbers: impl Into<Vec<bool>>) = numbers.into();
    /// Leaves out records at the end of the file whose fields are all empty.
    leave_out_empty(leave_out: bool) = leave_out;
    /// Sets whether some fields are surely quoted.
    has_quoted_fields(has_quoted_fields: bool) = has_quoted_fields;
    /// Sets the target size of a part, in bytes, at most 16 MiB.
    part_bytes(bytes: usize) = bytes;
    /// Sets the size of the largest value, in bytes.
    field_bytes_max(bytes: usize) = bytes;
    /// Sets the size of the largest record, in bytes.
    record_bytes_max(bytes: usize) = bytes;
}

impl CsvOptions {
    /// Returns the default options: commas, double quotes and a header.
    pub fn new() -> CsvOptions {
        CsvOptions::default()
    }

    fn limits(&self) -> Limits {
        Limits {
            field_bytes_max: self.field_bytes_max.min(FIELD_BYTES_MAX),
            record_bytes_max: self.record_bytes_max.min(RECORD_BYTES_MAX),
        }
    }

    /// Returns the dialect of the first record, which is no comment if it is the header.
    fn first_dialect(&self) -> Dialect {
        match self.header && self.commented_header {
            true => Dialect { comment: None, ..self.dialect },
            false => self.dialect,
        }
    }

    /// Reads the first record of `data`, which begins at `at`. The sign of a comment before the header is left out of the fields, and is
    /// part of the bytes.
    fn first_record(&self, data: &[u8], at: Position, width: Width) -> Option<Record> {
        let parser = |data, at| {
            Parser::new(data, at, self.first_dialect(), self.limits()).with_strict_quotes(self.strict_quotes)
        };
        let record = parser(data, at).record(width)?;
        let start = record.bytes.start;
        let sign = match self.header && self.commented_header && !record.is_fatal() {
            true => self.dialect.delimiter.comment_sign_bytes(&data[record.bytes.clone()]),
            false => 0,
        };
        if sign == 0 {
            return Some(record);
        }
        let (byte, column) = (record.at.byte + sign as u64, record.at.column + sign as u64);
        let names = &data[start + sign..record.bytes.end];
        let named = parser(names, Position { byte, column, ..record.at }).record(width)?;
        Some(Record { bytes: start..start + sign + named.bytes.end, at: record.at, ..named })
    }

    /// Returns the fields of a header without the empty field behind its trailing delimiter.
    fn without_trailing(&self, mut fields: Vec<Field>) -> Vec<Field> {
        let is_trailing = |last: &mut Field| last.value.is_empty() && !last.quoted;
        if self.trailing_delimiter == Some(TrailingDelimiter::Header) && fields.len() >= 2 {
            fields.pop_if(is_trailing);
        }
        fields
    }

    /// Returns `true` if empty lines after the first record are records, too: in a file of one column, unless blanks separate fields.
    fn has_blank_rows(&self, fields: usize) -> bool {
        fields == 1 && !self.dialect.delimiter.is_whitespace()
    }

    /// Returns the number of fields that a record after the first may have.
    fn width(&self, fields: usize) -> Width {
        if self.pad { Width::AtMost(fields) } else { Width::Same(fields) }
    }
}

/// A CSV file whose first record was read, so that its fields are known.
pub struct CsvReader {
    file: PathBuf,
    options: CsvOptions,
    cutter: Cutter,
    header: Header,
    /// The doubt about the header, if a quoted field of the header may be rows.
    doubt: Option<Malformed>,
    /// The bytes of the header; empty if the file has no header.
    header_text: Arc<[u8]>,
    /// The number of padding bytes at the end of the file.
    padding: Arc<AtomicU64>,
    member_starts: MemberStarts,
}

/// A source of the rows of a CSV file.
pub struct CsvSource {
    shared: Arc<Shared>,
    cutter: Cutter,
    doubt: Option<Malformed>,
    /// The number of empty records at the end of the file that are left out.
    left_out: Arc<AtomicU64>,
    part_bytes: usize,
    first_row: u64,
    handed_out: HandedOut,
}

impl CsvReader {
    /// Reads the first record of `input`, which messages call `file`.
    ///
    /// # Errors
    /// When `input` can't be read, the first record is malformed or missing, or the dialect is invalid.
    pub fn new(input: Box<dyn Read + Send>, file: &Path, options: CsvOptions) -> Result<CsvReader> {
        options.dialect.check()?;
        let limits = options.limits();
        let padding = Arc::default();
        let input = Box::new(Unpadded::new(input, Arc::clone(&padding)));
        let mut cutter = Cutter::new(input, file.to_owned(), options.first_dialect(), limits);
        cutter.skip_lines(options.skip_lines);
        let mut doubt = None;
        let mut header_text: Arc<[u8]> = Arc::default();
        let header = loop {
            // With 1 as the target size, a part has at most one record.
            let Some(cut) = cutter.next(Vec::new(), 1)? else { return Err(no_record(file, &options)) };
            let Some(record) = options.first_record(&cut.data, cut.at, Width::First) else { continue };
            if let (Some(fields), false, false) = (options.fields, options.header, record.is_fatal()) {
                // The first record is a row, even if malformed.
                cutter.put_back(cut);
                break Header::of_fields(fields, record.at);
            }
            let text = &cut.data[record.bytes.clone()];
            let width = record.fields.as_ref().map_or(0, Vec::len);
            if options.header {
                doubt = doubt::doubt(&record, text, &options, doubt::Usual { fields: width, header: &[] });
                header_text = text.into();
            }
            let fields = record.fields.map_err(|malformed| malformed.error(file, &options, text, width))?;
            if let Some(doubt) = doubt.filter(|_| options.strict_quotes) {
                return Err(doubt.error(file, &options, text, width));
            }
            if options.header {
                break Header::of_names(options.without_trailing(fields));
            }
            cutter.put_back(cut);
            break Header::of_row(&fields);
        };
        cutter.set_dialect(options.dialect);
        let member_starts = MemberStarts::default();
        Ok(CsvReader {
            file: file.to_owned(),
            options,
            cutter,
            header,
            doubt,
            header_text,
            padding,
            member_starts,
        })
    }

    /// Returns the names of the fields: none is empty, and no two are equal.
    pub fn header(&self) -> &[String] {
        &self.header.names
    }

    /// Returns the place of the field in the header, or in the first record if the file has no header.
    pub fn place_of(&self, field: usize) -> Place {
        self.header.at[field].place(&self.file)
    }

    /// Returns the names that differ from the names in the header.
    pub fn renamed(&self) -> &[Renamed] {
        &self.header.renamed
    }

    /// Sets the places in the input where its compressed files begin. A record that repeats the header at one of these places is no row.
    #[must_use]
    pub fn with_member_starts(mut self, starts: MemberStarts) -> CsvReader {
        self.member_starts = starts;
        self
    }

    /// Returns the counter of the padding bytes at the end of the file. The count is known once the whole file is read.
    pub fn padding(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.padding)
    }

    /// Turns the reader into a source of rows with a column for each of `columns`. Rows, bad rows included, are numbered from
    /// `rows.start` on, the number of rows before this file. Reading stops before row `rows.end`.
    ///
    /// # Panics
    /// When `columns` names a field that does not exist.
    pub fn into_source(mut self, columns: Vec<ColumnFrom>, rows: Range<u64>) -> CsvSource {
        let fields = self.header.names.len();
        let first_row = rows.start;
        let (header, mark_bytes) = (self.header_text, 3);
        let repeats = Repeats {
            everywhere: self.header.is_no_row(&self.options.numbers),
            marked: header.first().copied() != self.options.dialect.quote
                && header.len() + mark_bytes <= self.options.field_bytes_max
                && header.len() + mark_bytes <= self.options.record_bytes_max,
            starts: self.member_starts,
            header,
        };
        self.cutter.skip(repeats.clone());
        self.cutter.read_blank_rows(self.options.has_blank_rows(fields));
        self.cutter.number(rows);
        if self.options.leave_out_empty {
            self.cutter.leave_out_empty(fields);
        }
        let options = self.options;
        let mark = options.dialect.null_mark().map(Vec::from);
        let tokens = options.null_tokens.iter().cloned().chain(mark).collect();
        let shared = Shared {
            columns: Filled::all(columns, fields),
            file: self.file,
            fields,
            marks: options.dialect.marks(),
            limits: options.limits(),
            nulls: NullTokens::new(tokens, options.empty_as_text, options.dialect.quote)
                .with_missing(options.pad),
            padded: Arc::default(),
            doubts: Arc::default(),
            repeated: Arc::default(),
            repeats,
            pool: Pool::default(),
            options,
        };
        CsvSource {
            part_bytes: shared.options.part_bytes.clamp(1, 16 << 20),
            shared: Arc::new(shared),
            doubt: self.doubt,
            left_out: Arc::default(),
            cutter: self.cutter,
            first_row,
            handed_out: HandedOut::default(),
        }
    }
}

fn no_record(file: &Path, options: &CsvOptions) -> Error {
    let message = match options.skip_lines {
        0 => "the file is empty".to_owned(),
        1 => "the file is empty after the line that is skipped".to_owned(),
        lines => format!("the file is empty after the {lines} lines that are skipped"),
    };
    Error::input(message).at(Place::file(file)).hint(match options.header {
        true => "its first line should name the columns",
        false => "it needs a first record, whose fields become the columns",
    })
}

impl CsvSource {
    /// Measures progress in bytes of the file as stored, perhaps compressed: `read` counts the bytes read so far, and `total` is the size
    /// of the file. Without `read`, progress counts bytes of text; without `total`, the total is unknown.
    #[must_use]
    pub fn with_progress(mut self, read: Option<Arc<AtomicU64>>, total: Option<u64>) -> CsvSource {
        self.handed_out = HandedOut::new(read, total);
        self
    }

    /// Sets the counter of the rows that a sink takes although fields are missing at the end of their records. Decoding adds to the
    /// counter.
    ///
    /// # Panics
    /// When the source has already returned a part.
    #[must_use]
    pub fn with_padded(mut self, padded: Arc<AtomicU64>) -> CsvSource {
        Arc::get_mut(&mut self.shared).expect("no part is handed out yet").padded = padded;
        self
    }

    /// Sets the collector of the records that repeat the header.
    ///
    /// # Panics
    /// When the source has already returned a part.
    #[must_use]
    pub fn with_repeated(mut self, repeated: Arc<RepeatedHeaders>) -> CsvSource {
        Arc::get_mut(&mut self.shared).expect("no part is handed out yet").repeated = repeated;
        self
    }

    /// Sets the counter of the empty records left out at the end of the file. The count is known once the source has no more parts.
    #[must_use]
    pub fn with_left_out(mut self, left_out: Arc<AtomicU64>) -> CsvSource {
        self.left_out = left_out;
        self
    }

    /// Sets the collector of the quoted fields that may be rows.
    ///
    /// # Panics
    /// When the source has already returned a part.
    #[must_use]
    pub fn with_doubts(mut self, doubts: Arc<Doubts>) -> CsvSource {
        let shared = Arc::get_mut(&mut self.shared).expect("no part is handed out yet");
        if let Some(Malformed { at, what: What::CouldBeRows { lines } }) = self.doubt {
            doubts.add(at.place(&shared.file), lines);
        }
        shared.doubts = doubts;
        self
    }
}

impl Source for CsvSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let cut = self.cutter.next(self.shared.pool.data(), self.part_bytes)?;
        self.left_out.store(self.cutter.left_out(), Ordering::Relaxed);
        let Some(cut) = cut else { return Ok(None) };
        let input_bytes = self.handed_out.next(self.cutter.at().byte);
        let raw_bytes = cut.data.len();
        Ok(Some(Box::new(CsvPart { shared: Arc::clone(&self.shared), cut, input_bytes, raw_bytes })))
    }

    fn total(&self) -> Option<Amount> {
        self.handed_out.total()
    }
}

impl Counted for CsvSource {
    fn rows_done(&self) -> u64 {
        self.cutter.records() - self.first_row
    }
}
