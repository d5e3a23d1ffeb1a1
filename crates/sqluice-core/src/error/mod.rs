//! The error type of the engine, as data: its kind, what happened, where, and what to do about it.
//!
//! Messages and hints name settings by [`Setting`], never by a front end's word for them: the command renders
//! `Setting::TempDir` as `--temp-dir`, Python as `temp_dir=`, and `Display` as `` `temp_dir` ``.

mod message;

use std::fmt;
use std::path::{Path, PathBuf};

pub use crate::message;
pub use crate::settings::{Setting, SettingValue};
pub use message::Message;

/// The result of every fallible function of the engine.
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
    /// In one word: `input`, `target`, `usage` or `interrupted`.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Input => "input",
            ErrorKind::Target => "target",
            ErrorKind::Usage => "usage",
            ErrorKind::Interrupted => "interrupted",
        }
    }
}

/// A place in an input file. Lines, columns and bytes count from 1, 1 and 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The character in the line, counted from 1.
    pub column: Option<u64>,
    /// The byte in the file, counted from 0.
    pub byte: Option<u64>,
}

impl Place {
    /// A whole file.
    pub fn file(file: impl Into<PathBuf>) -> Place {
        Place { file: file.into(), ..Place::default() }
    }

    /// The place of byte `at` of `text`, which is all of the file.
    pub fn in_text(file: impl Into<PathBuf>, text: &str, at: usize) -> Place {
        let before = &text[..text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            file: file.into(),
            line: Some(before.matches('\n').count() as u64 + 1),
            column: Some(before[line_start..].chars().count() as u64 + 1),
            byte: Some(at as u64),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
            (Some(line), None) => write!(f, ":{line}"),
            _ => Ok(()),
        }
    }
}

/// An assumption of a plan about its rows, its files or its database, to be faster or to say more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// The database still has the schema that the plan was made for. Until this is known, no rows are read from a source.
    Schema,
    /// Rows arrive in the order of their rowids, after those that the table has.
    RowOrder,
    /// All values have the types that a sample shows, and no record has more columns.
    Types,
    /// No file has a bad row.
    SoundFiles,
    /// The entries of every index have the order that it declares.
    EntryOrder,
}

/// An error; see the module's description.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: Message,
    path: Option<PathBuf>,
    place: Option<Place>,
    record: Option<(String, u64)>,
    hint: Option<Message>,
    feature: Option<&'static str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    refuted: Option<Assumption>,
    duplicate: Option<Duplicate>,
    damaged: Option<DamagedTree>,
    parts: Vec<Error>,
}

/// The number of errors listed in the message of an error that summarizes them.
const LISTED_MAX: usize = 24;

/// A table or index of a database that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedTree {
    /// `true` if it is an index.
    pub is_index: bool,
    /// Its name.
    pub name: String,
    /// The table that it belongs to; its own name if it is a table.
    pub table: String,
    /// `true` if all of its pages and records are sound, and an index has other entries than its table demands, or a row has a value
    /// that its column does not take.
    pub is_content: bool,
}

/// Two rows of a table that have the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The table.
    pub table: String,
    /// The index that holds each key once; the table's own name where that is its PRIMARY KEY.
    pub index: String,
    /// The rows: the earlier one, and the one that repeats its key.
    pub rows: DuplicateRows,
}

/// How two rows with the same key are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateRows {
    /// By their numbers among the records of the table's source, counted from 0, unlike [`Error::record`]; the smaller first.
    Records(u64, u64),
    /// By their rowids.
    Rowids(i64, i64),
    /// By the two databases that they are in, which the message names.
    Databases,
}

/// Counted from 1: `rows 5 and 900`, or `rowids 7 and 9`.
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
            hint: None,
            feature: None,
            source: None,
            refuted: None,
            duplicate: None,
            damaged: None,
            parts: Vec::new(),
        }))
    }

    /// Several errors as one: its message lists them below `what`, the first few dozen of them with their places. Its kind is
    /// that of the first.
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

    /// The input is at fault.
    pub fn input(message: impl Into<Message>) -> Error {
        Error::new(ErrorKind::Input, message)
    }

    /// The target is at fault.
    pub fn target(message: impl Into<Message>) -> Error {
        Error::new(ErrorKind::Target, message)
    }

    /// The request is at fault.
    pub fn usage(message: impl Into<Message>) -> Error {
        Error::new(ErrorKind::Usage, message)
    }

    /// The request needs a cargo feature that this build lacks: `what` says what it needs, and the hint names the feature.
    pub fn without_feature(what: impl Into<Message>, feature: &'static str) -> Error {
        let mut error = Error::usage(what).hint(format!("build it with the feature {feature}"));
        error.0.feature = Some(feature);
        error
    }

    /// The caller's [`Cancel`](crate::progress::Cancel) stopped the run.
    pub fn interrupted() -> Error {
        Error::new(ErrorKind::Interrupted, "interrupted")
    }

    /// Reading `path` failed.
    pub fn read(path: &Path, source: std::io::Error) -> Error {
        Error::input(format!("cannot read {}", path.display())).about(path).because(source)
    }

    /// What a reader failed with: the engine's own error, with its place and hint, if that is what it handed through
    /// [`std::io::Read`], or [`Error::read`].
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

    /// Adds the file or folder that the message is about, where it is no place in the input.
    #[must_use]
    pub fn about(mut self, path: impl Into<PathBuf>) -> Error {
        self.0.path = Some(path.into());
        self
    }

    /// Adds the record that is at fault: the table that it was for, and its number among the records of the table's source, bad
    /// ones included, counted from 1, as messages count. A caller that knows the source can add the place.
    #[must_use]
    pub fn of_record(mut self, table: impl Into<String>, number: u64) -> Error {
        self.0.record = Some((table.into(), number));
        self
    }

    /// Adds what the user can do about it.
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

    /// Adds the assumption of the plan that does not hold. A plan without it may write the same rows.
    #[must_use]
    pub fn refuting(mut self, assumption: Assumption) -> Error {
        self.0.refuted = Some(assumption);
        self
    }

    /// Adds which rows have the same key.
    #[must_use]
    pub fn duplicate(mut self, duplicate: Duplicate) -> Error {
        self.0.duplicate = Some(duplicate);
        self
    }

    /// Adds which table or index is damaged.
    #[must_use]
    pub fn damaged(mut self, tree: DamagedTree) -> Error {
        self.0.damaged = Some(tree);
        self
    }

    /// Appends text to what happened.
    #[must_use]
    pub fn with_words(mut self, words: impl Into<Message>) -> Error {
        self.0.message.push(words);
        self
    }

    /// The assumption of the plan that does not hold, if that ended the run.
    pub fn refuted(&self) -> Option<Assumption> {
        self.0.refuted
    }

    /// Takes out which rows have the same key, if that is what happened.
    pub fn take_duplicate(&mut self) -> Option<Duplicate> {
        self.0.duplicate.take()
    }

    /// `true` if a table or index is damaged.
    pub fn is_damaged(&self) -> bool {
        self.0.damaged.is_some()
    }

    /// Takes out which table or index is damaged, if that is what happened.
    pub fn take_damaged(&mut self) -> Option<DamagedTree> {
        self.0.damaged.take()
    }

    /// All errors that this one summarizes; most errors summarize none.
    pub fn parts(&self) -> &[Error] {
        &self.0.parts
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What happened, without the place.
    pub fn what(&self) -> &Message {
        &self.0.message
    }

    /// [`Error::what`] in the terms of Rust.
    pub fn message(&self) -> String {
        self.0.message.to_string()
    }

    /// Place and message in the terms of Rust, without the hint that `Display` adds.
    pub fn without_hint(&self) -> String {
        match &self.0.place {
            Some(place) => format!("{place}: {}", self.0.message),
            None => self.0.message.to_string(),
        }
    }

    /// The file or folder that it is about: what could not be read or written, or else the file of the place.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref().or_else(|| self.place().map(|place| place.file.as_path()))
    }

    /// Where in the input.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The record that is at fault, where it is known: its table, and its number among the records of the table's source, bad
    /// ones included, counted from 1. Of two with the same key it is the later one.
    pub fn record(&self) -> Option<(&str, u64)> {
        self.0.record.as_ref().map(|(table, number)| (table.as_str(), *number))
    }

    /// What the user can do about it.
    pub fn remedy(&self) -> Option<&Message> {
        self.0.hint.as_ref()
    }

    /// The cargo feature that the request needs, if this build lacks it.
    pub fn missing_feature(&self) -> Option<&'static str> {
        self.0.feature
    }

    /// [`Error::remedy`] in the terms of Rust.
    pub fn hint_text(&self) -> Option<String> {
        self.0.hint.as_ref().map(ToString::to_string)
    }
}

/// In the terms of Rust: place, message and hint.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_hint())?;
        match &self.0.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

/// Lets a reader fail with this error; [`Error::from_read`] takes it out again.
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
