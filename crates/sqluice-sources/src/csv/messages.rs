//! The messages and hints for malformed records.

use std::path::Path;

use sqluice_core::error::{Error, Message, Setting, message};
use sqluice_format::limits::COLUMNS_MAX;

use super::CsvOptions;
use super::delimiter::Delimiter;
use super::dialect::Dialect;
use super::malformed::{Malformed, What};
use super::naive::Parser;
use super::sniff::split;
use crate::text::{Position, encoding_hint};

impl Malformed {
    /// Returns the error for the user about the record `text`, which should have `fields` fields.
    pub(super) fn error(&self, file: &Path, options: &CsvOptions, text: &[u8], fields: usize) -> Error {
        let error = Error::input(self.message(options)).at(self.at.place(file));
        if let Some(header) = options.table_below.filter(|&header| self.is_odd() && self.at.line < header) {
            return error.hint(message![
                format!("line {header} looks like the header of the table; to begin there: "),
                Setting::SkipLines.to((header - 1).to_string()),
            ]);
        }
        match self.hint(options, text, fields) {
            _ if self.is_in_footer(options) => error.hint(message![
                "this looks like a footer, not like a row; to leave it out: ",
                Setting::Reject.to("FILE"),
            ]),
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// Returns `true` if the record has too many or too few fields.
    fn is_odd(&self) -> bool {
        matches!(self.what, What::TooManyFields { .. } | What::TooFewFields { .. })
    }

    fn is_in_footer(&self, options: &CsvOptions) -> bool {
        self.is_odd() && options.footer.is_some_and(|footer| self.at.line >= footer)
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
            What::CouldBeRows { lines } => {
                format!(
                    "the quoted field that begins here has {lines} lines, and each of them could be a row"
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

    fn hint(&self, options: &CsvOptions, text: &[u8], fields: usize) -> Option<Message> {
        let hint = match self.what {
            What::AfterQuote { .. } | What::Unterminated if is_sound_as_text(options, text, fields) => {
                message![
                    Setting::Quote.to("none"),
                    " reads quotes as ordinary characters; ",
                    Setting::Reject.to("FILE"),
                    " writes such rows to a file and goes on"
                ]
            }
            What::AfterQuote { .. } if is_sound_with_backslash(options, text, fields) => {
                message![
                    Setting::Escape.to("\\"),
                    " reads a quote after a backslash as a character of the field"
                ]
            }
            What::CouldBeRows { .. } => message![
                Setting::Quote.to("none"),
                " reads quotes as ordinary characters; without ",
                Setting::StrictQuotes,
                " such a field is loaded, with a warning"
            ],
            What::InvalidUtf8(_) => encoding_hint(text),
            What::Nul => {
                // In UTF-16, every other byte of ASCII text is NUL.
                let is_wide = memchr::memchr_iter(0, text).count() * 3 > text.len();
                let encoding = if self.at.byte.is_multiple_of(2) { "utf-16be" } else { "utf-16le" };
                match is_wide {
                    true => message![
                        "is this a file of text? if it is UTF-16, say so: ",
                        Setting::Encoding.to(encoding)
                    ],
                    false => message![
                        "is this a file of text? ",
                        Setting::Reject.to("FILE"),
                        " writes such rows to a file and goes on"
                    ],
                }
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
                "is a closing quote missing? SQLite can't store longer values".into()
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
                    Setting::Reject.to("FILE"),
                    " writes such rows to a file and goes on"
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

/// Returns `true` if, with quotes as text, each line of a record is a row and no field seems to be quoted.
fn is_sound_as_text(options: &CsvOptions, text: &[u8], fields: usize) -> bool {
    let Some(quote) = options.dialect.quote.filter(|_| !options.has_quoted_fields) else { return false };
    let dialect = Dialect { quote: None, escape: None, ..options.dialect };
    let is_row = |line: &[u8]| {
        split(line, dialect, fields).is_some_and(|values| {
            let is_quoted =
                |value: &[u8]| value.len() >= 2 && value.starts_with(&[quote]) && value.ends_with(&[quote]);
            values.is_empty() || values.len() == fields && !values.iter().any(|field| is_quoted(&field.value))
        })
    };
    text.split(|byte| matches!(byte, b'\n' | b'\r')).all(is_row)
}

/// Returns `true` if a record is well formed with a backslash as the escape.
fn is_sound_with_backslash(options: &CsvOptions, text: &[u8], fields: usize) -> bool {
    let Dialect { quote: Some(quote), escape: None, .. } = options.dialect else { return false };
    let dialect = Dialect { escape: Some(b'\\'), ..options.dialect };
    let at = Position { byte: 0, line: 1, column: 1 };
    let mut records = Parser::new(text, at, dialect, options.limits());
    dialect.check().is_ok()
        && memchr::memmem::find(text, &[b'\\', quote]).is_some()
        && records.record(options.width(fields)).is_some_and(|record| record.fields.is_ok())
        && records.record(options.width(fields)).is_none()
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
            // `Delimiter::NONE`, whose byte is not UTF-8.
            Err(_) => "nothing".to_owned(),
        },
    }
}
