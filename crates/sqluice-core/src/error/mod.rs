//! The error type of all crates of sqluice, as data: kind, message, place and hint.
//!
//! Messages and hints name settings by [`Setting`], never by the word of a front end: the command renders `Setting::TempDir` as
//! `--temp-dir`, Python as `temp_dir=`, and `Display` as `` `temp_dir` ``.

mod message;

use std::fmt;
use std::path::{Path, PathBuf};

pub use crate::message;
pub use crate::settings::{Setting, SettingValue};
pub use message::Message;

/// The result of a function that fails with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, which decides the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is invalid: a row, a schema, a database.
    Input,
    /// The target can't be written: it exists, it is in use, the disk is full.
    Target,
    /// The request is invalid.
    Usage,
    /// The run was asked to stop.
    Interrupted,
}

impl ErrorKind {
    /// Returns the kind in one word: `input`, `target`, `usage` or `interrupted`.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Input => "input",
            ErrorKind::Target => "target",
            ErrorKind::Usage => "usage",
            ErrorKind::Interrupted => "interrupted",
        }
    }
}

/// A place in an input file. Lines, columns and bytes count from 1, 1 and 0. In a spreadsheet, a line is a row of a sheet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// The line, counted from 1, or the row of a sheet; `None` if unknown.
    pub line: Option<u64>,
    /// The character in the line, counted from 1, or the column of a sheet; `None` if unknown.
    pub column: Option<u64>,
    /// The byte in the file, counted from 0; `None` if unknown.
    pub byte: Option<u64>,
    /// The sheet, if the file is a spreadsheet.
    pub sheet: Option<String>,
}

impl Place {
    /// Creates the place of a whole file.
    pub fn file(file: impl Into<PathBuf>) -> Place {
        Place { file: file.into(), ..Place::default() }
    }

    /// Creates the place of byte `at` of `text`, which is the whole file.
    pub fn in_text(file: impl Into<PathBuf>, text: &str, at: usize) -> Place {
        let before = &text[..text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            file: file.into(),
            line: Some(before.matches('\n').count() as u64 + 1),
            column: Some(before[line_start..].chars().count() as u64 + 1),
            byte: Some(at as u64),
            sheet: None,
        }
    }

    /// Creates the place of a whole sheet of a spreadsheet.
    pub fn sheet(file: impl Into<PathBuf>, sheet: impl Into<String>) -> Place {
        Place { sheet: Some(sheet.into()), ..Place::file(file) }
    }
}

/// Returns the letters of a column of a sheet: 1 is A, 27 is AA.
pub fn column_letters(column: u64) -> String {
    let mut letters = Vec::new();
    let mut left = column;
    while left > 0 {
        letters.push(b'A' + ((left - 1) % 26) as u8);
        left = (left - 1) / 26;
    }
    letters.iter().rev().map(|&letter| char::from(letter)).collect()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(sheet) = &self.sheet {
            write!(f, ", sheet {sheet}")?;
            return match (self.line, self.column) {
                (Some(line), Some(column)) => write!(f, ", {}{line}", column_letters(column)),
                (Some(line), None) => write!(f, ", row {line}"),
                _ => Ok(()),
            };
        }
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
            (Some(line), None) => write!(f, ":{line}"),
            _ => Ok(()),
        }
    }
}

/// An assumption of a plan about its rows, its files or its database, which makes the plan faster or its messages more precise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// The database still has the schema for which the plan was made. No rows are read from a source before this is checked.
    Schema,
    /// Rows arrive in the order of their rowids, after the rows in the table.
    RowOrder,
    /// All values have the types that a sample shows, and no record has more columns.
    Types,
    /// No file has a bad row.
    SoundFiles,
    /// The entries of every index are in the order that the index declares.
    EntryOrder,
    /// Rows of a dump that look like lists of literals (numbers, strings, NULL) have no other expressions.
    LiteralRows,
    /// SQLite stores no value of a dump as NULL in a NOT NULL column.
    StoredValues,
}

/// An error with its kind, message, place and hint; see the module's description.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: Message,
    path: Option<PathBuf>,
    place: Option<Place>,
    record: Option<(String, u64)>,
    column: Option<String>,
    hint: Option<Message>,
    feature: Option<&'static str>,
    unread_format: Option<&'static str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    refuted: Option<Assumption>,
    duplicate: Option<Duplicate>,
    damaged: Option<DamagedTree>,
    parts: Vec<Error>,
}

/// The number of errors that the message of a summarizing error lists. Further errors are only counted.
const LISTED_MAX: usize = 24;

/// A damaged table or index of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedTree {
    /// `true` for an index.
    pub is_index: bool,
    /// The name of the table or index.
    pub name: String,
    /// The table that the index belongs to; for a table, its own name.
    pub table: String,
    /// `true` if all pages and records are sound, but an index has other entries than its table demands, or a row has a value that its
    /// column does not take.
    pub is_content: bool,
}

/// Two rows of a table with the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The name of the table.
    pub table: String,
    /// The index with the unique key; the name of the table if the key is its PRIMARY KEY.
    pub index: String,
    /// The rows: the earlier one, and the one with the repeated key.
    pub rows: DuplicateRows,
}

/// The identification of two rows with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateRows {
    /// The numbers of both rows among the records of the table's source; the smaller number first. They are counted from 0, but in
    /// [`Error::record`] from 1.
    Records(u64, u64),
    /// The rowids of both rows.
    Rowids(i64, i64),
    /// The rows are in two databases, which the message names.
    Databases,
}

/// Formats the rows for a message: `rows 5 and 900` (counted from 1), `rowids 7 and 9`, `rowid 7 twice`, or `rows of two databases`.
impl fmt::Display for DuplicateRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DuplicateRows::Records(first, second) => {
                write!(f, "rows {} and {}", first.saturating_add(1), second.saturating_add(1))
            }
            DuplicateRows::Rowids(first, second) if first == second => write!(f, "rowid {first} twice"),
            DuplicateRows::Rowids(first, second) => write!(f, "rowids {first} and {second}"),
            DuplicateRows::Databases => write!(f, "rows of two databases"),
        }
    }
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<Message>) -> Error {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            place: None,
            record: None,
            column: None,
            hint: None,
            feature: None,
            unread_format: None,
            source: None,
            refuted: None,
            duplicate: None,
            damaged: None,
            parts: Vec::new(),
        }))
    }

    /// Returns one error that summarizes several: its message is `what`, and below it the first 24 of `parts` with their places. Its kind
    /// is the kind of the first error.
    pub fn several(what: impl Into<Message>, parts: Vec<Error>) -> Error {
        let mut message = what.into();
        for part in parts.iter().take(LISTED_MAX) {
            message.push("\n  ");
            if let Some(place) = part.place() {
                message.push(format!("{place}: "));
            }
            message.push(part.what());
            if let Some(cause) = std::error::Error::source(part) {
                message.push(format!(": {cause}"));
            }
        }
        if let Some(more) = parts.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
            message.push(format!("\n  and {more} more"));
        }
        let kind = parts.first().map_or(ErrorKind::Input, Error::kind);
        let mut error = Error::new(kind, message);
        error.0.parts = parts;
        error
    }

    /// Returns an error about the input.
    pub fn input(message: impl Into<Message>) -> Error {
        Error::new(ErrorKind::Input, message)
    }

    /// Returns an error about the target.
    pub fn target(message: impl Into<Message>) -> Error {
        Error::new(ErrorKind::Target, message)
    }

    /// Returns an error about the request.
    pub fn usage(message: impl Into<Message>) -> Error {
        Error::new(ErrorKind::Usage, message)
    }

    /// Returns the error for a request that needs a cargo feature which this build lacks. `what` is the message; the hint names the
    /// feature.
    pub fn without_feature(what: impl Into<Message>, feature: &'static str) -> Error {
        let mut error = Error::usage(what).hint(format!("build it with the feature {feature}"));
        error.0.feature = Some(feature);
        error
    }

    /// Returns the error for a file in a format that sqluice recognises but does not read. `format` is its name with an article, such as
    /// `a PDF file`.
    pub fn unread_format(format: &'static str) -> Error {
        let mut error = Error::input(format!("this is {format}, which is not read here"));
        error.0.unread_format = Some(format);
        error
    }

    /// Returns the name of the format that is not read, if this error was made by [`Error::unread_format`].
    pub fn format(&self) -> Option<&'static str> {
        self.0.unread_format
    }

    /// Returns the error for a run that the caller's [`Cancel`](crate::progress::Cancel) stopped.
    pub fn interrupted() -> Error {
        Error::new(ErrorKind::Interrupted, "interrupted")
    }

    /// Returns the error for `path`, which can't be read.
    pub fn read(path: &Path, source: std::io::Error) -> Error {
        Error::input(format!("cannot read {}", path.display())).about(path).because(source)
    }

    /// Converts the error of a reader of `path`: returns the [`Error`] that the reader has failed with, with its place and hint, or
    /// [`Error::read`] if the error is of another type.
    pub fn from_read(path: &Path, error: std::io::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::read(path, error),
        }
    }

    /// Adds the place in the input.
    #[must_use]
    pub fn at(mut self, place: Place) -> Error {
        self.0.place = Some(place);
        self
    }

    /// Adds the file or folder that the message is about, for an error without a place in the input.
    #[must_use]
    pub fn about(mut self, path: impl Into<PathBuf>) -> Error {
        self.0.path = Some(path.into());
        self
    }

    /// Adds the record at fault: the table it was for, and its number among the records of the table's source. Bad records count, and
    /// numbers begin at 1. A caller that knows the source can add the place.
    #[must_use]
    pub fn of_record(mut self, table: impl Into<String>, number: u64) -> Error {
        self.0.record = Some((table.into(), number));
        self
    }

    /// Adds the name of the column at fault.
    #[must_use]
    pub fn of_column(mut self, name: impl Into<String>) -> Error {
        self.0.column = Some(name.into());
        self
    }

    /// Adds a hint for the user.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Message>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// Adds the assumption of the plan that does not hold. A plan without this assumption may write the same rows.
    #[must_use]
    pub fn refuting(mut self, assumption: Assumption) -> Error {
        self.0.refuted = Some(assumption);
        self
    }

    /// Adds the rows with the same key.
    #[must_use]
    pub fn duplicate(mut self, duplicate: Duplicate) -> Error {
        self.0.duplicate = Some(duplicate);
        self
    }

    /// Adds the damaged table or index.
    #[must_use]
    pub fn damaged(mut self, tree: DamagedTree) -> Error {
        self.0.damaged = Some(tree);
        self
    }

    /// Appends text to the message.
    #[must_use]
    pub fn with_words(mut self, words: impl Into<Message>) -> Error {
        self.0.message.push(words);
        self
    }

    /// Returns the assumption of the plan that does not hold, if the run failed for this reason.
    pub fn refuted(&self) -> Option<Assumption> {
        self.0.refuted
    }

    /// Takes the rows with the same key out of the error, if it is about such rows.
    pub fn take_duplicate(&mut self) -> Option<Duplicate> {
        self.0.duplicate.take()
    }

    /// Returns `true` if a table or index is damaged.
    pub fn is_damaged(&self) -> bool {
        self.0.damaged.is_some()
    }

    /// Takes the damaged table or index out of the error, if it is about one.
    pub fn take_damaged(&mut self) -> Option<DamagedTree> {
        self.0.damaged.take()
    }

    /// Returns all errors that this error summarizes; most errors summarize none.
    pub fn parts(&self) -> &[Error] {
        &self.0.parts
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message, without the place.
    pub fn what(&self) -> &Message {
        &self.0.message
    }

    /// Returns [`Error::what`] as text. Settings have their names in the Rust API, such as `` `temp_dir` ``.
    pub fn message(&self) -> String {
        self.0.message.to_string()
    }

    /// Returns place and message as `Display` writes them, but without the hint.
    pub fn without_hint(&self) -> String {
        match &self.0.place {
            Some(place) => format!("{place}: {}", self.0.message),
            None => self.0.message.to_string(),
        }
    }

    /// Returns the file or folder that could not be read or written, or else the file of the place; `None` if the error is about no file.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref().or_else(|| self.place().map(|place| place.file.as_path()))
    }

    /// Returns the place in the input; `None` if the error has none.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Returns the record at fault, if it is known: its table, and its number among the records of the table's source. Bad records count,
    /// and numbers begin at 1. Of two records with the same key, this is the later one.
    pub fn record(&self) -> Option<(&str, u64)> {
        self.0.record.as_ref().map(|(table, number)| (table.as_str(), *number))
    }

    /// Returns the name of the column at fault, if the error is about one column.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// Returns the hint for the user; `None` if the error has none.
    pub fn remedy(&self) -> Option<&Message> {
        self.0.hint.as_ref()
    }

    /// Returns the cargo feature that the request needs, if this build lacks the feature.
    pub fn missing_feature(&self) -> Option<&'static str> {
        self.0.feature
    }

    /// Returns [`Error::remedy`] as text. Settings have their names in the Rust API, such as `` `temp_dir` ``.
    pub fn hint_text(&self) -> Option<String> {
        self.0.hint.as_ref().map(ToString::to_string)
    }
}

/// Writes place, message and hint. Settings have their names in the Rust API, such as `` `temp_dir` ``.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_hint())?;
        match &self.0.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

/// Lets a reader fail with this error. [`Error::from_read`] extracts the error again.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        std::io::Error::other(error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}
