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
//! ends with a record. Only one that is longer than allowed is cut off, just behind the limit, so that whoever decodes the
//! part sees that; it is the last.
//!
//! Invariant: a cut depends on the bytes and on `part_bytes`, never on how much a read returned.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use super::dialect::Marks;
use super::find::Finder;
use super::malformed::Position;
use super::naive::Limits;
use crate::error::{Error, Result};

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
    input: Box<dyn Read + Send>,
    file: PathBuf,
    marks: Marks,
    record_bytes_max: usize,
    /// Read, but in no part yet.
    rest: Vec<u8>,
    /// Where `rest` begins.
    at: Position,
    records: u64,
    /// Records beyond this are not looked at.
    records_max: u64,
    /// All is read that will be.
    ended: bool,
    /// Why, if the input did not end. Told after what was read before.
    failed: Option<Error>,
}

impl Cutter {
    /// `file` is named in messages. A byte order mark is skipped here.
    pub(super) fn new(input: Box<dyn Read + Send>, file: PathBuf, marks: Marks, limits: Limits) -> Cutter {
        let mut cutter = Cutter {
            input,
            file,
            marks,
            record_bytes_max: limits.record_bytes_max,
            rest: Vec::new(),
            at: Position { byte: 0, line: 1, column: 1 },
            records: 0,
            records_max: u64::MAX,
            ended: false,
            failed: None,
        };
        let mark = b"\xef\xbb\xbf";
        let mut start = Vec::new();
        cutter.read(&mut start, mark.len());
        if start == mark {
            start.clear();
            cutter.at.byte = mark.len() as u64;
        }
        cutter.rest = start;
        cutter
    }

    /// Reads `bytes` more, fewer only at the end.
    fn read(&mut self, data: &mut Vec<u8>, bytes: usize) {
        data.reserve(bytes);
        match self.input.by_ref().take(bytes as u64).read_to_end(data) {
            Ok(read) => self.ended = read < bytes,
            Err(error) => {
                self.failed = Some(Error::from_read(&self.file, error));
                self.ended = true;
            }
        }
    }

    /// Goes past so many lines, whatever they hold.
    pub(super) fn skip_lines(&mut self, lines: u64) {
        let mut data = std::mem::take(&mut self.rest);
        while self.at.line <= lines {
            // What a CR means depends on the next byte.
            let end = if self.ended { data.len() } else { data.len().saturating_sub(1) };
            let mut seen = end;
            for at in Finder::new(&data[..end], 0, [b'\n', b'\r']) {
                self.at.line += u64::from(ends_line(&data, at));
                if self.at.line > lines {
                    seen = at + 1;
                    break;
                }
            }
            self.at.byte += seen as u64;
            data.drain(..seen);
            if self.ended && data.is_empty() {
                break;
            }
            if self.at.line <= lines {
                self.read(&mut data, READ_BYTES_MAX);
            }
        }
        self.rest = data;
    }

    /// Where the next part begins.
    pub(super) fn at(&self) -> Position {
        self.at
    }

    /// How many records are in the parts so far.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Counts records anew, from `records.start` on, and stops before `records.end`.
    pub(super) fn number(&mut self, records: Range<u64>) {
        (self.records, self.records_max) = (records.start, records.end);
    }

    /// Takes back the part that was handed out last.
    pub(super) fn put_back(&mut self, cut: Cut) {
        let Cut { mut data, at, first_record, .. } = cut;
        data.append(&mut self.rest);
        (self.rest, self.at, self.records) = (data, at, first_record);
    }

    /// The next part, in a buffer that is no longer needed; `None` after the last. It may have no records, only empty lines
    /// and comments.
    pub(super) fn next(&mut self, buffer: Vec<u8>, part_bytes: usize) -> Result<Option<Cut>> {
        let mut data = buffer;
        data.clear();
        data.append(&mut self.rest);
        let mut scan =
            Scan::new(part_bytes, self.record_bytes_max, self.records_max.saturating_sub(self.records));
        if scan.records_max == 0 {
            return Ok(None);
        }
        loop {
            match scan.run(self.marks, &data, self.ended) {
                Some(end) => {
                    if scan.records < scan.records_max {
                        self.rest.extend_from_slice(&data[end..]);
                    }
                    data.truncate(end);
                    break;
                }
                // Read no further.
                None if scan.record_too_long(data.len(), self.ended) => {
                    data.truncate(scan.record + self.record_bytes_max + 1);
                    (self.ended, self.failed) = (true, None);
                    break;
                }
                None if self.ended => break,
                None => {
                    // The first record is a part of its own: usually short, sometimes not.
                    let beyond = data.len().clamp(part_bytes.clamp(1, READ_BYTES_MAX), READ_BYTES_MAX);
                    let bytes = part_bytes.saturating_sub(data.len()) + beyond;
                    self.read(&mut data, bytes);
                }
            }
        }
        self.cut(data, &scan)
    }

    fn cut(&mut self, mut data: Vec<u8>, scan: &Scan) -> Result<Option<Cut>> {
        let in_record = scan.record < data.len();
        if in_record && self.failed.is_some() {
            // What is there of this record says nothing about it.
            data.truncate(scan.record);
        }
        if data.is_empty() {
            return self.failed.take().map_or(Ok(None), Err);
        }
        let last = scan.record < data.len() && !self.marks.comment_at(&data, scan.record);
        let records = scan.records + u64::from(last);
        let (at, first_record) = (self.at, self.records);
        self.records += records;
        self.at.line += scan.lines;
        self.at.byte += data.len() as u64;
        Ok(Some(Cut { data, at, first_record, records }))
    }
}

/// How far a part has been looked through.
struct Scan {
    part_bytes: usize,
    record_bytes_max: usize,
    records_max: u64,
    /// All before this is looked through.
    seen: usize,
    /// Where the present record begins.
    record: usize,
    /// Within quotes.
    quoted: bool,
    /// One past the last closing quote: another quote here means that it was none.
    reopens: usize,
    /// One past the last escaped byte.
    escaped: usize,
    /// Ended records.
    records: u64,
    /// Ended lines.
    lines: u64,
}

impl Scan {
    fn new(part_bytes: usize, record_bytes_max: usize, records_max: u64) -> Scan {
        Scan {
            part_bytes,
            record_bytes_max,
            records_max,
            seen: 0,
            record: 0,
            quoted: false,
            reopens: usize::MAX,
            escaped: 0,
            records: 0,
            lines: 0,
        }
    }

    /// Looks through what is new in `data`; where to cut, if that is known already.
    fn run(&mut self, marks: Marks, data: &[u8], ended: bool) -> Option<usize> {
        let quote = marks.quote_needle();
        if marks.are_plain() {
            self.run_for([quote, b'\n', b'\r'], marks, data, ended)
        } else {
            self.run_for([quote, b'\n', b'\r', marks.escape_needle()], marks, data, ended)
        }
    }

    /// A fourth needle means that there may be escapes and comments.
    fn run_for<const N: usize>(
        &mut self,
        needles: [u8; N],
        marks: Marks,
        data: &[u8],
        ended: bool,
    ) -> Option<usize> {
        // One byte stays unseen, as what a CR means depends on the next.
        let end = if ended { data.len() } else { data.len().saturating_sub(1) };
        let Marks { delimiter, quote, escape, .. } = marks;
        // Plain variables and no branches among quotes: files that quote everything are mostly that.
        let Scan { mut quoted, mut reopens, mut record, mut escaped, .. } = *self;
        for at in Finder::new(&data[..end], self.seen, needles) {
            let comment = N == 4 && marks.comment_at(data, record);
            let byte = data[at];
            if N == 4 && byte == escape {
                if quoted && at >= escaped {
                    escaped = at + 2;
                }
                continue;
            }
            if byte == quote {
                if N == 4 && (comment || at < escaped) {
                    continue;
                }
                let opens = (at == reopens) | (at == record) | (data[at.saturating_sub(1)] == delimiter);
                reopens = if quoted { at + 1 } else { reopens };
                quoted = !quoted & opens;
                continue;
            }
            let ends_line = ends_line(data, at);
            self.lines += u64::from(ends_line);
            if !quoted {
                if at - record > self.record_bytes_max {
                    self.record = record;
                    self.seen = at;
                    return None;
                }
                self.records += u64::from(at > record && !comment);
                record = at + 1;
                if ends_line && (at + 1 >= self.part_bytes || self.records >= self.records_max) {
                    self.record = record;
                    return Some(at + 1);
                }
            }
        }
        (self.quoted, self.reopens, self.record, self.escaped) = (quoted, reopens, record, escaped);
        self.seen = self.seen.max(end);
        None
    }

    /// The present record is longer than allowed, and enough of it is there to see that.
    fn record_too_long(&self, data_bytes: usize, ended: bool) -> bool {
        // One byte may be unseen, and be the line end.
        data_bytes - self.record > self.record_bytes_max + usize::from(!ended)
    }
}

/// Whether the line end at `at` ends a line: the LF of a CRLF does, its CR does not (but ends the record).
#[inline]
pub(super) fn ends_line(data: &[u8], at: usize) -> bool {
    data[at] == b'\n' || data.get(at + 1) != Some(&b'\n')
}
