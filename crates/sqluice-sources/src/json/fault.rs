//! The faults of a record of JSON, with their positions and messages.

use sqluice_core::error::{Error, Message, Setting, message};

use crate::text::encoding_hint;

/// The first fault of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The offset in the parsed bytes.
    pub(super) at: usize,
    pub(super) what: What,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// An unexpected byte; the text names what is expected.
    Expected(&'static str),
    /// A control character in a string, which must be escaped.
    Control(u8),
    /// An escape that JSON does not have.
    Escape,
    /// Half of a surrogate pair.
    Surrogate,
    /// A string without an end. The fault is at its opening quote.
    Unterminated,
    /// Nested arrays and objects, more than [`DEPTH_MAX`] deep.
    TooDeep,
    /// A byte that can't be part of UTF-8.
    InvalidUtf8,
    /// A key that can't be the name of a column.
    NulInKey,
    /// A value of more bytes than SQLite stores.
    ValueTooLong,
    /// A record of more bytes than allowed. No record follows, because its end is not searched.
    RecordTooLong { bytes_max: usize },
}

/// The largest depth of nested arrays and objects, including the record itself: as much as serde_json reads.
pub(super) const DEPTH_MAX: usize = 127;

impl Fault {
    pub(super) fn expected(at: usize, what: &'static str) -> Fault {
        Fault { at, what: What::Expected(what) }
    }

    /// Returns `true` if nothing after the record can be read.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self.what, What::RecordTooLong { .. })
    }

    /// Returns the error for the user. `record` is the text of the record with the fault; `lenient_reads_it` is `true` if a lenient reader
    /// takes the record.
    pub(super) fn error(&self, record: &[u8], lenient_reads_it: bool) -> Error {
        let error = Error::input(self.message(record));
        match self.hint(record, lenient_reads_it) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    fn message(&self, record: &[u8]) -> String {
        match self.what {
            What::Expected(expected) => match character(record, self.at) {
                Some(found) => format!("expected {expected}, found {found:?}"),
                None => format!("expected {expected}, and the record ends"),
            },
            What::Control(byte) => format!("a control character, 0x{byte:02x}, in a string"),
            What::Escape => "JSON has no such escape".to_owned(),
            What::Surrogate => "half of a surrogate pair, which is not a character".to_owned(),
            What::Unterminated => "the string that begins here never ends".to_owned(),
            What::TooDeep => format!("more than {DEPTH_MAX} arrays and objects within each other"),
            What::InvalidUtf8 => format!("this is not UTF-8: byte 0x{:02x}", record[self.at]),
            What::NulInKey => "a key with a NUL character, which can't name a column".to_owned(),
            What::ValueTooLong => "this value is longer than SQLite stores".to_owned(),
            What::RecordTooLong { bytes_max } => {
                format!("the record that begins here is longer than {bytes_max} bytes")
            }
        }
    }

    fn hint(&self, record: &[u8], lenient_reads_it: bool) -> Option<Message> {
        let rest = record.get(self.at..).unwrap_or_default();
        let hint = match self.what {
            What::Expected(_) if lenient_reads_it => {
                return Some(message![
                    "JSON has no such number; ",
                    Setting::LenientJson,
                    " reads NaN as NULL, and Infinity as a float"
                ]);
            }
            What::Expected(_) if rest.is_empty() && record.trim_ascii() == b"{" => {
                "a record is one line; jq -c . makes it so"
            }
            What::Expected(_) | What::TooDeep | What::NulInKey => {
                return Some(message![Setting::Reject.to("FILE"), " writes such rows to a file and goes on"]);
            }
            What::Control(_) => "in a string it is written as an escape, such as \\n",
            What::Escape => {
                "escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits"
            }
            What::Surrogate if lenient_reads_it => {
                return Some(message![
                    "a character beyond U+FFFF is two escapes: \\ud83d\\ude00; ",
                    Setting::LenientJson,
                    " reads half of them as U+FFFD"
                ]);
            }
            What::Surrogate => "a character beyond U+FFFF is two escapes: \\ud83d\\ude00",
            What::Unterminated => {
                "is its closing quote missing? a record is one line, unless the file is an array"
            }
            What::InvalidUtf8 => return Some(encoding_hint(record)),
            What::ValueTooLong => return None,
            What::RecordTooLong { .. } => {
                return Some(message!["if the record is that long, give more memory: ", Setting::Memory]);
            }
        };
        Some(hint.into())
    }
}

/// Returns the character at a byte.
fn character(text: &[u8], at: usize) -> Option<char> {
    let rest = text.get(at..)?;
    String::from_utf8_lossy(&rest[..rest.len().min(4)]).chars().next()
}
