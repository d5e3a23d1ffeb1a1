//! Records that repeat the header: the rules that tell if one of these records is a row, and the notes about them.

use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::error::Message;

use crate::input::MemberStarts;

/// The most line numbers in a note.
const LINES_MAX: usize = 3;

/// The header, and the rules that tell if a record that repeats the header is a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeats {
    /// The bytes of the header; empty if the file has no header.
    pub(super) header: Arc<[u8]>,
    /// `true` if no record that repeats the header is a row.
    pub(super) everywhere: bool,
    /// `true` if a byte order mark followed by the header is no row, but the start of another file that was appended.
    pub(super) marked: bool,
    /// The places where the compressed files of the input begin. A record that repeats the header at one of these places is no row.
    pub(super) starts: MemberStarts,
}

impl Repeats {
    /// Returns `Some(true)` if the record repeats the header and is no row, `Some(false)` if it repeats the header and is a row, and `None`
    /// if it does not repeat the header. The record begins at `byte` of the input.
    #[inline]
    pub(super) fn skips(&self, record: &[u8], byte: u64) -> Option<bool> {
        if self.may_be(record.len()) { self.skips_repeat(record, byte) } else { None }
    }

    /// Returns `true` if a record of `bytes` bytes may repeat the header.
    #[inline]
    pub(super) fn may_be(&self, bytes: usize) -> bool {
        let marks = bytes.wrapping_sub(self.header.len());
        (marks == 0 || marks == MARK.len()) && !self.header.is_empty()
    }

    #[cold]
    fn skips_repeat(&self, record: &[u8], byte: u64) -> Option<bool> {
        if *record == *self.header {
            return Some(self.everywhere || self.starts.contains(byte));
        }
        (self.marked && record.strip_prefix(MARK) == Some(&self.header)).then_some(true)
    }
}

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The records found to repeat the header: the loaded ones and the skipped ones.
#[derive(Debug, Default)]
pub struct RepeatedHeaders(Mutex<[Repeated; 2]>);

/// The loaded or the skipped records that repeat the header.
#[derive(Debug, Default)]
struct Repeated {
    records: u64,
    /// The numbers of the first lines at which such records begin, at most [`LINES_MAX`].
    lines: Vec<u64>,
}

impl RepeatedHeaders {
    /// Forgets all records.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
    }

    pub(super) fn add(&self, line: u64, skipped: bool) {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = &mut both[usize::from(skipped)];
        repeated.records += 1;
        repeated.lines.push(line);
        repeated.lines.sort_unstable();
        repeated.lines.truncate(LINES_MAX);
    }

    /// Returns the notes about the skipped and the loaded records.
    pub fn notes(&self) -> Vec<Message> {
        let both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [kept, skipped] = &*both;
        [skipped.note(true), kept.note(false)].into_iter().flatten().collect()
    }
}

impl Repeated {
    fn note(&self, skipped: bool) -> Option<Message> {
        let lines: Vec<String> = self.lines.iter().map(u64::to_string).collect();
        let more = if self.records > self.lines.len() as u64 { ", ..." } else { "" };
        let lines = format!("line{} {}{more}", if self.records == 1 { "" } else { "s" }, lines.join(", "));
        match (self.records, skipped) {
            (0, _) => None,
            (1, true) => Some(format!("{lines} repeats the header and is skipped").into()),
            (records, true) => {
                Some(format!("{records} lines repeat the header and are skipped: {lines}").into())
            }
            (1, false) => Some(format!("{lines} repeats the header, and is loaded as a row").into()),
            (records, false) => {
                Some(format!("{records} lines repeat the header, and are loaded as rows: {lines}").into())
            }
        }
    }
}
