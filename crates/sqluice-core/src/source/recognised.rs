//! How an input was read, as data and in words.

use serde::Serialize;

/// How an input was read, as was recognised or given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Recognised {
    /// `csv`, `ndjson`, `json`, `parquet` or `arrow`.
    pub format: &'static str,
    /// `gzip` or `zstd`.
    pub compression: Option<String>,
    /// The encoding of text that is not UTF-8.
    pub encoding: Option<String>,
    /// The properties of CSV.
    pub csv: Option<RecognisedCsv>,
}

/// How a CSV file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct RecognisedCsv {
    /// Between fields, in words: `comma`, `tab`, ...
    pub delimiter: String,
    /// Around fields.
    pub quote: Option<char>,
    /// Makes the next character stand for itself.
    pub escape: Option<char>,
    /// What begins a comment.
    pub comment: Option<char>,
    /// The first record names the columns.
    pub header: bool,
    /// What speaks for and against a header is nearly even.
    pub header_is_close: bool,
    /// Lines at the start that are not part of the table.
    pub skipped_lines: u64,
    /// The lines among them that were recognised as no part of the table.
    pub preamble: Option<RecognisedPreamble>,
    /// Lines of the sample (of a short file: of all) that were recognised as comments.
    pub comments: u64,
    /// The line of the record at the end of the file that looks like a footer. It is read as a record all the same.
    pub footer: Option<u64>,
}

/// Lines before a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct RecognisedPreamble {
    /// How many, with empty ones and a line such as `sep=;`.
    pub lines: u64,
    /// The first of them that has text, shortened; empty if it is `sep=;` alone.
    pub first: String,
}

impl RecognisedCsv {
    /// A file with that delimiter, of which nothing else is known.
    pub fn new(delimiter: impl Into<String>) -> RecognisedCsv {
        RecognisedCsv { delimiter: delimiter.into(), ..RecognisedCsv::default() }
    }
}

impl RecognisedPreamble {
    /// The number of lines, and the first one that has text.
    pub fn new(lines: u64, first: impl Into<String>) -> RecognisedPreamble {
        RecognisedPreamble { lines, first: first.into() }
    }
}

impl Recognised {
    /// A file of that format, of which nothing else is known.
    pub fn new(format: &'static str) -> Recognised {
        Recognised { format, ..Recognised::default() }
    }

    /// In a few words: `comma, header`.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        match &self.csv {
            None => words.push(self.format.to_owned()),
            Some(csv) => {
                let header = if csv.header { "header" } else { "no header" };
                words.extend([csv.delimiter.clone(), header.to_owned()]);
                match csv.quote {
                    Some('"') => {}
                    Some(quote) => words.push(format!("quote {quote}")),
                    None => words.push("no quote".to_owned()),
                }
                words.extend(csv.escape.map(|escape| format!("escape {escape}")));
                words.extend(csv.comment.map(|comment| format!("comments with {comment}")));
                words.extend(match csv.skipped_lines {
                    0 => None,
                    1 => Some("1 line skipped".to_owned()),
                    lines => Some(format!("{lines} lines skipped")),
                });
            }
        }
        words.extend(self.encoding.clone());
        words.extend(self.compression.clone());
        words.join(", ")
    }
}
