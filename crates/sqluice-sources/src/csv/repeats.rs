//! Records that repeat the header: which of them are no rows, and the notes about them.

use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::error::Message;

use crate::input::MemberStarts;

/// The most lines that a note names.
const LINES_MAX: usize = 3;

/// Which records repeat the header, and which of these are no rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeats {
    /// The bytes of the header; empty: there is no header.
    pub(super) header: Arc<[u8]>,
    /// No record that repeats the header is a row.
    pub(super) everywhere: bool,
    /// A record that repeats the header behind a byte order mark is no row: a file begins there.
    pub(super) marked: bool,
    /// A record that repeats the header where one of the compressed files begins that the input consists of is no row.
    pub(super) starts: MemberStarts,
}

impl Repeats {
    /// Returns `None` for a record that does not repeat the header, and otherwise `true` if it is no row. `byte`: where the record begins.
    #[inline]
    pub(super) fn skips(&self, record: &[u8], byte: u64) -> Option<bool> {
        let marks = record.len().wrapping_sub(self.header.len());
        if marks != 0 && marks != MARK.len() || self.header.is_empty() {
            return None;
        }
        self.skips_repeat(record, byte)
    }

    fn skips_repeat(&self, record: &[u8], byte: u64) -> Option<bool> {
        if *record == *self.header {
            return Some(self.everywhere || self.starts.contains(byte));
        }
        (self.marked && record.strip_prefix(MARK) == Some(&self.header)).then_some(true)
    }
}

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The records that repeat the header.
#[derive(Debug, Default)]
pub struct RepeatedHeaders(Mutex<[Repeated; 2]>);

/// Those that are rows, or those that are none.
#[derive(Debug, Default)]
struct Repeated {
    records: u64,
    /// The first lines that have one.
    lines: Vec<u64>,
}

impl RepeatedHeaders {
    /// Forgets all of them.
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

    /// Returns the notes about them.
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
