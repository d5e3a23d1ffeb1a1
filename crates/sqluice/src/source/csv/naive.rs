//! The slow, obvious parser: one character at a time, one state.
//!
//! ```text
//!            +--- , ----------------------------------------------+
//!            v                                                    |
//!  Start ──────── other ──> Unquoted ── , ──────────────────────> +
//!    |                          └────── LF CR ─> end of record    |
//!    └── " ──> Quoted ── " ──> QuoteInQuoted ── , ──────────────> +
//!                ^                  | |└─────── LF CR ─> end of record
//!                └─────── " ────────+ └──────── other ─> malformed
//! ```
//!
//! It has two jobs. It is the oracle: rows and errors of the fast parser equal its own, for any input. And it finds
//! the words and the place for whatever the fast parser stumbles over, which keeps both of that out of the fast one.

use super::malformed::{Malformed, Position, What};

/// How long things may be, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A value, unescaped.
    pub(super) field_bytes_max: usize,
    /// A record, as it stands in the input, without its line end.
    pub(super) record_bytes_max: usize,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// `None`: empty and not quoted.
    pub(super) value: Option<Vec<u8>>,
    /// Its first character or opening quote.
    pub(super) at: Position,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Unquoted,
    Quoted,
    QuoteInQuoted,
}

/// Reads records one after the other.
pub(super) struct Parser<'a> {
    input: &'a [u8],
    /// How much of `input` is read.
    read: usize,
    at: Position,
    limits: Limits,
}

impl<'a> Parser<'a> {
    /// `input` begins at `at`, with a record (or an empty line).
    pub(super) fn new(input: &'a [u8], at: Position, limits: Limits) -> Parser<'a> {
        Parser { input, read: 0, at, limits }
    }

    /// The next record, which must have `header` fields if that is given. `None` after the last.
    pub(super) fn record(&mut self, header: Option<usize>) -> Option<Result<Vec<Field>, Malformed>> {
        while let Some(b'\n' | b'\r') = self.peek() {
            self.advance(1);
        }
        self.peek()?;
        Some(self.fields(header))
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.read).copied()
    }

    /// Steps over a character of so many bytes.
    fn advance(&mut self, bytes: usize) {
        let ends_line = match self.input[self.read] {
            b'\n' => true,
            b'\r' => self.input.get(self.read + 1) != Some(&b'\n'),
            _ => false,
        };
        self.read += bytes;
        self.at.byte += bytes as u64;
        self.at.column += 1;
        if ends_line {
            self.at.line += 1;
            self.at.column = 1;
        }
    }

    /// The character at the present place, if it is one.
    fn character(&self) -> Result<char, What> {
        let rest = &self.input[self.read..];
        let rest = &rest[..rest.len().min(4)];
        let valid = match str::from_utf8(rest) {
            Ok(valid) => valid,
            Err(e) => str::from_utf8(&rest[..e.valid_up_to()]).unwrap_or_default(),
        };
        match valid.chars().next() {
            Some('\0') => Err(What::Nul),
            Some(character) => Ok(character),
            None => Err(What::InvalidUtf8(rest[0])),
        }
    }

    fn fields(&mut self, header: Option<usize>) -> Result<Vec<Field>, Malformed> {
        let (record_at, record_read) = (self.at, self.read);
        let mut fields = Vec::new();
        let mut state = State::Start;
        let mut field_at = self.at;
        let mut value = Vec::new();
        loop {
            let quoted = matches!(state, State::Quoted | State::QuoteInQuoted);
            let end_of_record = match self.peek() {
                None if state == State::Quoted => {
                    return Err(Malformed { at: field_at, what: What::Unterminated });
                }
                None => true,
                Some(byte) => state != State::Quoted && matches!(byte, b'\n' | b'\r'),
            };
            if end_of_record {
                let value = (quoted || !value.is_empty()).then_some(value);
                fields.push(Field { value, at: field_at });
                break;
            }

            let bytes_max = self.limits.record_bytes_max;
            let too_long = Malformed { at: record_at, what: What::RecordTooLong { bytes_max } };
            if self.read - record_read >= bytes_max {
                return Err(too_long);
            }
            let character = self.character().map_err(|what| Malformed { at: self.at, what })?;
            if self.read + character.len_utf8() - record_read > bytes_max {
                return Err(too_long);
            }
            let mut keep = false;
            match (state, character) {
                (State::Quoted, '"') => state = State::QuoteInQuoted,
                (State::Quoted, _) => keep = true,
                (_, ',') => {
                    let value = std::mem::take(&mut value);
                    let value = (quoted || !value.is_empty()).then_some(value);
                    fields.push(Field { value, at: field_at });
                    state = State::Start;
                }
                (State::Start, '"') => state = State::Quoted,
                (State::Start | State::Unquoted, _) => {
                    state = State::Unquoted;
                    keep = true;
                }
                (State::QuoteInQuoted, '"') => {
                    state = State::Quoted;
                    keep = true;
                }
                (State::QuoteInQuoted, other) => {
                    return Err(Malformed { at: self.at, what: What::AfterQuote(other) });
                }
            }
            if keep {
                value.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                if value.len() > self.limits.field_bytes_max {
                    let bytes_max = self.limits.field_bytes_max;
                    return Err(Malformed { at: field_at, what: What::FieldTooLong { bytes_max } });
                }
            }
            self.advance(character.len_utf8());
            if state == State::Start {
                field_at = self.at;
                if let Some(header) = header.filter(|&header| fields.len() >= header) {
                    return Err(Malformed { at: field_at, what: What::TooManyFields { header } });
                }
            }
        }
        match header {
            Some(header) if fields.len() < header => {
                Err(Malformed { at: self.at, what: What::TooFewFields { fields: fields.len(), header } })
            }
            _ => Ok(fields),
        }
    }
}
