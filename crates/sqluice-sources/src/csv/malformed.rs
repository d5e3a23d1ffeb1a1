//! The faults that a record of a CSV file can have, and their positions.

use crate::text::Position;

/// The first fault of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: Position,
    pub(super) what: What,
}

/// The kind of a fault. The comment of each variant also says which position is reported as [`Malformed::at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A byte is not part of UTF-8 text. The position is that of the byte.
    InvalidUtf8(u8),
    /// A field has a NUL byte. The position is that of the byte.
    Nul,
    /// Text follows a closing quote. `found` is its first character, and `at` is where it stands. The position of the fault is that of
    /// the opening quote.
    AfterQuote { found: char, at: Position },
    /// An unquoted field has a quote, and quotes are strict. The position is that of the quote.
    QuoteInUnquoted,
    /// The `lines` lines of a quoted field could be rows, which is a fault only if quotes are strict. The position is that of the opening
    /// quote.
    CouldBeRows { lines: u64 },
    /// A quote is never closed. The position is that of the quote.
    Unterminated,
    /// The record has more fields than expected. The position is that of the first surplus field.
    TooManyFields { expected: usize },
    /// The record has fewer fields than expected. The position is the end of the record.
    TooFewFields { fields: usize, expected: usize },
    /// The record has more fields than a table can have columns. The position is that of the first surplus field.
    TooManyColumns,
    /// A value has more bytes than allowed. The position is that of the field.
    FieldTooLong { bytes_max: usize },
    /// A record (or comment) has more bytes than allowed. The position is that of its first character. Reading can't go on, as the end of
    /// the record is not looked for.
    RecordTooLong { bytes_max: usize },
}

impl Malformed {
    /// Returns `true` if nothing after the record can be read.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self.what, What::RecordTooLong { .. })
    }
}
