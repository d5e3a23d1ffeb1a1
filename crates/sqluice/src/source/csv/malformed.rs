//! What can be wrong with a CSV file, where, and in what words it is told.

use std::path::Path;

use crate::error::{Error, Place};

/// A place in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Counted from 0.
    pub(super) byte: u64,
    /// The physical line, counted from 1. Lines end with LF, CRLF or CR, also within quotes.
    pub(super) line: u64,
    /// The character in the line, counted from 1; a byte order mark is none.
    pub(super) column: u64,
}

impl Position {
    /// As messages name it.
    pub(super) fn place(self, file: &Path) -> Place {
        Place {
            file: file.to_owned(),
            line: Some(self.line),
            column: Some(self.column),
            byte: Some(self.byte),
        }
    }
}

/// The first thing that is wrong with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: Position,
    pub(super) what: What,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A byte that can't be part of UTF-8; at that byte.
    InvalidUtf8(u8),
    /// A NUL byte; at that byte.
    Nul,
    /// Something other than a delimiter or a line end after a closing quote; at that character.
    AfterQuote(char),
    /// The input ends within quotes; at the opening quote.
    Unterminated,
    /// More fields than the header; at the first that is too many.
    TooManyFields { header: usize },
    /// Fewer fields than the header; at the end of the record.
    TooFewFields { fields: usize, header: usize },
    /// A value of more bytes than allowed; at its field.
    FieldTooLong { bytes_max: usize },
    /// A record of more bytes than allowed; at its first character.
    RecordTooLong { bytes_max: usize },
}

impl Malformed {
    /// For the user.
    pub(super) fn error(self, file: &Path) -> Error {
        let (message, hint) = match self.what {
            What::InvalidUtf8(byte) => (
                format!("this is not UTF-8: byte 0x{byte:02x}"),
                Some("convert the file first, for example with: iconv -f WINDOWS-1252 -t UTF-8"),
            ),
            What::Nul => (
                "a NUL byte, which is no text".to_owned(),
                Some("if the file is UTF-16, convert it first: iconv -f UTF-16 -t UTF-8"),
            ),
            What::AfterQuote(found) => (
                format!("expected a comma or the end of the line after the closing quote, found {found:?}"),
                Some("a quote inside a quoted field is written twice: \"\""),
            ),
            What::Unterminated => ("the quoted field that begins here never ends".to_owned(), None),
            What::TooManyFields { header } => {
                (format!("field {} of this record: the header has only {header}", header + 1), None)
            }
            What::TooFewFields { fields, header } => {
                (format!("the record ends after field {fields}: the header has {header}"), None)
            }
            What::FieldTooLong { bytes_max } => (
                format!("this field is longer than {bytes_max} bytes"),
                Some("is a closing quote missing? SQLite stores no longer values than that"),
            ),
            What::RecordTooLong { bytes_max } => (
                format!("the record that begins here is longer than {bytes_max} bytes"),
                Some("is a closing quote missing?"),
            ),
        };
        let error = Error::input(message).at(self.at.place(file));
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
