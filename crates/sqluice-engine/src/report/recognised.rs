//! How inputs were read, as data and in words.

use serde::Serialize;

use super::InputReport;

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

/// Kinds of inputs that are listed, at most.
const KINDS_MAX: usize = 4;

/// Files of a kind that are named, at most.
const NAMES_MAX: usize = 3;

/// What was recognised, with inputs of one kind as one: `a.csv: comma, header`, or `1,500 files: comma, header; 2 files: tab,
/// header (a.tsv, b.tsv)`.
pub fn recognised_in_words(inputs: &[InputReport], count: impl Fn(u64) -> String) -> String {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for InputReport { name, recognised, .. } in inputs {
        let words = recognised.words();
        match kinds.iter_mut().find(|(kind, _)| *kind == words) {
            Some((_, files)) => files.push(name),
            None => kinds.push((words, vec![name])),
        }
    }
    kinds.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let others: usize = kinds.iter().skip(KINDS_MAX).map(|(_, files)| files.len()).sum();
    let mut parts: Vec<String> = Vec::new();
    for (place, (words, files)) in kinds.iter().take(KINDS_MAX).enumerate() {
        parts.push(match files[..] {
            [file] => format!("{file}: {words}"),
            // What most are needs no names.
            _ if place == 0 => format!("{}: {words}", count(files.len() as u64)),
            _ => format!("{}: {words} ({})", count(files.len() as u64), some(files)),
        });
    }
    if others > 0 {
        parts.push(format!("{} otherwise", count(others as u64)));
    }
    parts.join("; ")
}

/// Which inputs have rows that lack fields, and how many: `12 rows filled with NULL where fields are missing: a.csv 10, b.csv 2`;
/// `None` if none has.
pub fn padded_in_words(inputs: &[InputReport], count: impl Fn(u64) -> String) -> Option<String> {
    let all: u64 = inputs.iter().map(|input| input.padded).sum();
    let mut padded: Vec<&InputReport> = inputs.iter().filter(|input| input.padded > 0).collect();
    let filled = format!("{} filled with NULL where fields are missing", count(all));
    match padded[..] {
        [] => None,
        [_] if inputs.len() == 1 => Some(filled),
        _ => {
            padded.sort_by_key(|input| std::cmp::Reverse(input.padded));
            let files: Vec<String> =
                padded.iter().map(|input| format!("{} {}", input.name, input.padded)).collect();
            Some(format!("{filled}: {}", some(&files)))
        }
    }
}

/// Some names of many.
fn some<N: AsRef<str>>(names: &[N]) -> String {
    let mut shown: Vec<&str> = names.iter().take(NAMES_MAX).map(AsRef::as_ref).collect();
    if names.len() > NAMES_MAX {
        shown.push("...");
    }
    shown.join(", ")
}
