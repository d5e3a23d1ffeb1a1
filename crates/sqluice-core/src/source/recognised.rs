//! The recognised properties of an input, as data and in words: format, compression, encoding, and the dialect of CSV.

use serde::Serialize;

/// The properties by which an input was read, recognised or given by the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Recognised {
    /// The name of the format: `csv`, `ndjson`, `sqlite`, ...
    pub format: &'static str,
    /// The database whose SQL a dump has: `SQLite`, `MySQL` (also for MariaDB) or `PostgreSQL`; `None` for other files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<&'static str>,
    /// The compression: `gzip`, `zstd`, `bzip2` or `xz`; `None` without one.
    pub compression: Option<String>,
    /// The encoding of text; `None` for UTF-8, and for files that are no text.
    pub encoding: Option<String>,
    /// The properties of CSV; `None` for other formats.
    pub csv: Option<RecognisedCsv>,
    /// The sheet of a workbook; `None` for other formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
}

/// The properties by which a CSV file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct RecognisedCsv {
    /// The delimiter between fields, in words: `comma`, `tab`, ...
    pub delimiter: String,
    /// The quote around fields; `None` without one.
    pub quote: Option<char>,
    /// The escape, which makes the next character stand for itself; `None` without one.
    pub escape: Option<char>,
    /// The character at the beginning of a comment; `None` without comments.
    pub comment: Option<char>,
    /// `true` if the first record names the columns.
    pub header: bool,
    /// `true` if the evidence for and against a header is nearly even.
    pub header_is_close: bool,
    /// The number of lines at the start that are not part of the table.
    pub skipped_lines: u64,
    /// The recognised lines before the table, which are among the skipped lines; `None` if there are none.
    pub preamble: Option<RecognisedPreamble>,
    /// The number of comments in the sample, which is all of a short file.
    pub comments: u64,
    /// The line of a last record that looks like a footer, although it is read like all others; `None` if none does.
    pub footer: Option<u64>,
}

/// The lines before a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct RecognisedPreamble {
    /// The number of lines, including empty lines and a line such as `sep=;`.
    pub lines: u64,
    /// The first line that has text, shortened; empty if the only line is `sep=;`.
    pub first: String,
}

impl RecognisedCsv {
    /// Returns the properties of a file of which only the delimiter is known.
    pub fn new(delimiter: impl Into<String>) -> RecognisedCsv {
        RecognisedCsv { delimiter: delimiter.into(), ..RecognisedCsv::default() }
    }
}

impl RecognisedPreamble {
    /// Creates a preamble of `lines` lines; `first` is the first one that has text.
    pub fn new(lines: u64, first: impl Into<String>) -> RecognisedPreamble {
        RecognisedPreamble { lines, first: first.into() }
    }
}

impl Recognised {
    /// Returns the properties of a file of which only the format is known.
    pub fn new(format: &'static str) -> Recognised {
        Recognised { format, ..Recognised::default() }
    }

    /// Describes the properties in a few words, such as `comma, header`.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        match &self.csv {
            None => {
                words.push(match self.dialect {
                    Some(dialect) => format!("{} of {dialect}", self.format),
                    None => self.format.to_owned(),
                });
                words.extend(self.sheet.as_ref().map(|sheet| format!("sheet {sheet}")));
            }
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
