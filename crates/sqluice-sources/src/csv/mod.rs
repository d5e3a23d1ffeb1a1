//! CSV files, as [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180) has them and as they are.
//!
//! ```text
//!  CsvReader::new ──> header ──> into_source ──> CsvSource::next_part ──> CsvPart::decode
//!                                                cut: under a lock        decode: any core
//! ```
//!
//! What is read:
//!
//! * The first record is the header, or else a row like the others: fields are called `column1`, `column2`, ... then. How many
//!   every record has, the first one says, or [`CsvOptions::fields`]. Names
//!   that are missing in the header, or repeated (ASCII letters in either case are the same), are made up and reported
//!   ([`CsvReader::renamed`]).
//! * Fields are separated by a delimiter of any characters, of which the first match counts (`a|||b` with `||` is `a` and
//!   `|b`), or by runs of blanks, which separate nothing at the start and the end of a line. Records end with LF, CRLF or CR, or with the file. Lines that begin with
//!   the comment character are skipped, whatever bytes they have, and so are empty lines. But in a file of one column, each empty line after the
//!   first record is a record of one empty field.
//! * A field that begins with a quote goes on to the closing quote; a quote in it is written twice, or behind the escape
//!   character, which makes any character stand for itself. A quote anywhere else is a character like any other, as it is in
//!   csv-core, Python, DuckDB and the shell of SQLite: the value is kept as it is, except with [`CsvOptions::strict_quotes`]. ([`Dialect`] names the characters.)
//! * Where the escape works outside of quotes ([`Dialect::escapes_unquoted`]), it also makes delimiters and line ends text, `\t`, `\n` and other letters
//!   are control characters in quotes and outside of them, and an unquoted `\N` alone is NULL. That is what MySQL (`SELECT ... INTO OUTFILE`) and PostgreSQL (`COPY`) write.
//! * Text is UTF-8; a byte order mark is skipped, also where it stands twice. NUL bytes and Ctrl-Z at the end of the file are no text (module `padding`).
//! * An unquoted field is NULL if it is one of [`CsvOptions::null_tokens`], or empty (except with
//!   [`CsvOptions::empty_as_text`]). A quoted one never is.
//!
//! * Fields that are missing at the end of a record are NULL with [`CsvOptions::pad`].
//!
//! What is malformed (a record with more or fewer fields than the first, text after a closing quote, no closing quote, bytes
//! that are no UTF-8, a NUL byte) is a bad row with an [`Error`] that names file, line and column, never repaired. The sink
//! may go on after it: the grammar says of any bytes where a record ends. Well-formed files mean to csv-core what they mean here.
//!
//! Invariant: rows, bad rows and the first error equal those of the slow twin (`naive`), for any input and any size of parts.
//!
//! For those who change it: a rule of the grammar is in four places: `naive` (by which the rest is tested), `scan` (quotes,
//! escapes, comments and line ends), `records` (all of it, but only to notice what is wrong), `malformed` (what is wrong) and `messages` (the words for it).

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
pub use self::dialect::Dialect;
pub use self::doubt::Doubts;
pub use self::header::Header;
pub use self::header::Renamed;
pub use self::header::unique;
use self::malformed::{Malformed, What};
use self::naive::{Field, Limits, Parser, Width};
use self::nulls::NullTokens;
use self::padding::Unpadded;
pub use self::repeats::RepeatedHeaders;
use self::repeats::Repeats;
pub use self::sniff::{Given, Preamble, Sniffed, sniff};
use crate::input::MemberStarts;
use crate::text::{HandedOut, Pool};
pub use sqluice_core::source::PART_BYTES;
pub use sqluice_core::source::columns::{ColumnFrom, Constant};
pub use sqluice_format::limits::COLUMNS_MAX;

/// The longest value that SQLite stores, in bytes.
pub const FIELD_BYTES_MAX: usize = limits::LENGTH_MAX;

/// The longest record, in bytes: one that holds the longest value, even if that is quotes alone, each doubled. A part with its
/// unescaped text stays below 4 GiB, which spans can address.
pub const RECORD_BYTES_MAX: usize = 2_100_000_000;

/// Which records end with a delimiter that separates nothing: the others have as many fields without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailingDelimiter {
    /// All but the header.
    Rows,
    /// The header alone.
    Header,
}

/// How a file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsvOptions {
    /// Which characters mean what.
    pub dialect: Dialect,
    /// The first record names the fields; otherwise it is a row.
    pub header: bool,
    /// How many fields every record has, where no header says it; `None`: as many as the first.
    pub fields: Option<usize>,
    /// Lines before everything else that are not looked at. Places in messages count them.
    pub skip_lines: u64,
    /// The line from which on records look like a footer: what is wrong with them says so.
    pub footer: Option<u64>,
    /// Fields that are NULL where they are not quoted.
    pub null_tokens: Vec<Vec<u8>>,
    /// Blanks around unquoted fields are no part of them.
    pub trim: bool,
    /// Unquoted empty fields are empty text, too (unless that is one of the tokens).
    pub empty_as_text: bool,
    /// Fields that are missing at the end of a record are NULL; otherwise such a record is malformed.
    pub pad: bool,
    /// Which records end with a delimiter that separates nothing; `None`: no records. In all records after the header such a delimiter is
    /// allowed then, if the record has all its fields.
    pub trailing_delimiter: Option<TrailingDelimiter>,
    /// A quote within an unquoted field is malformed; otherwise it is a character like any other. So is a quoted field of several lines
    /// that could be rows; otherwise it is a value, and one of the [`Doubts`].
    pub strict_quotes: bool,
    /// The fields that are numbers in all records seen so far. A line with another value there is no row.
    pub numbers: Vec<bool>,
    /// Records at the end of the file whose fields are all empty are no rows.
    pub leave_out_empty: bool,
    /// Some fields of the file are surely quoted: a remedy that makes quotes text would spoil them.
    pub has_quoted_fields: bool,
    /// Parts end with the first record at or after this many bytes. At most 16 MiB.
    pub part_bytes: usize,
    /// A longer value is malformed. At most [`FIELD_BYTES_MAX`].
    pub field_bytes_max: usize,
    /// A longer record (with its quotes, without its line end) or comment is an error: it bounds the memory of one part. At
    /// most [`RECORD_BYTES_MAX`].
    pub record_bytes_max: usize,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            dialect: Dialect::default(),
            header: true,
            fields: None,
            skip_lines: 0,
            footer: None,
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
    /// States whether the first record names the fields.
    header(header: bool) = header;
    /// Sets how many fields each record of a file without a header has; `None`: as many as the first.
    fields(fields: impl Into<Option<usize>>) = fields.into();
    /// Sets the number of lines to skip at the start.
    skip_lines(lines: u64) = lines;
    /// Sets the line from which on records look like a footer.
    footer(line: impl Into<Option<u64>>) = line.into();
    /// Sets the unquoted texts that are NULL.
    null_tokens(tokens: impl IntoIterator<Item = impl Into<Vec<u8>>>) =
        tokens.into_iter().map(Into::into).collect();
    /// Removes the blanks around unquoted fields.
    trim(trim: bool) = trim;
    /// Reads unquoted empty fields as empty text, not as NULL.
    empty_as_text(empty_as_text: bool) = empty_as_text;
    /// Fills fields that are missing at the end of a record with NULL.
    pad(pad: bool) = pad;
    /// Sets which records end with a delimiter that separates nothing.
    trailing_delimiter(records: impl Into<Option<TrailingDelimiter>>) = records.into();
    /// Treats a quote inside an unquoted field as malformed.
    strict_quotes(strict: bool) = strict;
    /// Sets which fields are numbers, as far as that is known.
    numbers(numbers: impl Into<Vec<bool>>) = numbers.into();
    /// Leaves out records at the end of the file whose fields are all empty.
    leave_out_empty(leave_out: bool) = leave_out;
    /// States whether some fields are surely quoted.
    has_quoted_fields(has_quoted_fields: bool) = has_quoted_fields;
    /// Sets the size from which on a part ends, in bytes: at most 16 MiB.
    part_bytes(bytes: usize) = bytes;
    /// Sets the size of the largest value, in bytes.
    field_bytes_max(bytes: usize) = bytes;
    /// Sets the size of the largest record, in bytes.
    record_bytes_max(bytes: usize) = bytes;
}

impl CsvOptions {
    /// Commas, double quotes and a header.
    pub fn new() -> CsvOptions {
        CsvOptions::default()
    }

    fn limits(&self) -> Limits {
        Limits {
            field_bytes_max: self.field_bytes_max.min(FIELD_BYTES_MAX),
            record_bytes_max: self.record_bytes_max.min(RECORD_BYTES_MAX),
        }
    }

    /// The fields of a header without the one behind its trailing delimiter.
    fn without_trailing(&self, mut fields: Vec<Field>) -> Vec<Field> {
        let is_trailing = |last: &mut Field| last.value.is_empty() && !last.quoted;
        if self.trailing_delimiter == Some(TrailingDelimiter::Header) && fields.len() >= 2 {
            fields.pop_if(is_trailing);
        }
        fields
    }

    /// Returns `true` if an empty line after the first record is a record, too: in a file of one column it is how NULL is written.
    fn has_blank_rows(&self, fields: usize) -> bool {
        fields == 1 && !self.dialect.delimiter.is_whitespace()
    }

    /// How many fields a record after the first may have.
    fn width(&self, fields: usize) -> Width {
        if self.pad { Width::AtMost(fields) } else { Width::Same(fields) }
    }
}

/// A file whose fields are known.
pub struct CsvReader {
    file: PathBuf,
    options: CsvOptions,
    cutter: Cutter,
    header: Header,
    /// The header has a field that may be rows.
    doubt: Option<Malformed>,
    /// The bytes of the header; empty: the file has no header.
    header_text: Arc<[u8]>,
    /// Bytes of padding at the end of the file.
    padding: Arc<AtomicU64>,
    member_starts: MemberStarts,
}

/// A file whose rows can be read.
pub struct CsvSource {
    shared: Arc<Shared>,
    cutter: Cutter,
    doubt: Option<Malformed>,
    /// Records at the end that are no rows.
    left_out: Arc<AtomicU64>,
    part_bytes: usize,
    first_row: u64,
    handed_out: HandedOut,
}

impl CsvReader {
    /// Reads the first record of `input`, which messages call `file`.
    ///
    /// # Errors
    /// When it can't be read, its first record is malformed or missing, or the dialect makes no sense.
    pub fn new(input: Box<dyn Read + Send>, file: &Path, options: CsvOptions) -> Result<CsvReader> {
        options.dialect.check()?;
        let limits = options.limits();
        let padding = Arc::default();
        let input = Box::new(Unpadded::new(input, Arc::clone(&padding)));
        let mut cutter = Cutter::new(input, file.to_owned(), options.dialect, limits);
        cutter.skip_lines(options.skip_lines);
        let mut doubt = None;
        let mut header_text: Arc<[u8]> = Arc::default();
        let header = loop {
            // Parts of one byte are parts of one line.
            let Some(cut) = cutter.next(Vec::new(), 1)? else { return Err(no_record(file, &options)) };
            let parser = Parser::new(&cut.data, cut.at, options.dialect, limits);
            let Some(record) = parser.with_strict_quotes(options.strict_quotes).record(Width::First) else {
                continue;
            };
            if let (Some(fields), false, false) = (options.fields, options.header, record.is_fatal()) {
                // Whatever is wrong with it, it is a row like the others.
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

    /// The names of the fields: none is empty, no two are the same.
    pub fn header(&self) -> &[String] {
        &self.header.names
    }

    /// Where the header names the field, or, without a header, its first value is.
    pub fn place_of(&self, field: usize) -> Place {
        self.header.at[field].place(&self.file)
    }

    /// Which of the names are not those of the file.
    pub fn renamed(&self) -> &[Renamed] {
        &self.header.renamed
    }

    /// States where the compressed files begin that the input consists of: a record there that repeats the header is no row.
    #[must_use]
    pub fn with_member_starts(mut self, starts: MemberStarts) -> CsvReader {
        self.member_starts = starts;
        self
    }

    /// The number of bytes at the end of the file that are padding and no text, once all of it is read.
    pub fn padding(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.padding)
    }

    /// Goes on to the rows, which have a column for each of `columns`. They are numbered from `rows.start` on, the number of rows before
    /// this file. At `rows.end` reading stops: nothing after that is looked at. Bad rows count.
    ///
    /// # Panics
    /// When `columns` names a field that there is not.
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
        false => "the columns are those of its first record",
    })
}

impl CsvSource {
    /// Input counts in the bytes of the file as it lies there, which may be compressed: `read` of them so far, as the reader of the file
    /// keeps counting, and `total` in all. What is not given: bytes of text, and an unknown total.
    #[must_use]
    pub fn with_progress(mut self, read: Option<Arc<AtomicU64>>, total: Option<u64>) -> CsvSource {
        self.handed_out = HandedOut::new(read, total);
        self
    }

    /// Adds the rows that a sink takes although fields are missing to `padded`.
    ///
    /// # Panics
    /// When a part was handed out.
    #[must_use]
    pub fn with_padded(mut self, padded: Arc<AtomicU64>) -> CsvSource {
        Arc::get_mut(&mut self.shared).expect("no part is handed out yet").padded = padded;
        self
    }

    /// Adds the records that repeat the header to `repeated`.
    ///
    /// # Panics
    /// When a part was handed out.
    #[must_use]
    pub fn with_repeated(mut self, repeated: Arc<RepeatedHeaders>) -> CsvSource {
        Arc::get_mut(&mut self.shared).expect("no part is handed out yet").repeated = repeated;
        self
    }

    /// Counts the empty records at the end of the file that are left out in `left_out`, once the source has no more parts.
    #[must_use]
    pub fn with_left_out(mut self, left_out: Arc<AtomicU64>) -> CsvSource {
        self.left_out = left_out;
        self
    }

    /// Adds the quoted fields that may be rows to `doubts`.
    ///
    /// # Panics
    /// When a part was handed out.
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
