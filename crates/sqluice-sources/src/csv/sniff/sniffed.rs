//! [`Sniffed`]: the recognised format of a CSV file, as data, in words, and as notes for the user.

use sqluice_core::error::{Message, Setting, message};

use super::super::TrailingDelimiter;
use super::super::delimiter::Delimiter;
use super::super::dialect::Dialect;

/// The recognised format of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sniffed {
    /// The dialect of the records.
    pub dialect: Dialect,
    /// `true` if the first record, after the skipped lines, is a header.
    pub header: bool,
    /// `true` if the header was recognised, not given, and the evidence for and against it is nearly even, or all values are text.
    pub header_is_close: bool,
    /// `true` if all records of the sample, from the header on, have the usual number of fields.
    pub certain: bool,
    /// The number of fields of most records; 0 if the sample has no records.
    pub fields: usize,
    /// The number of lines to skip at the start, given or recognised.
    pub skip_lines: u64,
    /// The skipped lines that were recognised as no part of the table.
    pub preamble: Option<Preamble>,
    /// The number of comments in the sample, if the comment character was recognised, not given.
    pub comments: u64,
    /// The line of the header if it is a comment, as in `#chrom<tab>start`.
    pub commented_header: Option<u64>,
    /// The line of the record at the end of the file that looks like a footer. The footer stays a record, and becomes a bad row if its
    /// number of fields is wrong.
    pub footer: Option<u64>,
    /// The line of the header of a second, larger table that begins below the first records, if the first records have other numbers of
    /// fields.
    pub table_below: Option<u64>,
    /// A flag for each field, `true` if the records of the sample have numbers in the field, and beside them only missing values.
    pub numbers: Vec<bool>,
    /// `true` if some fields of the sample are quoted.
    pub has_quoted_fields: bool,
    /// The records that end with a surplus delimiter, which separates nothing.
    pub trailing_delimiter: Option<TrailingDelimiter>,
    /// The number of byte order marks at the start.
    pub marks: usize,
    /// The line of the record below the header that seems to have units, and the first unit. This record stays a row.
    pub units: Option<(u64, String)>,
    /// `true` if records end with the ASCII record separator, 0x1e. Such a file can't be loaded.
    pub record_separators: bool,
    /// The escape, if it was recognised to work outside of quotes, too.
    pub recognised_escape: Option<u8>,
    /// `true` if CRLF alone was recognised as the end of a record.
    pub recognised_crlf: bool,
    /// The line of the first stray quote, if all quotes were recognised as text.
    pub stray_quote: Option<u64>,
    /// The number of records in the sample, from the header on.
    pub records: u64,
    /// The number of records that have another number of fields or are malformed.
    pub odd_records: u64,
    /// The possible delimiters, if the file may have several columns and the delimiter is unclear. Such a file can't be loaded until the
    /// user gives the delimiter.
    pub candidates: Vec<Delimiter>,
}

/// The recognised lines before the table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preamble {
    /// The number of lines, empty lines included.
    pub lines: u64,
    /// `true` if a line names the delimiter, such as `sep=;`, as spreadsheets write it.
    pub names_delimiter: bool,
    /// The first line that has text, shortened.
    pub first: String,
}

impl Sniffed {
    /// Returns the format in a few words, for a plan.
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

    /// Returns notes about assumptions, with the settings that change them. A note that the file has no header is missing here: callers add
    /// this note whenever the user did not say if the file has a header.
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
        if let Some(line) = self.commented_header {
            notes.push(message![
                format!("the comment in line {line} names the columns; "),
                Setting::Comment.to("#"),
                " skips it",
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
                "the first record is probably a header, and is read as one; if it is a row: ",
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
        if self.recognised_crlf {
            notes.push(message![
                "records end with CRLF, and an LF by itself is text; ",
                Setting::LineEnd.to("any"),
                " ends records with it",
            ]);
        }
        if let Some(line) = self.stray_quote {
            notes.push(message![
                format!("quote characters are read as text, because the one in line {line} does not enclose a field; "),
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

    /// Returns the message and the hint of the error that ends the load, if the delimiter is unclear or records do not end with line ends.
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
            "name the delimiter: ",
            Setting::Delimiter.to(first.setting()),
            " (or another); if the file has one column: ",
            Setting::Delimiter.to("none"),
        ];
        Some((message.into(), hint))
    }
}
