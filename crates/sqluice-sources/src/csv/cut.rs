//! Cuts the input into parts of whole records, and counts as it goes.
//!
//! ```text
//!  input   ...a,b⏎c,"d⏎e"⏎f,g⏎h,i...
//!             │ part_bytes  │  ┊ └ rest: read already, begins the next part
//!             └─────────────┴──┘ a part: up to the first end of a record at or after part_bytes
//! ```
//!
//! This runs under a lock, so it looks only at quotes, escapes, comments and line ends. It judges nothing, and need not: where
//! a record ends does not depend on what is wrong within it (see [`naive`](super::naive)). An input that ends within quotes
//! has a quote that never closes: where that record ends, the slow parser says. Only a record that is longer than allowed is cut off, just behind the limit, so that decoding the part notices it;
//! that part is the last.
//!
//! Invariant: a cut depends on the bytes and on `part_bytes`, never on how much a read returned.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use sqluice_core::error::Result;

use super::delimiter::Delimiter;
use super::dialect::{Dialect, Marks};
use super::find::Finder;
use super::naive::{Limits, Parser, Width};
use super::repeats::Repeats;
use super::scan::{Scan, ends_line, is_empty_line};
use crate::text::{Position, Text};

/// How much is read at once beyond a part, in bytes: what is read too much is copied to the next part.
const READ_BYTES_MAX: usize = 64 << 10;

/// A part of the input: whole records.
pub(super) struct Cut {
    pub(super) data: Vec<u8>,
    /// Where it begins.
    pub(super) at: Position,
    /// How many records come before it.
    pub(super) first_record: u64,
    /// How many records it has, whatever is wrong with them.
    pub(super) records: u64,
}

/// See the module's description.
pub(super) struct Cutter {
    text: Text,
    dialect: Dialect,
    marks: Marks,
    delimiter: Delimiter,
    record_bytes_max: usize,
    repeats: Repeats,
    /// An empty line is a record of one empty field.
    blank_rows: bool,
    /// How many fields a record has of which none has text, and which is left out at the end of the input.
    empty_fields: Option<usize>,
    /// How many such records were left out.
    left_out: u64,
    records: u64,
    /// Records beyond this are not looked at.
    records_max: u64,
}

impl Cutter {
    /// `file` is named in messages. A byte order mark is skipped here.
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

    /// Skips `lines` lines, whatever they hold.
    pub(super) fn skip_lines(&mut self, lines: u64) {
        let mut data = std::mem::take(&mut self.text.rest);
        while self.text.at.line <= lines {
            // What a CR means depends on the next byte.
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

    /// Where the next part begins.
    pub(super) fn at(&self) -> Position {
        self.text.at
    }

    /// How many records are in the parts so far.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Counts records anew, from `records.start` on, and stops before `records.end`.
    pub(super) fn number(&mut self, records: Range<u64>) {
        (self.records, self.records_max) = (records.start, records.end);
    }

    /// From here on, some records that repeat the header are none.
    pub(super) fn skip(&mut self, repeats: Repeats) {
        self.repeats = repeats;
    }

    /// From here on, empty lines are records of one empty field, if so asked.
    pub(super) fn read_blank_rows(&mut self, blank_rows: bool) {
        self.blank_rows = blank_rows;
    }

    /// Leaves out records at the end of the input that are `fields` empty fields, as spreadsheets write them.
    pub(super) fn leave_out_empty(&mut self, fields: usize) {
        let whole = !self.delimiter.is_whitespace();
        self.empty_fields = whole.then_some(fields);
    }

    /// How many records were left out at the end.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Takes back the part that was handed out last.
    pub(super) fn put_back(&mut self, cut: Cut) {
        let Cut { mut data, at, first_record, .. } = cut;
        data.append(&mut self.text.rest);
        (self.text.rest, self.text.at, self.records) = (data, at, first_record);
    }

    /// The next part, in a buffer that is no longer needed; `None` after the last. It may have no records, only empty lines
    /// and comments.
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
                // Whether something follows is in no part yet.
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
                // Read no further.
                None if scan.record_too_long(&self.delimiter, data.len(), self.text.ended) => {
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
                    // The first record is a part of its own: usually short, sometimes not.
                    let beyond = data.len().clamp(part_bytes.clamp(1, READ_BYTES_MAX), READ_BYTES_MAX);
                    let bytes = part_bytes.saturating_sub(data.len()) + beyond;
                    self.text.read(&mut data, bytes);
                }
            }
        }
        self.cut(data, &scan)
    }

    /// Where the last record ends, of which a quote never closes.
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
            // The bytes read so far of this record say nothing about it.
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

/// Where the last records begin that are `fields` empty fields each; the end of `data` if no record is. Blank lines between them count.
fn empty_from(data: &[u8], delimiter: &Delimiter, marks: Marks, fields: usize) -> usize {
    let empty = delimiter.as_bytes().repeat(fields - 1);
    let (mut begin, mut end) = (data.len(), data.len());
    while end > 0 {
        let line_end = end - usize::from(matches!(data[end - 1], b'\n' | b'\r'));
        let start = memchr::memrchr2(b'\n', b'\r', &data[..line_end]).map_or(0, |at| at + 1);
        match &data[start..line_end] {
            _ if marks.escapes_unquoted && ends_in_escape(&data[..start], marks.escape) => break,
            // Nothing precedes the LF of a CRLF in its line.
            b"" if !is_empty_line(data, line_end) => {}
            line if *line == *empty => begin = start,
            b"" => {}
            _ => break,
        }
        end = start;
    }
    begin
}

/// Returns `true` if the line end at the end of some text is escaped.
fn ends_in_escape(text: &[u8], escape: u8) -> bool {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.iter().rev().take_while(|&&byte| byte == escape).count() % 2 == 1
}
