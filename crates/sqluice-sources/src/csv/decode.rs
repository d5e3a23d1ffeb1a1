//! Turns a part of the input into batches, on any core.
//!
//! ```text
//!  part       1,a⏎  2,b⏎     3,"x"y⏎     4,d⏎     5,e⏎       6,f⏎
//!             ──────────     ───────     ───────────────────────
//!  sink gets  a batch        a bad row   a batch, which it refuses because of row 5; then in its place:
//!                                        row 4    a bad row  row 6
//! ```
//!
//! [`records`](super::records) finds the fields of well-formed records. [`naive`](super::naive) reads each malformed record again, and
//! finds the fault and the end of the record. The two parsers always agree on which records are malformed.
//!
//! Invariant: every record that is not skipped as a repeated header goes to the sink once, in order: in a batch that the sink takes, or as
//! a bad row.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::batch::{Batch, Bitmap, Bytes, Column, Span, Spans, Values};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::source::columns::Filled;
use sqluice_core::source::{BadRow, Part, Quoting, Refused, RefusedRow, Sink};

use super::CsvOptions;
use super::cut::Cut;
use super::delimiter::is_blank;
use super::dialect::Marks;
use super::doubt::{self, Doubts, Usual};
use super::find::Finder;
use super::malformed::What;
use super::naive::{Limits, Parser, Record};
use super::nulls::NullTokens;
use super::records::{Next, Read, Records, Scratch, Valid, unescape};
use super::repeats::{RepeatedHeaders, Repeats};
use crate::give::{GivenRows, give};
use crate::text::{Pool, Position};

/// The data that all parts of a file share.
pub(super) struct Shared {
    pub(super) file: std::path::PathBuf,
    pub(super) options: CsvOptions,
    pub(super) marks: Marks,
    pub(super) limits: Limits,
    pub(super) nulls: NullTokens,
    /// The counter of the rows that a sink takes although fields are missing.
    pub(super) padded: Arc<AtomicU64>,
    /// The collector of the quoted fields that may be rows.
    pub(super) doubts: Arc<Doubts>,
    /// The collector of the records that repeat the header.
    pub(super) repeated: Arc<RepeatedHeaders>,
    /// The rules for records that repeat the header.
    pub(super) repeats: Repeats,
    /// The number of fields of every record.
    pub(super) fields: usize,
    pub(super) columns: Vec<Filled>,
    pub(super) pool: Pool<Scratch>,
}

/// A part of a CSV file.
pub(super) struct CsvPart {
    pub(super) shared: Arc<Shared>,
    pub(super) cut: Cut,
    pub(super) input_bytes: u64,
    /// The number of bytes of `cut.data` that are input; unescaped text follows.
    pub(super) raw_bytes: usize,
}

impl Part for CsvPart {
    fn first_row(&self) -> u64 {
        self.cut.first_record
    }

    fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    fn place(&self) -> Option<Place> {
        Some(self.cut.at.place(&self.shared.file))
    }

    fn quoting(&self) -> Option<Quoting> {
        Some(Quoting { quote: self.shared.options.dialect.quote, raw_bytes: self.raw_bytes })
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let spans = shared.fields + usize::from(shared.options.trailing_delimiter.is_some());
        shared.pool.with(|| Scratch::new(spans, shared.columns.len()), |scratch| self.batches(scratch, sink))
    }
}

impl Drop for CsvPart {
    fn drop(&mut self) {
        self.shared.pool.give_back(std::mem::take(&mut self.cut.data), super::PART_BYTES * 4);
    }
}

impl CsvPart {
    fn batches(&mut self, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<()> {
        let marks = self.shared.marks;
        let mut valid = Valid::new(self.input());
        let mut cursor = Cursor { byte: 0, line: self.cut.at.line };
        let mut doubted = Cursor { byte: 0, line: self.cut.at.line };
        let mut repeats = Cursor { byte: 0, line: self.cut.at.line };
        let mut numbered = Cursor { byte: 0, line: self.cut.at.line };
        let mut from = 0;
        let mut records = 0;
        loop {
            let reader = Records {
                data: self.input(),
                fields: self.shared.fields,
                marks,
                delimiter: self.shared.options.dialect.delimiter,
                limits: self.shared.limits,
                missing: self.shared.nulls.missing(self.raw_bytes),
                strict_quotes: self.shared.options.strict_quotes,
                trailing_delimiter: self.shared.options.trailing_delimiter.is_some(),
                repeats: &self.shared.repeats,
                blank_rows: self.shared.options.has_blank_rows(self.shared.fields),
                byte: self.cut.at.byte,
            };
            let Read { rows, end, next } = reader.read(from, &mut valid, scratch);
            let refused = self.doubts(rows, end, scratch, &mut doubted);
            for &(start, skipped) in &scratch.repeated {
                let line = repeats.advance(self.input(), start, self.cut.at).line;
                self.shared.repeated.add(line, skipped);
            }
            unescape(&mut self.cut.data, marks, self.shared.options.trim, scratch);
            if self.shared.options.trim {
                self.trim(rows, scratch);
            }
            let lines = match sink.wants_lines() {
                true => self.lines(rows, scratch, &mut numbered),
                false => Vec::new(),
            };
            let mut found = CsvRecords { part: self, scratch, cursor: &mut cursor, lines };
            give(rows, refused, &mut found, sink)?;
            self.cut.data.truncate(self.raw_bytes);
            records += rows;
            from = match next {
                Next::More => end,
                Next::Done => break,
                Next::Malformed => {
                    records += 1;
                    self.malformed(end, &mut cursor, sink)?
                }
            };
        }
        debug_assert_eq!(records as u64, self.cut.records, "cutting and decoding count alike");
        Ok(())
    }

    /// Removes the blanks around the unquoted fields of the first `rows` rows.
    fn trim(&self, rows: usize, scratch: &mut Scratch) {
        let input = self.input();
        for spans in scratch.spans.chunks_mut(scratch.stride).take(self.shared.fields) {
            for span in &mut spans[..rows] {
                let (start, len) = (span.start as usize, span.len as usize);
                let is_quoted =
                    start >= input.len() || start > 0 && input[start - 1] == self.shared.marks.quote;
                if len == 0 || is_quoted {
                    continue;
                }
                let text = &input[start..start + len];
                let is_text = |&byte: &u8| !is_blank(byte);
                *span = match (text.iter().position(is_text), text.iter().rposition(is_text)) {
                    (Some(first), Some(last)) => {
                        Span { start: (start + first) as u32, len: (last + 1 - first) as u32 }
                    }
                    _ => Span::default(),
                };
            }
        }
    }

    /// Reports the records with a quoted field that may be rows, or, with `strict_quotes`, returns these records as refused rows. The last
    /// of the `rows` records ends at or before `end`.
    fn doubts(&self, rows: usize, end: usize, scratch: &Scratch, cursor: &mut Cursor) -> Vec<RefusedRow> {
        let Shared { options, fields, file, doubts, repeats, .. } = &*self.shared;
        let usual = Usual { fields: *fields, header: &repeats.header };
        let mut refused = Vec::new();
        let mut last = None;
        for &slot in &scratch.of_lines {
            let row = slot % scratch.stride;
            // A record is looked at only once.
            if last == Some(row) {
                continue;
            }
            let start = scratch.starts[row] as usize;
            let end = if row + 1 < rows { scratch.starts[row + 1] as usize } else { end };
            let text = &self.input()[start..end];
            if !doubt::may_be_rows(text, options, usual) {
                continue;
            }
            last = Some(row);
            let Some(record) = self.record(start, cursor) else { continue };
            let text = &self.input()[record.bytes.clone()];
            let Some(malformed) = doubt::doubt(&record, text, options, usual) else { continue };
            match malformed.what {
                What::CouldBeRows { lines } if !options.strict_quotes => {
                    doubts.add(malformed.at.place(file), lines);
                }
                _ => {
                    let error = malformed.error(file, options, text, *fields);
                    refused.push(RefusedRow { row, column: 0, error });
                }
            }
        }
        refused
    }

    /// Returns the line at which each of the rows begins.
    fn lines(&self, rows: usize, scratch: &Scratch, cursor: &mut Cursor) -> Vec<i64> {
        let starts = scratch.starts[..rows].iter();
        starts.map(|start| cursor.advance(self.input(), *start as usize, self.cut.at).line as i64).collect()
    }

    fn input(&self) -> &[u8] {
        &self.cut.data[..self.raw_bytes]
    }

    /// Gives the rows `rows` of `scratch` to the sink, as one batch. Returns the refusal of the sink if it does not take all of them.
    fn batch(&self, rows: Range<usize>, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<(), Refused> {
        let Scratch { rows_max, stride, spans, validity, nulls, .. } = scratch;
        let data = &self.cut.data;
        let words = *rows_max / 64;
        let spans_of = |field: usize| &spans[field * *stride..][rows.clone()];
        for (column, filled) in self.shared.columns.iter().enumerate() {
            if let Filled::Field(field) = filled {
                let validity = &mut validity[column * words..][..words];
                nulls[column] =
                    self.shared.nulls.mark_present(data, self.raw_bytes, spans_of(*field), validity);
            }
        }
        let mut columns = Vec::with_capacity(self.shared.columns.len());
        for (column, filled) in self.shared.columns.iter().enumerate() {
            columns.push(match filled {
                Filled::Constant(repeated) => repeated.column(rows.len()),
                Filled::Field(field) => Column {
                    values: Values::Text(Bytes { data, spans: Spans::Anywhere(spans_of(*field)) }),
                    validity: nulls[column].then_some(Bitmap(&validity[column * words..][..words])),
                },
            });
        }
        sink.rows(&Batch { rows: rows.len(), columns })
    }

    /// Returns the [`BadRow`] for row `row` of the batch, which can't be stored because of column `column`: `error` with the place of the
    /// field (or of the record, if the file does not have the column), and the bytes of the record.
    #[cold]
    fn refused(
        &self,
        row: usize,
        column: usize,
        error: Error,
        scratch: &Scratch,
        cursor: &mut Cursor,
    ) -> BadRow {
        let record = self.record(scratch.starts[row] as usize, cursor);
        let Some(Record { at, bytes, fields, .. }) = record else { return BadRow { error, raw: Vec::new() } };
        // If the file does not have the column, the error has the place of the record.
        let field = match self.shared.columns.get(column) {
            Some(Filled::Field(field)) => fields.ok().and_then(|fields| Some(fields.get(*field)?.at)),
            _ => None,
        };
        let raw = self.input()[bytes].to_vec();
        // The error about a field that may be rows already has a place.
        if error.place().is_some() {
            return BadRow { error, raw };
        }
        let place = field.unwrap_or(at).place(&self.shared.file);
        BadRow { error: error.at(place), raw }
    }

    /// Gives the malformed record that begins at `start` to the sink as a bad row. Returns the position behind the line end of the record.
    #[cold]
    fn malformed(&self, start: usize, cursor: &mut Cursor, sink: &mut dyn Sink) -> Result<usize> {
        let Some(Record { bytes, fields: Err(malformed), .. }) = self.record(start, cursor) else {
            return Err(Error::input("this part of the file is malformed")
                .at(cursor.advance(self.input(), start, self.cut.at).place(&self.shared.file))
                .hint("this is a bug in sqluice: its two parsers disagree. Please report it with the file"));
        };
        let Shared { file, options, fields, .. } = &*self.shared;
        let error = malformed.error(file, options, &self.input()[bytes.clone()], *fields);
        if malformed.is_fatal() {
            return Err(error);
        }
        sink.bad_row(BadRow { error, raw: self.input()[bytes.clone()].to_vec() })?;
        // The line end is skipped, so that it is not taken for an empty line.
        let line_end = match &self.input()[bytes.end..] {
            [b'\r', b'\n', ..] => 2,
            rest => rest.len().min(1),
        };
        Ok(bytes.end + line_end)
    }

    /// Reads the record that begins at `start` with the slow parser.
    fn record(&self, start: usize, cursor: &mut Cursor) -> Option<Record> {
        let at = cursor.advance(self.input(), start, self.cut.at);
        let Shared { options, limits, fields, .. } = &*self.shared;
        let parser = Parser::new(&self.input()[start..], at, options.dialect, *limits);
        let parser = parser
            .with_repeats(&self.shared.repeats)
            .with_blank_rows(options.has_blank_rows(*fields))
            .with_strict_quotes(options.strict_quotes)
            .with_trailing_delimiter(options.trailing_delimiter.is_some());
        let mut record = { parser }.record(options.width(*fields))?;
        record.bytes = start + record.bytes.start..start + record.bytes.end;
        Some(record)
    }
}

/// The rows of a batch.
struct CsvRecords<'f> {
    part: &'f CsvPart,
    scratch: &'f mut Scratch,
    cursor: &'f mut Cursor,
    /// The line at which each row begins, if the sink wants lines.
    lines: Vec<i64>,
}

impl GivenRows for CsvRecords<'_> {
    fn batch(&mut self, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), Refused> {
        if let Some(lines) = self.lines.get(rows.clone()) {
            sink.lines(lines);
        }
        self.part.batch(rows.clone(), self.scratch, sink)?;
        // The rows in `padded` are in ascending order.
        let padded = &self.scratch.padded;
        let until = |row: usize| padded.partition_point(|&padded| padded < row);
        let taken = until(rows.end) - until(rows.start);
        if taken > 0 {
            self.part.shared.padded.fetch_add(taken as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    fn refused(&mut self, row: usize, column: usize, error: Error) -> BadRow {
        self.part.refused(row, column, error, self.scratch, self.cursor)
    }
}

/// A position in a part, which only moves forward. To count the lines before each of many bad rows anew would take quadratic time.
struct Cursor {
    byte: usize,
    line: u64,
}

impl Cursor {
    /// Moves to byte `to`, the start of a line, and returns the position in the input. `part` is the start of the part.
    fn advance(&mut self, data: &[u8], to: usize, part: Position) -> Position {
        let ends = Finder::new(&data[..to], self.byte, [b'\n', b'\r']);
        self.line += ends.filter(|&at| super::scan::ends_line(data, at)).count() as u64;
        self.byte = to;
        Position { byte: part.byte + to as u64, line: self.line, column: 1 }
    }
}
