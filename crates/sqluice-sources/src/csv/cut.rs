//! Cuts the input into parts of whole records, and counts records and lines.
//!
//! ```text
//!  input   ...a,b⏎c,"d⏎e"⏎f,g⏎h,i...
//!             │ part_bytes  │  ┊ └ rest: read already, begins the next part
//!             └─────────────┴──┘ a part: up to the first end of a record at or after part_bytes
//! ```
//!
//! The cutter runs under a lock, so it looks only at quotes, escapes, comments and line ends. Faults are left to decoding: the end of
//! a record does not depend on its faults (see [`naive`](super::naive)). An input that ends within quotes has a quote that never
//! closes; the slow parser then finds the end of the record. A record that is longer than allowed is cut off just behind the limit, so
//! that decoding notices the fault. The part with this record is the last.
//!
//! Invariant: a cut depends on the bytes and on `part_bytes`, never on the sizes of reads.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use sqluice_core::error::Result;

use super::delimiter::Delimiter;
use super::dialect::{Dialect, Marks};
use super::find::Finder;
use super::naive::{Limits, Parser, Width};
use super::repeats::Repeats;
use super::scan::{Scan, ends_line, ends_record, is_empty_line};
use crate::text::{Position, Text};

/// The most bytes that are read at once beyond a part. Surplus bytes are copied to the next part.
const READ_BYTES_MAX: usize = 64 << 10;

/// A part of the input, made of whole records.
pub(super) struct Cut {
    pub(super) data: Vec<u8>,
    /// The start of the part.
    pub(super) at: Position,
    /// The number of records before the part.
    pub(super) first_record: u64,
    /// The number of records in the part, malformed ones included.
    pub(super) records: u64,
}

/// Cuts the input into parts of whole records, and counts the records.
pub(super) struct Cutter {
    text: Text,
    dialect: Dialect,
    marks: Marks,
    delimiter: Delimiter,
    record_bytes_max: usize,
    repeats: Repeats,
    /// `true` if an empty line is a record of one empty field.
    blank_rows: bool,
    /// The number of fields of an empty record, if empty records at the end of the input are left out.
    empty_fields: Option<usize>,
    /// The number of empty records that were left out.
    left_out: u64,
    records: u64,
    /// The value of `records` at which cutting stops.
    records_max: u64,
}

impl Cutter {
    /// Returns a cutter of `input`, which messages call `file`. Byte order marks at the start are skipped.
    pub(super) fn new(
        input: Box<dyn Read + Send>,
        file: PathBuf,
        dialect: Dialect,
        limits: Limits,
    ) -> Cutter {
        Cutter {
            text: Text::new(input, file),
            dialect,
            marks: dialect.marks(),
            delimiter: dialect.delimiter,
            record_bytes_max: limits.record_bytes_max,
            repeats: Repeats::default(),
            blank_rows: false,
            empty_fields: None,
            left_out: 0,
            records: 0,
            records_max: u64::MAX,
        }
    }

    /// Sets the dialect of the records that follow.
    pub(super) fn set_dialect(&mut self, dialect: Dialect) {
        (self.dialect, self.marks) = (dialect, dialect.marks());
    }

    /// Skips `lines` lines, whatever they hold.
    pub(super) fn skip_lines(&mut self, lines: u64) {
        let mut data = std::mem::take(&mut self.text.rest);
        while self.text.at.line <= lines {
            // The meaning of a CR depends on the next byte, so the last byte waits until more is read.
            let end = if self.text.ended { data.len() } else { data.len().saturating_sub(1) };
            let mut seen = end;
            for at in Finder::new(&data[..end], 0, [b'\n', b'\r']) {
                self.text.at.line += u64::from(ends_line(&data, at));
                if self.text.at.line > lines {
                    seen = at + 1;
                    break;
                }
            }
            self.text.at.byte += seen as u64;
            data.drain(..seen);
            if self.text.ended && data.is_empty() {
                break;
            }
            if self.text.at.line <= lines {
                self.text.read(&mut data, READ_BYTES_MAX);
            }
        }
        self.text.rest = data;
    }

    /// Returns the start of the next part.
    pub(super) fn at(&self) -> Position {
        self.text.at
    }

    /// Returns the number of records in the parts so far.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Makes `records.start` the number of the next record. Cutting stops before the record with the number `records.end`.
    pub(super) fn number(&mut self, records: Range<u64>) {
        (self.records, self.records_max) = (records.start, records.end);
    }

    /// Excludes records from the counts from here on if `repeats` says that they are no rows.
    pub(super) fn skip(&mut self, repeats: Repeats) {
        self.repeats = repeats;
    }

    /// Sets whether the empty lines that follow are records of one empty field.
    pub(super) fn read_blank_rows(&mut self, blank_rows: bool) {
        self.blank_rows = blank_rows;
    }

    /// Leaves out records at the end of the input that have `fields` empty fields, as spreadsheets write them. Has no effect if the
    /// delimiter is a run of blanks, which can't separate empty fields.
    pub(super) fn leave_out_empty(&mut self, fields: usize) {
        let whole = !self.delimiter.is_whitespace();
        self.empty_fields = whole.then_some(fields);
    }

    /// Returns the number of empty records that were left out at the end.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Takes back `cut`, the last part that [`Cutter::next`] returned, so that the next call cuts the same bytes again.
    pub(super) fn put_back(&mut self, cut: Cut) {
        let Cut { mut data, at, first_record, .. } = cut;
        data.append(&mut self.text.rest);
        (self.text.rest, self.text.at, self.records) = (data, at, first_record);
    }

    /// Returns the next part, stored in `buffer`; `None` after the last part. A part may have no records, only empty lines and
    /// comments.
    pub(super) fn next(&mut self, buffer: Vec<u8>, part_bytes: usize) -> Result<Option<Cut>> {
        let Some(fields) = self.empty_fields else { return self.next_part(buffer, part_bytes) };
        let (mut buffer, mut bytes) = (buffer, part_bytes);
        loop {
            let Some(mut cut) = self.next_part(buffer, bytes)? else { return Ok(None) };
            let begin = empty_from(&cut.data, &self.delimiter, self.marks, fields);
            let at_limit = self.records >= self.records_max;
            if begin == cut.data.len() || at_limit || self.text.failed.is_some() {
                return Ok(Some(cut));
            }
            let empty = Finder::new(&cut.data, begin, [b'\n', b'\r']);
            let lines = empty.filter(|&at| ends_line(&cut.data, at)).count() as u64;
            let of_line = |line: &&[u8]| !line.is_empty();
            let records = cut.data[begin..].split(|byte| matches!(byte, b'\n' | b'\r')).filter(of_line);
            let records = if self.blank_rows { lines } else { records.count() as u64 };
            if self.text.ended && self.text.rest.is_empty() {
                self.left_out += records;
                self.records -= records;
                cut.records -= records;
                cut.data.truncate(begin);
                return Ok(Some(cut).filter(|cut| !cut.data.is_empty()));
            }
            if begin == 0 && cut.data.len() > self.record_bytes_max {
                return Ok(Some(cut));
            }
            if begin == 0 {
                // Only later input shows if these records are at the end, so a larger part is read.
                bytes = cut.data.len() + part_bytes;
                self.put_back(cut);
                buffer = Vec::new();
                continue;
            }
            let mut rest = cut.data.split_off(begin);
            self.text.at.byte -= rest.len() as u64;
            self.text.at.line -= lines;
            self.records -= records;
            cut.records -= records;
            rest.append(&mut self.text.rest);
            self.text.rest = rest;
            return Ok(Some(cut));
        }
    }

    fn next_part(&mut self, buffer: Vec<u8>, part_bytes: usize) -> Result<Option<Cut>> {
        let mut data = buffer;
        data.clear();
        data.append(&mut self.text.rest);
        let mut scan = Scan::new(
            part_bytes,
            self.record_bytes_max,
            self.records_max.saturating_sub(self.records),
            self.repeats.clone(),
            self.text.at.byte,
        )
        .with_blank_rows(self.blank_rows);
        if scan.records_max == 0 {
            return Ok(None);
        }
        loop {
            match scan.run(self.marks, &self.delimiter, &data, self.text.ended) {
                Some(end) => {
                    if scan.records < scan.records_max {
                        self.text.rest.extend_from_slice(&data[end..]);
                    }
                    data.truncate(end);
                    break;
                }
                // The record is too long, so nothing behind it is read.
                None if scan.record_too_long(self.marks, &self.delimiter, data.len(), self.text.ended) => {
                    data.truncate(scan.record + self.record_bytes_max + 1);
                    (self.text.ended, self.text.failed) = (true, None);
                    break;
                }
                None if self.text.ended && scan.is_quoted() && self.text.failed.is_none() => {
                    let end = self.unclosed_record_end(&data, &scan);
                    scan.leave_unclosed(&data, end);
                }
                None if self.text.ended => break,
                None => {
                    // Reads grow with the part, because the first record is a part of its own, which is usually short but may be long.
                    let beyond = data.len().clamp(part_bytes.clamp(1, READ_BYTES_MAX), READ_BYTES_MAX);
                    let bytes = part_bytes.saturating_sub(data.len()) + beyond;
                    self.text.read(&mut data, bytes);
                }
            }
        }
        self.cut(data, &scan)
    }

    /// Returns the end of the last record, in which a quote never closes.
    fn unclosed_record_end(&self, data: &[u8], scan: &Scan) -> usize {
        let limits = Limits { field_bytes_max: usize::MAX, record_bytes_max: usize::MAX };
        let mut parser = Parser::new(&data[scan.record..], self.text.at, self.dialect, limits);
        let end = parser.record(Width::First).map_or(data.len(), |record| scan.record + record.bytes.end);
        debug_assert!(end <= data.len() && end > scan.record);
        end
    }

    fn cut(&mut self, mut data: Vec<u8>, scan: &Scan) -> Result<Option<Cut>> {
        let in_record = scan.record < data.len();
        if in_record && self.text.failed.is_some() {
            // An incomplete record is dropped: its bytes so far prove no fault.
            data.truncate(scan.record);
        }
        if data.is_empty() {
            return self.text.failed.take().map_or(Ok(None), Err);
        }
        let last = scan.content() < data.len()
            && !self.marks.comment_at(&data, scan.content())
            && !scan.skips(&data, scan.record..data.len());
        let records = scan.records + u64::from(last);
        let (at, first_record) = (self.text.at, self.records);
        self.records += records;
        self.text.at.line += scan.lines;
        self.text.at.byte += data.len() as u64;
        Ok(Some(Cut { data, at, first_record, records }))
    }
}

/// Returns the start of the records at the end of `data` that have `fields` empty fields each, or the end of `data` if there are no such
/// records. Blank lines between these records are passed over.
fn empty_from(data: &[u8], delimiter: &Delimiter, marks: Marks, fields: usize) -> usize {
    let empty = delimiter.as_bytes().repeat(fields - 1);
    let (mut begin, mut end) = (data.len(), data.len());
    while end > 0 {
        let line_end = end - usize::from(matches!(data[end - 1], b'\n' | b'\r'));
        let start = memchr::memrchr2(b'\n', b'\r', &data[..line_end]).map_or(0, |at| at + 1);
        match &data[start..line_end] {
            _ if marks.escapes_unquoted && ends_in_escape(&data[..start], marks.escape) => break,
            // The line end before this line is text, so the line belongs to the record before it.
            _ if start > 0 && !ends_record(data, start - 1, marks) => break,
            // The CR and the LF of a CRLF have no line between them.
            b"" if !is_empty_line(data, line_end) => {}
            line if *line == *empty => begin = start,
            b"" => {}
            _ => break,
        }
        end = start;
    }
    begin
}

/// Returns `true` if the line end at the end of `text` is escaped.
fn ends_in_escape(text: &[u8], escape: u8) -> bool {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.iter().rev().take_while(|&&byte| byte == escape).count() % 2 == 1
}
