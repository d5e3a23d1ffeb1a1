//! What was recognised, as data and in words.

use sqluice_core::error::{Message, Setting, message};

use super::super::TrailingDelimiter;
use super::super::delimiter::Delimiter;
use super::super::dialect::Dialect;

/// What was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sniffed {
    /// How records are written.
    pub dialect: Dialect,
    /// Whether the first record, after what is skipped, is a header.
    pub header: bool,
    /// What speaks for and against a header is nearly even; the user did not say.
    pub header_is_close: bool,
    /// Whether all records of the sample have the same number of fields, so read.
    pub certain: bool,
    /// How many fields most records have.
    pub fields: usize,
    /// Lines to skip at the start, given or recognised.
    pub skip_lines: u64,
    /// The lines among them that were recognised as no part of the table.
    pub preamble: Option<Preamble>,
    /// Lines of the sample that are comments by a character that was recognised, not given.
    pub comments: u64,
    /// The line of the record at the end of the file that looks like a footer. It stays a record, which is bad if its number of fields is.
    pub footer: Option<u64>,
    /// Which fields are numbers in all records of the sample that have them.
    pub numbers: Vec<bool>,
    /// Some fields of the sample are quoted.
    pub has_quoted_fields: bool,
    /// Which records end with a delimiter that separates nothing.
    pub trailing_delimiter: Option<TrailingDelimiter>,
    /// The number of byte order marks at the start.
    pub marks: usize,
    /// The line of the record below the header that seems to have units, and the first unit. It stays a record.
    pub units: Option<(u64, String)>,
    /// Records end with the separator of ASCII, 0x1e. Such a file can't be loaded.
    pub record_separators: bool,
    /// The escape that was recognised to work outside of quotes, too.
    pub recognised_escape: Option<u8>,
    /// The line of a quote that is text, and for which all quotes are taken for text.
    pub stray_quote: Option<u64>,
    /// Records of the sample.
    pub records: u64,
    /// Those that have another number of fields or are malformed.
    pub odd_records: u64,
    /// If the file might have several columns, and by which delimiter is unclear: what it might be. It can't be loaded then without one
    /// given.
    pub candidates: Vec<Delimiter>,
}

/// Lines before the table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preamble {
    /// How many, with empty ones.
    pub lines: u64,
    /// The first is `sep=;`, or with another delimiter, as spreadsheets write it.
    pub names_delimiter: bool,
    /// The first that has text, shortened.
    pub first: String,
}

impl Sniffed {
    /// In a few words, for a plan.
    pub fn words(&self) -> String {
        let delimiter = self.dialect.delimiter.words();
        let quote = match self.dialect.quote {
            Some(quote) => format!("quote {}", char::from(quote)),
            None => "no quote".to_owned(),
        };
        let header = if self.header { "header" } else { "no header" };
        let doubt = if self.certain { "" } else { " (the first records differ in their number of fields)" };
        format!("{delimiter}, {quote}, {header}{doubt}")
    }

    /// What was assumed and is worth a look, with the setting that changes it. That a file has no header is said wherever it was
    /// not given, close or not.
    pub fn notes(&self) -> Vec<Message> {
        let mut notes = Vec::new();
        if let Some(Preamble { lines, names_delimiter, first }) = &self.preamble {
            let skipped = match lines {
                1 => "the first line is skipped".to_owned(),
                lines => format!("the first {lines} lines are skipped"),
            };
            let why = match (names_delimiter, first.is_empty()) {
                (true, true) => "it names the delimiter".to_owned(),
                (true, false) => format!("the delimiter's name and {first:?} are not part of the table"),
                (false, _) => format!("{first:?} is not part of the table"),
            };
            notes.push(message![
                format!("{skipped}, as {why}; "),
                Setting::SkipLines.to("0"),
                " keeps all lines",
            ]);
        }
        if self.comments > 0 {
            notes.push(message![
                format!(
                    "lines that begin with # are skipped as comments ({} in the sample); ",
                    self.comments
                ),
                Setting::Comment.to("none"),
                " keeps them",
            ]);
        }
        if self.header_is_close && self.header {
            notes.push(message![
                "the first record is taken for a header, which is not sure; if it is a row: ",
                Setting::NoHeader,
            ]);
        }
        if self.marks > 1 {
            notes.push(
                format!("the file begins with {} byte order marks, which are skipped", self.marks).into(),
            );
        }
        match self.trailing_delimiter {
            Some(TrailingDelimiter::Rows) => notes.push(
                "the rows end with a delimiter that the header does not have; it separates nothing".into(),
            ),
            Some(TrailingDelimiter::Header) => notes.push(
                "the header ends with a delimiter that the rows do not have; it separates nothing".into(),
            ),
            None => {}
        }
        if let Some(escape) = self.recognised_escape.map(char::from) {
            notes.push(message![
                format!(
                    "{escape} makes the next character text, outside of quotes, too, and {escape}N is NULL; "
                ),
                Setting::Escape.to("none"),
                " reads it as text",
            ]);
        }
        if let Some(line) = self.stray_quote {
            notes.push(message![
                format!("quotes are text, as the one in line {line} does not stand around a field; "),
                Setting::Quote.to("\""),
                " reads them as quotes",
            ]);
        }
        if let Some((line, unit)) = &self.units {
            notes.push(
                format!("line {line}, below the header, seems to have units, such as {unit:?}, and is loaded as a row")
                    .into(),
            );
        }
        if let Some(line) = self.footer {
            notes.push(format!("line {line}, at the end of the file, looks like a footer").into());
        }
        notes
    }

    /// What ends a load of a file that may have several columns, or whose records are no lines.
    pub fn refusal(&self) -> Option<(Message, Message)> {
        if self.record_separators {
            let hint = "make lines of them, and load that: tr '\\n\\036' ' \\n' < FILE > LINES.csv";
            return Some(("records end with the byte 0x1e, not with line ends".into(), hint.into()));
        }
        let first = self.candidates.first()?;
        let words: Vec<String> = self.candidates.iter().map(Delimiter::words).collect();
        let message =
            format!("the delimiter can't be recognised: columns may be separated by {}", words.join(" or "));
        let hint = message![
            Setting::Delimiter.to(first.setting()),
            " (or another) says what separates them, ",
            Setting::Delimiter.to("none"),
            " that the file has one column",
        ];
        Some((message.into(), hint))
    }
}
