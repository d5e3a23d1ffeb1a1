//! What can be wrong with a CSV file, where, and the messages for it.

use std::path::Path;

use sqluice_core::error::{Error, Message, Setting, message};
use sqluice_format::limits::COLUMNS_MAX;

use super::CsvOptions;
use super::delimiter::Delimiter;
use crate::text::Position;

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
    /// Something other than a delimiter or a line end after a closing quote, and where; at the opening quote.
    AfterQuote { found: char, at: Position },
    /// A quote within an unquoted field, where that is not allowed; at that quote.
    QuoteInUnquoted,
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
            _ if self.is_in_footer(options) => error.hint(message![
                "this looks like a footer, not like a row; to leave it out: ",
                Setting::Reject.to("FILE"),
            ]),
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    fn is_in_footer(&self, options: &CsvOptions) -> bool {
        let odd = matches!(self.what, What::TooManyFields { .. } | What::TooFewFields { .. });
        odd && options.footer.is_some_and(|footer| self.at.line >= footer)
    }

    fn message(&self, options: &CsvOptions) -> String {
        let first = if options.header { "header" } else { "first record" };
        let counted = options.fields.is_some() && !options.header;
        match self.what {
            What::InvalidUtf8(byte) => format!("this is not UTF-8: byte 0x{byte:02x}"),
            What::Nul => "a NUL byte, which is not text".to_owned(),
            What::AfterQuote { found, at } => {
                let delimiter = delimiter_in_words(options.dialect.delimiter);
                let place = match at.line == self.at.line {
                    true => format!("in column {}", at.column),
                    false => format!("in line {}", at.line),
                };
                format!(
                    "the quoted field that begins here closes {place} before {found:?}, where {delimiter} or the end of the line should be"
                )
            }
            What::QuoteInUnquoted => "a quote inside a field that is not quoted".to_owned(),
            What::Unterminated => "the quoted field that begins here never ends".to_owned(),
            What::TooManyFields { expected } if counted => {
                format!("field {} of this record: it should have only {expected}", expected + 1)
            }
            What::TooFewFields { fields, expected } if counted => {
                format!("the record ends after field {fields}: it should have {expected}")
            }
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

    fn hint(&self, options: &CsvOptions) -> Option<Message> {
        let hint = match self.what {
            What::InvalidUtf8(_) => {
                message![
                    "if the file is in another encoding, name it, for example: ",
                    Setting::Encoding.to("windows-1252")
                ]
            }
            What::Nul => {
                message!["is this a file of text? if it is UTF-16, say so: ", Setting::Encoding.to("utf-16")]
            }
            What::AfterQuote { .. } => {
                let quote = char::from(options.dialect.quote?);
                format!("a quote inside a quoted field is written twice: {quote}{quote}").into()
            }
            What::QuoteInUnquoted => {
                let quote = char::from(options.dialect.quote?);
                message![
                    format!("a field with quotes is written {quote}...{quote}{quote}...{quote}; without "),
                    Setting::StrictQuotes,
                    " such a quote is a character of the field"
                ]
            }
            What::FieldTooLong { .. } => {
                "is a closing quote missing? SQLite stores no longer values than that".into()
            }
            What::RecordTooLong { .. } => {
                message![
                    "is a closing quote missing? if the record is that long, give more memory: ",
                    Setting::Memory
                ]
            }
            What::TooManyColumns => "is the delimiter the right one?".into(),
            What::Unterminated => {
                message![
                    "is its closing quote missing? ",
                    Setting::Quote.to("none"),
                    " takes quotes for characters like any other"
                ]
            }
            What::TooFewFields { .. } => {
                message![
                    Setting::Pad,
                    " fills missing fields with NULL; ",
                    Setting::Reject.to("FILE"),
                    " writes such rows to a file and goes on"
                ]
            }
            What::TooManyFields { .. } => {
                message![Setting::Reject.to("FILE"), " writes such rows to a file and goes on"]
            }
        };
        Some(hint)
    }
}

fn delimiter_in_words(delimiter: Delimiter) -> String {
    match delimiter {
        Delimiter::COMMA => "a comma".to_owned(),
        Delimiter::SEMICOLON => "a semicolon".to_owned(),
        Delimiter::TAB => "a tab".to_owned(),
        Delimiter::WHITESPACE => "a blank".to_owned(),
        other => match str::from_utf8(other.as_bytes()) {
            Ok(text) if text.chars().count() == 1 => format!("{:?}", text.chars().next().unwrap_or(' ')),
            Ok(text) => format!("{text:?}"),
            // One column.
            Err(_) => "nothing".to_owned(),
        },
    }
}
