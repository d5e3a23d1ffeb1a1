//! What can be wrong with a CSV file, where, and in what words it is told.

use std::path::Path;

use super::CsvOptions;
use super::naive::COLUMNS_MAX;
use crate::error::Error;
use crate::source::text::Position;

/// The first thing that is wrong with a record.
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
    /// More fields than the first record; at the first that is too many.
    TooManyFields { expected: usize },
    /// Fewer fields than the first record; at the end of the record.
    TooFewFields { fields: usize, expected: usize },
    /// More fields than a table has columns; at the first that is too many.
    TooManyColumns,
    /// A value of more bytes than allowed; at its field.
    FieldTooLong { bytes_max: usize },
    /// A record (or comment) of more bytes than allowed; at its first character. It can't be gone past, as its end is not
    /// looked for.
    RecordTooLong { bytes_max: usize },
}

impl Malformed {
    /// Whether nothing after it can be read.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self.what, What::RecordTooLong { .. })
    }

    /// For the user.
    pub(super) fn error(&self, file: &Path, options: &CsvOptions) -> Error {
        let error = Error::input(self.message(options)).at(self.at.place(file));
        match self.hint(options) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    fn message(&self, options: &CsvOptions) -> String {
        let first = if options.header { "header" } else { "first record" };
        match self.what {
            What::InvalidUtf8(byte) => format!("this is not UTF-8: byte 0x{byte:02x}"),
            What::Nul => "a NUL byte, which is no text".to_owned(),
            What::AfterQuote(found) => {
                let delimiter = delimiter_in_words(options.dialect.delimiter);
                format!(
                    "expected {delimiter} or the end of the line after the closing quote, found {found:?}"
                )
            }
            What::Unterminated => "the quoted field that begins here never ends".to_owned(),
            What::TooManyFields { expected } => {
                format!("field {} of this record: the {first} has only {expected}", expected + 1)
            }
            What::TooFewFields { fields, expected } => {
                format!("the record ends after field {fields}: the {first} has {expected}")
            }
            What::TooManyColumns => format!(
                "field {} of the {first}: a table of SQLite has at most {COLUMNS_MAX} columns",
                COLUMNS_MAX + 1
            ),
            What::FieldTooLong { bytes_max } => format!("this field is longer than {bytes_max} bytes"),
            What::RecordTooLong { bytes_max } => {
                format!("the record that begins here is longer than {bytes_max} bytes")
            }
        }
    }

    fn hint(&self, options: &CsvOptions) -> Option<String> {
        let hint = match self.what {
            What::InvalidUtf8(_) => {
                "if the file is in another encoding, name it, for example: --encoding windows-1252".to_owned()
            }
            What::Nul => "is this a file of text? if it is UTF-16, say so: --encoding utf-16".to_owned(),
            What::AfterQuote(_) => {
                let quote = char::from(options.dialect.quote?);
                format!("a quote inside a quoted field is written twice: {quote}{quote}")
            }
            What::FieldTooLong { .. } => {
                "is a closing quote missing? SQLite stores no longer values than that".to_owned()
            }
            What::RecordTooLong { .. } => {
                "is a closing quote missing? if the record is that long, give more memory: --memory"
                    .to_owned()
            }
            What::TooManyColumns => "is the delimiter the right one?".to_owned(),
            What::Unterminated => {
                "is its closing quote missing? --quote none takes quotes for characters like any other"
                    .to_owned()
            }
            What::TooManyFields { .. } | What::TooFewFields { .. } => {
                "--reject FILE puts such rows aside and goes on".to_owned()
            }
        };
        Some(hint)
    }
}

fn delimiter_in_words(delimiter: u8) -> String {
    match delimiter {
        b',' => "a comma".to_owned(),
        b';' => "a semicolon".to_owned(),
        b'\t' => "a tab".to_owned(),
        other => format!("{:?}", char::from(other)),
    }
}
