//! Cuts the input into parts of whole records, and counts as it goes.
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
//! The array may be anywhere in a document (`path`): then what stands around it is gone past.
//!
//! This runs under a lock, so it looks only at what ends a record. It judges nothing: whatever is wrong within a record, where it
//! ends follows from quotes and brackets alone. One that is longer than allowed is cut off behind the limit, and is the last.
//!
//! Invariant: a cut depends on the bytes and on `part_bytes`, never on how much a read returned.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use sqluice_core::error::{Error, Message, Result, Setting, message};

use super::nested::space_end;
use super::path::{Closing, Finder};
use super::{Layout, RecordsPath};
use crate::text::{Position, Text};

/// How much is read at once beyond a part, in bytes.
const READ_BYTES: usize = 64 << 10;

/// A part of the input: whole records.
pub(super) struct Cut {
    pub(super) data: Vec<u8>,
    /// Where it begins.
    pub(super) at: Position,
    /// How many records come before it.
    pub(super) first_record: u64,
    /// How many records it has, whatever is wrong with them.
    pub(super) records: u64,
    /// The last of them is cut off, for there is no memory for all of it.
    pub(super) too_long: bool,
}

/// See the module's description.
pub(super) struct Cutter {
    text: Text,
    layout: Layout,
    record_bytes_max: usize,
    first_record: u64,
    records: u64,
    /// Records beyond this are not looked at.
    records_max: u64,
    /// The bracket that ends the array is behind us.
    closed: bool,
    /// The array has records in the parts so far.
    begun: bool,
    /// What stands around the array.
    around: Closing,
    /// Of what the end is looked for: the array, or the document that it is in.
    whole: &'static str,
}

impl Cutter {
    /// `file` is named in messages. Records are numbered from `records.start` on; at `records.end` reading stops. A byte order
    /// mark is skipped here, and the bracket of an array.
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

    /// Goes past the bracket that begins the array.
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

    /// Goes past the bracket that begins the array which the path leads to.
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
                let lost =
                    || finder.lost("the document ends before it").at(self.text.at.place(&self.text.file));
                return Err(self.text.failed.take().unwrap_or_else(lost));
            }
            self.text.read(&mut data, READ_BYTES);
        }
    }

    /// Where the next part begins.
    pub(super) fn at(&self) -> Position {
        self.text.at
    }

    /// How many records are in the parts so far.
    pub(super) fn records_done(&self) -> u64 {
        self.records - self.first_record
    }

    /// The next part, in a buffer that is no longer needed; `None` after the last. It may have no records.
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
            // Read no further. White space counts, for it takes memory, too.
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

    /// The input ends within a record, or between two.
    fn end(&mut self, data: &mut Vec<u8>, scan: &mut Scan) {
        let begun = space_end(data, scan.record) < data.len();
        if begun && self.text.failed.is_some() {
            // The bytes read so far of this record say nothing about it.
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

    /// Behind the array, or the document that it is in, there must be nothing.
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

/// What is cut short.
fn never_ends(what: &str, bracket: char) -> Error {
    Error::input(format!("the {what} never ends: a {bracket} is missing"))
        .hint("the file is cut short, or another program still writes to it")
}

/// Looks for the end of a part, in data that grows.
#[derive(Default)]
struct Scan {
    part_bytes: usize,
    records_max: u64,
    /// Whole records so far.
    records: u64,
    /// Where the present one begins.
    record: usize,
    /// How far it has looked.
    at: usize,
    /// Open brackets within the present record.
    depth: usize,
    in_string: bool,
    /// This is not the first part.
    begun: bool,
    /// The bracket that ends the array has been found; it is no part of the data.
    closed: bool,
    /// The last record is cut off.
    too_long: bool,
}

impl Scan {
    /// Where the part ends, if the data has it.
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

    /// Where the part ends, if the data has it: of the elements of an array, or else of objects one after another.
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
                    // Only an array without any may end where a record should be.
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

    /// Goes to the end of a string; `false` where the data ends before it.
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
            // The escaped character follows.
            self.at = found;
            return false;
        }
        true
    }
}

/// Where the record ends that begins at `start`, whatever is wrong with it: behind the bracket that closes it, or with the data.
pub(super) fn object_end(data: &[u8], start: usize) -> usize {
    let rest = &data[start..];
    let mut scan = Scan { records_max: 1, part_bytes: usize::MAX, begun: true, ..Scan::default() };
    scan.values::<false>(rest, true).map_or(data.len(), |end| start + end)
}

/// Where the element of an array ends that begins at `start`, whatever is wrong with it: at the comma behind it, or with the data.
pub(super) fn element_end(data: &[u8], start: usize) -> usize {
    let rest = &data[start..];
    let mut scan = Scan { records_max: 1, part_bytes: usize::MAX, begun: true, ..Scan::default() };
    scan.values::<true>(rest, true).map_or(data.len(), |end| start + end - 1)
}

/// The hint of what an array is not.
fn one_a_line(words: &str) -> Message {
    message![words, "for objects that are one a line: ", Setting::Format.to("ndjson")]
}
