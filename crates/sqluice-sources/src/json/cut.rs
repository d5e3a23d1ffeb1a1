//! Cuts the input into parts of whole records, and counts the records.
//!
//! ```text
//!  lines    {"a":1}⏎{"a":2}⏎⏎{"a":3}⏎        a record is a line, unless there is nothing but white space on it
//!           ─────────────────┴ part_bytes     cut: at the first line end at or after part_bytes
//!
//!  array    [{"a":1},{"a":[2,3]},{"a":3}]     a record is what is between commas that are in no string and no brackets
//!            ─────────────────────┴           cut: behind such a comma
//!
//!  objects  {"a":1}{⏎ "a":[2,3]⏎}{"a":3}      a record ends with the bracket that closes it
//!           ──────────────────────┴           cut: behind such a bracket
//! ```
//!
//! The array may be anywhere in a document ([`super::path`]). Then the text around the array is skipped.
//!
//! The cutter runs under a lock, so it looks only for the ends of records. It checks nothing else: whatever is wrong within a record, its
//! end follows from line ends alone in a file of lines, and from quotes and brackets alone in other files. A record that is longer than
//! allowed is cut off behind the limit, and is the last.
//!
//! Invariant: a cut depends on the bytes and on `part_bytes`, never on the length of a read.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use sqluice_core::error::{Error, Message, Result, Setting, message};

use super::nested::space_end;
use super::path::{Closing, Finder};
use super::{Layout, RecordsPath};
use crate::text::{Position, Text};

/// The number of bytes that are read at once beyond a part.
const READ_BYTES: usize = 64 << 10;

/// A part of the input: whole records.
pub(super) struct Cut {
    pub(super) data: Vec<u8>,
    /// The position of the part's start.
    pub(super) at: Position,
    /// The number of records before the part.
    pub(super) first_record: u64,
    /// The number of records in the part, malformed ones included.
    pub(super) records: u64,
    /// `true` if the last record is cut off, because it is longer than allowed.
    pub(super) too_long: bool,
}

/// Cuts the input into parts of whole records, and counts the records.
pub(super) struct Cutter {
    text: Text,
    layout: Layout,
    record_bytes_max: usize,
    first_record: u64,
    records: u64,
    /// The number of the record at which the cutter stops.
    records_max: u64,
    /// `true` if the bracket that ends the array was read.
    closed: bool,
    /// `true` if a part before this one has records of the array.
    begun: bool,
    /// The skipper of the text after the array.
    around: Closing,
    /// The name of the document or array that must end, for messages.
    whole: &'static str,
}

impl Cutter {
    /// Creates a cutter of `input`, which messages call `file`. Records are numbered from `records.start` on; the cutter stops at
    /// `records.end`. A byte order mark is skipped here, and the bracket of an array.
    pub(super) fn new(
        input: Box<dyn Read + Send>,
        file: PathBuf,
        layout: Layout,
        path: Option<&RecordsPath>,
        record_bytes_max: usize,
        records: Range<u64>,
    ) -> Result<Cutter> {
        let mut cutter = Cutter {
            text: Text::new(input, file),
            layout,
            record_bytes_max,
            first_record: records.start,
            records: records.start,
            records_max: records.end,
            closed: false,
            begun: false,
            around: Closing::new(path.map_or(0, RecordsPath::depth)),
            whole: if path.is_some() { "document" } else { "array" },
        };
        match path {
            Some(path) => cutter.find(path)?,
            None if layout == Layout::Array => cutter.open()?,
            None => {}
        }
        Ok(cutter)
    }

    /// Skips the bracket that begins the array.
    fn open(&mut self) -> Result<()> {
        let mut data = std::mem::take(&mut self.text.rest);
        loop {
            let at = space_end(&data, 0);
            let found = data.get(at) == Some(&b'[');
            if at == data.len() && !self.text.ended {
                self.text.at.advance(&data);
                data.clear();
                self.text.read(&mut data, READ_BYTES);
                continue;
            }
            self.text.at.advance(&data[..at]);
            if at == data.len()
                && let Some(error) = self.text.failed.take()
            {
                return Err(error);
            }
            if !found {
                return Err(Error::input("this is not a JSON array: it does not begin with [")
                    .at(self.text.at.place(&self.text.file))
                    .hint(one_a_line("")));
            }
            self.text.at.advance(b"[");
            self.text.rest = data.split_off(at + 1);
            return Ok(());
        }
    }

    /// Skips the text up to the array at `path`, and the array's bracket.
    fn find(&mut self, path: &RecordsPath) -> Result<()> {
        let mut finder = Finder::new(path);
        let mut data = std::mem::take(&mut self.text.rest);
        loop {
            for at in 0..data.len() {
                let found = finder.step(data[at]);
                let begins = found
                    .map_err(|error| error.at(self.text.at.later(&data[..at]).place(&self.text.file)))?;
                if begins {
                    self.text.at.advance(&data[..=at]);
                    self.text.rest = data.split_off(at + 1);
                    return Ok(());
                }
            }
            self.text.at.advance(&data);
            data.clear();
            if self.text.ended {
                let lost = || {
                    finder
                        .lost("the document ends before this key or its array")
                        .at(self.text.at.place(&self.text.file))
                };
                return Err(self.text.failed.take().unwrap_or_else(lost));
            }
            self.text.read(&mut data, READ_BYTES);
        }
    }

    /// Returns the position at which the next part begins.
    pub(super) fn at(&self) -> Position {
        self.text.at
    }

    /// Returns the number of records in the parts so far.
    pub(super) fn records_done(&self) -> u64 {
        self.records - self.first_record
    }

    /// Returns the next part, stored in `buffer`, whose content is replaced; `None` after the last part. A part may have no records.
    pub(super) fn next(&mut self, buffer: Vec<u8>, part_bytes: usize) -> Result<Option<Cut>> {
        if self.records >= self.records_max {
            return Ok(None);
        }
        if self.closed {
            return self.after_array();
        }
        let mut data = buffer;
        data.clear();
        data.append(&mut self.text.rest);
        let records_max = self.records_max - self.records;
        let mut scan = Scan { part_bytes, records_max, begun: self.begun, ..Scan::default() };
        loop {
            let end = match self.layout {
                Layout::Lines => scan.lines(&data, self.text.ended),
                Layout::Array => scan.values::<true>(&data, self.text.ended),
                Layout::Objects => scan.values::<false>(&data, self.text.ended),
            };
            if let Some(end) = end {
                (self.closed, self.begun) = (scan.closed, true);
                self.text.rest.extend_from_slice(&data[end + usize::from(scan.closed)..]);
                data.truncate(end);
                break;
            }
            // The record is too long to read on. White space before the record counts, because it takes memory, too.
            if data.len() - scan.record > self.record_bytes_max {
                data.truncate(scan.record + self.record_bytes_max + 1);
                (self.text.ended, self.text.failed) = (true, None);
                scan.records += 1;
                scan.too_long = true;
                break;
            }
            if self.text.ended {
                self.end(&mut data, &mut scan);
                break;
            }
            let beyond = data.len().clamp(part_bytes.clamp(1, READ_BYTES), READ_BYTES);
            let bytes = part_bytes.saturating_sub(data.len()) + beyond;
            self.text.read(&mut data, bytes);
        }
        self.cut(data, &scan)
    }

    /// Ends the last part: the input ends within a record, or between two.
    fn end(&mut self, data: &mut Vec<u8>, scan: &mut Scan) {
        let begun = space_end(data, scan.record) < data.len();
        if begun && self.text.failed.is_some() {
            // The bytes of a record that can't be read to its end are no reason to call it malformed.
            data.truncate(scan.record);
        } else {
            scan.records += u64::from(begun);
        }
        if self.layout == Layout::Array && self.text.failed.is_none() {
            let mut end = self.text.at;
            end.advance(data);
            self.text.failed = Some(never_ends("array", ']').at(end.place(&self.text.file)));
        }
    }

    fn cut(&mut self, data: Vec<u8>, scan: &Scan) -> Result<Option<Cut>> {
        if data.is_empty() && !scan.closed {
            return self.text.failed.take().map_or(Ok(None), Err);
        }
        let (at, first_record) = (self.text.at, self.records);
        self.records += scan.records;
        self.text.at.advance(&data);
        if scan.closed {
            self.text.at.advance(b"]");
        }
        Ok(Some(Cut { data, at, first_record, records: scan.records, too_long: scan.too_long }))
    }

    /// Checks that nothing follows the array, or the document around it.
    fn after_array(&mut self) -> Result<Option<Cut>> {
        let mut data = std::mem::take(&mut self.text.rest);
        loop {
            let at = space_end(&data, self.around.skip(&data));
            self.text.at.advance(&data[..at]);
            if at < data.len() {
                return Err(Error::input(format!("something follows the end of the {}", self.whole))
                    .at(self.text.at.place(&self.text.file))
                    .hint(one_a_line("a file is one array of objects; ")));
            }
            if self.text.ended {
                let failed = self.text.failed.take().or_else(|| {
                    let at = self.text.at.place(&self.text.file);
                    (!self.around.is_done()).then(|| never_ends(self.whole, '}').at(at))
                });
                return failed.map_or(Ok(None), Err);
            }
            data.clear();
            self.text.read(&mut data, READ_BYTES);
        }
    }
}

/// Returns the error for an array or a document that is cut short.
fn never_ends(what: &str, bracket: char) -> Error {
    Error::input(format!("the {what} never ends: a {bracket} is missing"))
        .hint("the file is cut short, or another program still writes to it")
}

/// A search for the end of a part, in data that grows.
#[derive(Default)]
struct Scan {
    part_bytes: usize,
    records_max: u64,
    /// The number of whole records so far.
    records: u64,
    /// The start of the current record.
    record: usize,
    /// The number of bytes that were looked at.
    at: usize,
    /// The number of open brackets within the current record.
    depth: usize,
    in_string: bool,
    /// `true` if a part before this one has records of the array.
    begun: bool,
    /// `true` if the bracket that ends the array was found. It is no part of the data.
    closed: bool,
    /// `true` if the last record is cut off.
    too_long: bool,
}

impl Scan {
    /// Searches the rest of `data` for the end of a part, if each record is a line. Returns `None` if `data` ends first, unless `data` ends
    /// with a whole line and the input has `ended`.
    fn lines(&mut self, data: &[u8], ended: bool) -> Option<usize> {
        while let Some(newline) = memchr::memchr(b'\n', &data[self.at..]) {
            let end = self.at + newline;
            self.records += u64::from(space_end(&data[..end], self.record) < end);
            (self.at, self.record) = (end + 1, end + 1);
            if self.record >= self.part_bytes || self.records == self.records_max {
                return Some(self.record);
            }
        }
        self.at = data.len();
        (ended && self.record == data.len() && self.record > 0).then_some(self.record)
    }

    /// Searches the rest of `data` for the end of a part, if the records are elements of an array or objects one after another. Returns
    /// `None` if `data` ends first.
    fn values<const IN_ARRAY: bool>(&mut self, data: &[u8], ended: bool) -> Option<usize> {
        while self.at < data.len() {
            if self.in_string {
                if !self.string(data, ended) {
                    break;
                }
                continue;
            }
            let at = self.at;
            self.at += 1;
            let ends = match data[at] {
                b'"' => {
                    self.in_string = true;
                    false
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    false
                }
                b']' if IN_ARRAY && self.depth == 0 => {
                    // Only an array without elements may end where a record should begin.
                    let none = !self.begun && self.record == 0 && space_end(data, 0) == at;
                    self.records += u64::from(!none);
                    (self.record, self.closed) = (at, true);
                    return Some(at);
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    !IN_ARRAY && self.depth == 0
                }
                b',' => IN_ARRAY && self.depth == 0,
                _ => false,
            };
            if ends {
                self.records += 1;
                self.record = at + 1;
                if self.record >= self.part_bytes || self.records == self.records_max {
                    return Some(self.record);
                }
            }
        }
        None
    }

    /// Advances within a string, past its next escape or its end. Returns `false` if the data ends first.
    fn string(&mut self, data: &[u8], ended: bool) -> bool {
        let Some(found) = memchr::memchr2(b'"', b'\\', &data[self.at..]) else {
            self.at = data.len();
            return false;
        };
        let found = self.at + found;
        if data[found] == b'"' {
            self.in_string = false;
            self.at = found + 1;
        } else if found + 1 < data.len() || ended {
            self.at = (found + 2).min(data.len());
        } else {
            // The escaped character has not been read yet.
            self.at = found;
            return false;
        }
        true
    }
}

/// Returns the end of the record that begins at `start`, whatever is wrong with it: behind its closing bracket, or the end of the data.
pub(super) fn object_end(data: &[u8], start: usize) -> usize {
    let rest = &data[start..];
    let mut scan = Scan { records_max: 1, part_bytes: usize::MAX, begun: true, ..Scan::default() };
    scan.values::<false>(rest, true).map_or(data.len(), |end| start + end)
}

/// Returns the end of the array element that begins at `start`, whatever is wrong with it: the comma behind it, or the end of the data.
pub(super) fn element_end(data: &[u8], start: usize) -> usize {
    let rest = &data[start..];
    let mut scan = Scan { records_max: 1, part_bytes: usize::MAX, begun: true, ..Scan::default() };
    scan.values::<true>(rest, true).map_or(data.len(), |end| start + end - 1)
}

/// Returns a hint to the format `ndjson`, for a file that is not an array.
fn one_a_line(words: &str) -> Message {
    message![words, "for objects that are one a line: ", Setting::Format.to("ndjson")]
}
