//! The faults that a record of a CSV file can have, and their positions.

use crate::text::Position;

/// The first fault of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: Position,
    pub(super) what: What,
}

/// The kind of a fault. The comment of each variant names the fault and, behind the semicolon, the position that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A byte that is not part of UTF-8 text; that byte.
    InvalidUtf8(u8),
    /// A NUL byte; that byte.
    Nul,
    /// Text after a closing quote, with its first character and position; the opening quote.
    AfterQuote { found: char, at: Position },
    /// A quote within an unquoted field, if quotes are strict; that quote.
    QuoteInUnquoted,
    /// A quoted field whose lines could be rows, with the number of lines; the opening quote. Such a field is a fault only if quotes are
    /// strict.
    CouldBeRows { lines: u64 },
    /// A quote that never closes; that quote.
    Unterminated,
    /// More fields than expected; the first surplus field.
    TooManyFields { expected: usize },
    /// Fewer fields than expected; the end of the record.
    TooFewFields { fields: usize, expected: usize },
    /// More fields than a table can have columns; the first surplus field.
    TooManyColumns,
    /// A value of more bytes than allowed; the field.
    FieldTooLong { bytes_max: usize },
    /// A record (or comment) of more bytes than allowed; its first character. Reading can't go on, as the end of the record is not
    /// looked for.
    RecordTooLong { bytes_max: usize },
}

impl Malformed {
    /// Returns `true` if nothing after the record can be read.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self.what, What::RecordTooLong { .. })
    }
}
