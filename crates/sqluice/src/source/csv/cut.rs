//! Cuts the input into parts of whole records, and counts as it goes.
//!
//! ```text
//!  input   ...a,b⏎c,"d⏎e"⏎f,g⏎h,i...
//!             │ part_bytes  │  ┊ └ rest: read already, begins the next part
//!             └─────────────┴──┘ a part: up to the first end of a record at or after part_bytes
//! ```
//!
//! This runs under a lock, so it looks only at quotes and line ends. It judges nothing: where the input is malformed, it
//! may take for a record what is none, but the part that holds the first fault always has all that is needed to see it, and
//! whoever decodes that part says so. (That is why an input that ends within quotes is a part like any other.)
//!
//! Invariant: a cut depends on the bytes and on `part_bytes`, never on how much a read returned.

use std::io::Read;
use std::path::PathBuf;

use super::find::Finder;
use super::malformed::Position;
use crate::error::{Error, Result};

/// How much is read at once beyond a part, in bytes: what is read too much is copied to the next part.
const READ_BYTES_MAX: usize = 64 << 10;

/// The longest character, in bytes.
const CHARACTER_BYTES_MAX: usize = 4;

/// A part of the input: whole records.
pub(super) struct Cut {
    pub(super) data: Vec<u8>,
    /// Where it begins.
    pub(super) at: Position,
    /// How many records come before it.
    pub(super) first_record: u64,
    /// How many records it has, if it is well-formed.
    pub(super) records: u64,
}

/// See the module's description.
pub(super) struct Cutter {
    input: Box<dyn Read + Send>,
    file: PathBuf,
    record_bytes_max: usize,
    /// Read, but in no part yet.
    rest: Vec<u8>,
    /// Where `rest` begins.
    at: Position,
    records: u64,
    /// All is read.
    ended: bool,
}

impl Cutter {
    /// `file` is named in messages. A byte order mark is skipped here.
    pub(super) fn new(
        mut input: Box<dyn Read + Send>,
        file: PathBuf,
        record_bytes_max: usize,
    ) -> Result<Cutter> {
        let mark = b"\xef\xbb\xbf";
        let mut rest = Vec::new();
        let mut at = Position { byte: 0, line: 1, column: 1 };
        input.by_ref().take(3).read_to_end(&mut rest).map_err(|e| Error::read(&file, e))?;
        let ended = rest.len() < mark.len();
        if rest == mark {
            rest.clear();
            at.byte = mark.len() as u64;
        }
        Ok(Cutter { input, file, record_bytes_max, rest, at, records: 0, ended })
    }

    /// Where the next part begins.
    pub(super) fn at(&self) -> Position {
        self.at
    }

    /// The next part, in a buffer that is no longer needed; `None` after the last. It may have no records, only empty lines.
    pub(super) fn next(&mut self, buffer: Vec<u8>, part_bytes: usize) -> Result<Option<Cut>> {
        let mut data = buffer;
        data.clear();
        data.append(&mut self.rest);
        let read_bytes = part_bytes.clamp(1, READ_BYTES_MAX);
        let mut scan = Scan::new(part_bytes, self.record_bytes_max);
        loop {
            match scan.run(&data, self.ended) {
                Some(end) => {
                    self.rest.extend_from_slice(&data[end..]);
                    data.truncate(end);
                    break;
                }
                // The record is too long, which decoding will find: read no further.
                None if scan.record_too_long(data.len()) => {
                    data.truncate(scan.record + self.record_bytes_max + CHARACTER_BYTES_MAX);
                    self.ended = true;
                    break;
                }
                None if self.ended => break,
                None => {
                    let wanted = part_bytes.saturating_sub(data.len()) + read_bytes;
                    data.reserve(wanted);
                    let read = self.input.by_ref().take(wanted as u64).read_to_end(&mut data);
                    let read = read.map_err(|e| Error::read(&self.file, e))?;
                    self.ended = read < wanted;
                }
            }
        }
        if data.is_empty() {
            return Ok(None);
        }
        let records = scan.records + u64::from(scan.record < data.len());
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
    /// All before this is looked through.
    seen: usize,
    /// Where the present record begins.
    record: usize,
    /// Within quotes.
    quoted: bool,
    /// One past the last closing quote: another quote here means that it was none.
    reopens: usize,
    /// Ended records.
    records: u64,
    /// Ended lines.
    lines: u64,
}

impl Scan {
    fn new(part_bytes: usize, record_bytes_max: usize) -> Scan {
        Scan {
            part_bytes,
            record_bytes_max,
            seen: 0,
            record: 0,
            quoted: false,
            reopens: usize::MAX,
            records: 0,
            lines: 0,
        }
    }

    /// Looks through what is new in `data`; where to cut, if that is known already.
    fn run(&mut self, data: &[u8], ended: bool) -> Option<usize> {
        // One byte stays unseen, as what a CR means depends on the next.
        let end = if ended { data.len() } else { data.len().saturating_sub(1) };
        // Plain variables and no branches among quotes: files that quote everything are mostly that.
        let Scan { mut quoted, mut reopens, mut record, .. } = *self;
        for at in Finder::new(&data[..end], self.seen, [b'"', b'\n', b'\r']) {
            if data[at] == b'"' {
                let opens = (at == reopens) | (at == record) | (data[at.saturating_sub(1)] == b',');
                reopens = if quoted { at + 1 } else { reopens };
                quoted = !quoted & opens;
                continue;
            }
            // The LF of a CRLF ends the line, its CR ends the record.
            let ends_line = data[at] == b'\n' || data.get(at + 1) != Some(&b'\n');
            self.lines += u64::from(ends_line);
            if !quoted {
                if at - record > self.record_bytes_max {
                    self.record = record;
                    self.seen = at;
                    return None;
                }
                self.records += u64::from(at > record);
                record = at + 1;
                if ends_line && at + 1 >= self.part_bytes {
                    self.record = record;
                    return Some(at + 1);
                }
            }
        }
        (self.quoted, self.reopens, self.record) = (quoted, reopens, record);
        self.seen = self.seen.max(end);
        None
    }

    /// The present record is longer than allowed, and enough of it is there to see that.
    fn record_too_long(&self, data_bytes: usize) -> bool {
        data_bytes - self.record >= self.record_bytes_max + CHARACTER_BYTES_MAX
    }
}
