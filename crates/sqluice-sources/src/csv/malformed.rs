//! What can be wrong with a record of a CSV file, and where.

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
    /// A quoted field whose lines could be rows, with their number; at the opening quote. It is a fault only where the user says so.
    CouldBeRows { lines: u64 },
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
}
