//! The slow, obvious parser: one character at a time, one state. The table has the next state for each state (a row) and each character (a
//! column), with `,` as the delimiter, `"` as the quote and `\` as the escape within quotes:
//!
//! ```text
//!                   ,         "                \           LF, CR           other
//!  Start            Start     Quoted           Unquoted    end of record    Unquoted
//!  Unquoted         Start     Unquoted         Unquoted    end of record    Unquoted
//!  Quoted           Quoted    QuoteInQuoted    Escaped     Quoted           Quoted
//!  Escaped          Quoted    Quoted           Quoted      Quoted           Quoted
//!  QuoteInQuoted    Start     Quoted           Broken      end of record    Broken
//!  Broken           Broken    Broken           Broken      end of record    Broken
//! ```
//!
//! A quote after blanks at the start of a field also opens the field, if the field closes in the same line, before a delimiter or the
//! line end.
//!
//! An escape that works outside of quotes leads from Start and Unquoted to Unquoted, past the next character.
//!
//! The grammar is total: it defines the end of a record for any bytes, so that reading can go on after a fault:
//!
//! * A record with text after a closing quote ends with the line of that text, whatever other quotes the line has.
//! * A record with a quote that never closes ends with the line of that quote, so that no later line is lost.
//! * A record that repeats the header is skipped on request.
//! * Any other record ends, by the table above, with the first line end outside of quotes.
//! * A record that is longer than allowed ends the reading: its end is not looked for.
//!
//! The slow parser has two jobs. First, it is the oracle: the fast parser gives the same rows and errors for any input. Second, it finds
//! the kind and the position of each fault, so that the fast parser only has to notice a fault.

use std::ops::Range;

use sqluice_format::limits::COLUMNS_MAX;

use super::delimiter::is_blank;
use super::dialect::{Dialect, LineEnd, meaning};
use super::malformed::{Malformed, What};
use super::repeats::Repeats;
use crate::text::Position;

/// The size limits, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The longest value, unescaped.
    pub(super) field_bytes_max: usize,
    /// The longest record, as it stands in the input, without its line end.
    pub(super) record_bytes_max: usize,
}

/// The number of fields that a record should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// For the first record: at most as many as a table can have columns.
    First,
    /// As many as the first record.
    Same(usize),
    /// At most as many as the first record: fields that are missing at the end are NULL.
    AtMost(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) value: Vec<u8>,
    pub(super) quoted: bool,
    /// `true` if the field is unquoted and an escape changed its value.
    pub(super) escaped: bool,
    /// The position of the first character or of the opening quote.
    pub(super) at: Position,
}

/// A record, well formed or malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The position of the first character.
    pub(super) at: Position,
    /// The bytes of the record in the parser's input, without the line end.
    pub(super) bytes: Range<usize>,
    /// The fields, or the first fault of the record.
    pub(super) fields: Result<Vec<Field>, Malformed>,
    /// `true` if a quote of the record never closes.
    pub(super) unclosed: bool,
}

impl Record {
    /// Returns `true` if nothing after the record can be read.
    pub(super) fn is_fatal(&self) -> bool {
        self.fields.as_ref().is_err_and(Malformed::is_fatal)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Unquoted,
    Quoted,
    Escaped,
    /// The state behind an escape outside of quotes.
    EscapedUnquoted,
    QuoteInQuoted,
    /// The state behind text after a closing quote: only the line end counts.
    Broken,
}

/// A parser that reads one record after the other.
pub(super) struct Parser<'a> {
    input: &'a [u8],
    /// The number of bytes of `input` that are read.
    read: usize,
    at: Position,
    dialect: Dialect,
    limits: Limits,
    strict_quotes: bool,
    /// `true` if a delimiter behind the last field of a record separates nothing.
    trailing_delimiter: bool,
    /// The rules for records that repeat the header.
    repeats: Option<&'a Repeats>,
    /// `true` if an empty line is a record of one empty field.
    blank_rows: bool,
    /// `true` if the line end of the last record or comment is not read yet.
    in_line: bool,
}

impl<'a> Parser<'a> {
    /// Sets the dialect of the records that follow.
    #[cfg(any(test, fuzzing))]
    pub(super) fn with_dialect(self, dialect: Dialect) -> Parser<'a> {
        Parser { dialect, ..self }
    }

    /// Returns a parser of `input`, which begins at `at` with a record, a comment or an empty line.
    pub(super) fn new(input: &'a [u8], at: Position, dialect: Dialect, limits: Limits) -> Parser<'a> {
        Parser {
            input,
            read: 0,
            at,
            dialect,
            limits,
            strict_quotes: false,
            trailing_delimiter: false,
            repeats: None,
            blank_rows: false,
            in_line: false,
        }
    }

    /// Makes a quote within an unquoted field malformed if `strict_quotes` is `true`.
    pub(super) fn with_strict_quotes(mut self, strict_quotes: bool) -> Parser<'a> {
        self.strict_quotes = strict_quotes;
        self
    }

    /// Ignores a delimiter behind the last field of a record if `trailing_delimiter` is `true`.
    pub(super) fn with_trailing_delimiter(mut self, trailing_delimiter: bool) -> Parser<'a> {
        self.trailing_delimiter = trailing_delimiter;
        self
    }

    /// Skips the records that are no rows according to `repeats`.
    pub(super) fn with_repeats(mut self, repeats: &'a Repeats) -> Parser<'a> {
        self.repeats = Some(repeats);
        self
    }

    /// Sets whether empty lines are records of one empty field.
    pub(super) fn with_blank_rows(mut self, blank_rows: bool) -> Parser<'a> {
        self.blank_rows = blank_rows;
        self
    }

    /// Returns the next record; `None` after the last.
    pub(super) fn record(&mut self, width: Width) -> Option<Record> {
        loop {
            let record = self.any_record(width)?;
            let text = &self.input[record.bytes.clone()];
            let is_skipped = self.repeats.and_then(|repeats| repeats.skips(text, record.at.byte));
            if is_skipped != Some(true) || record.is_fatal() {
                return Some(record);
            }
        }
    }

    fn any_record(&mut self, width: Width) -> Option<Record> {
        let blanks = self.dialect.delimiter.is_whitespace();
        let (mut at, mut start);
        loop {
            (at, start) = (self.at, self.read);
            while blanks && self.peek().is_some_and(is_blank) {
                self.advance(1);
            }
            match self.peek() {
                _ if self.read > start && self.is_at_end() => {
                    if let Some(too_long) = self.too_long(at, start) {
                        return Some(too_long);
                    }
                }
                None => return None,
                Some(b'\n' | b'\r') if self.blank_rows && !self.in_line && self.is_at_end() => {
                    self.in_line = true;
                    let field = Field { value: Vec::new(), quoted: false, escaped: false, at };
                    return Some(Record {
                        at,
                        bytes: start..start,
                        fields: Ok(vec![field]),
                        unclosed: false,
                    });
                }
                Some(byte @ (b'\n' | b'\r')) if self.is_at_end() => {
                    self.advance(1);
                    if byte == b'\r' && self.peek() == Some(b'\n') {
                        self.advance(1);
                    }
                    self.in_line = false;
                }
                byte if byte == self.dialect.comment => {
                    while !self.is_at_end() {
                        self.advance(1);
                    }
                    if let Some(too_long) = self.too_long(at, start) {
                        return Some(too_long);
                    }
                    self.in_line = true;
                }
                _ => break,
            }
        }
        self.in_line = true;
        let (fields, unclosed) = Reading::new(self, width).fields(start);
        let record = Record { at, bytes: start..self.read, fields, unclosed };
        Some(self.too_long(at, start).unwrap_or(record))
    }

    /// Returns `true` if a record would end at the current position.
    fn is_at_end(&self) -> bool {
        let next = self.input.get(self.read + 1);
        let is_after_cr = self.read > 0 && self.input[self.read - 1] == b'\r';
        match (self.peek(), self.dialect.line_end) {
            (None, _) | (Some(b'\n' | b'\r'), LineEnd::Any) => true,
            (Some(b'\r'), LineEnd::Crlf) => next == Some(&b'\n'),
            (Some(b'\n'), LineEnd::Crlf) => is_after_cr,
            _ => false,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.read).copied()
    }

    /// Steps over a character of `bytes` bytes.
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

    /// Returns the text from `start` on as the last record, if that text is too long.
    fn too_long(&mut self, at: Position, start: usize) -> Option<Record> {
        let bytes_max = self.limits.record_bytes_max;
        if self.read - start <= bytes_max {
            return None;
        }
        self.read = self.input.len();
        let fields = Err(Malformed { at, what: What::RecordTooLong { bytes_max } });
        Some(Record { at, bytes: start..start + bytes_max, fields, unclosed: false })
    }

    /// Returns the character at the current position, or the fault of its bytes.
    fn character(&self) -> Result<char, What> {
        let rest = &self.input[self.read..];
        // Most text is ASCII, and speed counts: this parser also reads the samples of thousands of files.
        if let Some(&byte @ 1..=0x7f) = rest.first() {
            return Ok(char::from(byte));
        }
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
}

/// The state of a record that is being read.
struct Reading<'p, 'a> {
    parser: &'p mut Parser<'a>,
    width: Width,
    state: State,
    fields: Vec<Field>,
    /// The current field.
    field: Field,
    /// The start of the current field in the input.
    field_start: usize,
    /// `true` if no other field follows.
    ended: bool,
    /// The first fault.
    fault: Option<Malformed>,
    /// The state at the opening quote of the current field, to which the parser goes back if this quote never closes.
    before_quote: BeforeQuote,
}

/// The state to go back to if a quote never closes.
#[derive(Clone, Copy)]
struct BeforeQuote {
    read: usize,
    at: Position,
    fault: Option<Malformed>,
}

impl<'p, 'a> Reading<'p, 'a> {
    fn new(parser: &'p mut Parser<'a>, width: Width) -> Reading<'p, 'a> {
        let field = Field { value: Vec::new(), quoted: false, escaped: false, at: parser.at };
        let field_start = parser.read;
        let before_quote = BeforeQuote { read: parser.read, at: parser.at, fault: None };
        Reading {
            parser,
            width,
            state: State::Start,
            fields: Vec::new(),
            field,
            field_start,
            ended: false,
            fault: None,
            before_quote,
        }
    }

    /// Reads to the end of the record, whose line begins at `start`. Returns the fields or the first fault, and `true` if a quote never
    /// closes.
    fn fields(mut self, start: usize) -> (Result<Vec<Field>, Malformed>, bool) {
        while let Some(byte) = self.parser.peek() {
            let quoted = matches!(self.state, State::Quoted | State::Escaped | State::EscapedUnquoted);
            if self.is_too_long(start) || !quoted && self.parser.is_at_end() {
                break;
            }
            let character = self.parser.character();
            if let Err(what) = character {
                self.fault(self.parser.at, what);
            }
            let bytes = character.map_or(1, char::len_utf8);
            self.step(byte, bytes, character.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let unclosed = matches!(self.state, State::Quoted | State::Escaped) && !self.is_too_long(start);
        if unclosed {
            self.leave_unclosed();
        }
        if let (State::EscapedUnquoted, Some(escape), None) =
            (self.state, self.parser.dialect.unquoted_escape(), self.parser.peek())
        {
            // An escape at the end of the input is text.
            self.keep(&[escape]);
        }
        if !self.ended {
            self.end_field();
        }
        if let Width::Same(expected) = self.width
            && self.fields.len() < expected
        {
            self.fault(self.parser.at, What::TooFewFields { fields: self.fields.len(), expected });
        }
        (self.fault.map_or(Ok(self.fields), Err), unclosed)
    }

    fn is_too_long(&self, start: usize) -> bool {
        self.parser.read - start > self.parser.limits.record_bytes_max
    }

    /// Goes back to a quote that never closes, and ends the record with its line.
    fn leave_unclosed(&mut self) {
        let BeforeQuote { read, at, fault } = self.before_quote;
        (self.parser.read, self.parser.at, self.fault) = (read, at, fault);
        self.fault(at, What::Unterminated);
        while !self.parser.is_at_end() {
            self.parser.advance(self.parser.character().map_or(1, char::len_utf8));
        }
    }

    /// Processes a character, which begins with `byte` and has `bytes` bytes.
    fn step(&mut self, byte: u8, bytes: usize, character: char) {
        let Dialect { delimiter, quote, escape, .. } = self.parser.dialect;
        let unquoted_escape = self.parser.dialect.unquoted_escape();
        let mut keep = false;
        let mut meant = None;
        match self.state {
            // The quote is tested first, because an escape that equals the quote adds nothing.
            State::Quoted if Some(byte) == quote => self.state = State::QuoteInQuoted,
            State::Quoted if Some(byte) == escape => self.state = State::Escaped,
            State::Quoted => keep = true,
            State::Escaped => {
                self.state = State::Quoted;
                keep = true;
                meant = unquoted_escape.and_then(|_| meaning(byte));
            }
            State::EscapedUnquoted => {
                // A line end of two characters is escaped as one.
                let crlf = byte == b'\r' && self.parser.input.get(self.parser.read + 1) == Some(&b'\n');
                self.state = if crlf { State::EscapedUnquoted } else { State::Unquoted };
                self.field.escaped = true;
                keep = true;
                meant = meaning(byte);
            }
            State::QuoteInQuoted if Some(byte) == quote => {
                self.state = State::Quoted;
                keep = true;
            }
            State::Broken => {}
            State::Start | State::Unquoted if Some(byte) == unquoted_escape => {
                self.state = State::EscapedUnquoted;
            }
            _ if delimiter.bytes_at(&self.parser.input[self.parser.read..]) > 0 => {
                self.delimiter();
                return;
            }
            State::Start | State::Unquoted
                if Some(byte) == quote && (self.state == State::Start || self.opens_after_blanks()) =>
            {
                // Blanks before the quote are no text: a fault because of too many of them is taken back.
                let is_length = |fault: &mut Malformed| matches!(fault.what, What::FieldTooLong { .. });
                let _ = self.fault.take_if(|fault| fault.at == self.field.at && is_length(fault));
                self.state = State::Quoted;
                self.field = Field { value: Vec::new(), quoted: true, escaped: false, at: self.parser.at };
                self.before_quote =
                    BeforeQuote { read: self.parser.read, at: self.parser.at, fault: self.fault };
            }
            State::QuoteInQuoted => {
                let what = What::AfterQuote { found: character, at: self.parser.at };
                self.fault(self.field.at, what);
                self.state = State::Broken;
            }
            State::Start | State::Unquoted => {
                if self.parser.strict_quotes && Some(byte) == quote {
                    self.fault(self.parser.at, What::QuoteInUnquoted);
                }
                self.state = State::Unquoted;
                keep = true;
            }
        }
        if keep {
            let read = self.parser.read;
            match meant {
                Some(meant) => self.keep(&[meant]),
                None => {
                    let input = self.parser.input;
                    self.keep(&input[read..read + bytes]);
                }
            }
        }
        self.parser.advance(bytes);
    }

    /// Returns `true` if the next quote opens the field after blanks: only blanks precede the quote, and the field closes in the same line,
    /// before a delimiter or the line end.
    fn opens_after_blanks(&self) -> bool {
        let Dialect { delimiter, quote, .. } = self.parser.dialect;
        let escape = self.parser.dialect.own_escape();
        let (before, rest) =
            self.parser.input[self.field_start..].split_at(self.parser.read - self.field_start);
        if !before.iter().all(|&byte| is_blank(byte)) {
            return false;
        }
        let is_line_end = |at: usize| rest.get(at).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
        let mut at = 1;
        loop {
            if is_line_end(at) {
                return false;
            }
            let is_quote = |at: usize| rest.get(at).copied() == quote;
            at += match rest[at] {
                _ if is_quote(at) && is_quote(at + 1) => 2,
                _ if is_quote(at) => return is_line_end(at + 1) || delimiter.bytes_at(&rest[at + 1..]) > 0,
                byte if Some(byte) == escape && is_line_end(at + 1) => return false,
                byte if Some(byte) == escape => 2,
                _ => 1,
            };
        }
    }

    /// Appends `text` to the value of the current field.
    fn keep(&mut self, text: &[u8]) {
        self.field.value.extend_from_slice(text);
        let bytes_max = self.parser.limits.field_bytes_max;
        if self.field.value.len() > bytes_max {
            self.fault(self.field.at, What::FieldTooLong { bytes_max });
        }
    }

    /// Ends the field and goes past the delimiter.
    fn delimiter(&mut self) {
        let delimiter = self.parser.dialect.delimiter;
        self.end_field();
        let end = self.parser.read + delimiter.bytes_at(&self.parser.input[self.parser.read..]);
        while self.parser.read < end {
            self.parser.advance(self.parser.character().map_or(1, char::len_utf8));
        }
        let is_complete = match self.width {
            Width::Same(expected) | Width::AtMost(expected) => self.fields.len() == expected,
            Width::First => false,
        };
        // Blanks at the end of a line separate nothing.
        let separates_nothing = delimiter.is_whitespace() || self.parser.trailing_delimiter && is_complete;
        self.ended = separates_nothing && self.parser.is_at_end();
        match self.ended {
            true => self.state = State::Start,
            false => self.begin_field(),
        }
    }

    fn begin_field(&mut self) {
        self.state = State::Start;
        self.field.at = self.parser.at;
        self.field_start = self.parser.read;
        match self.width {
            Width::Same(expected) | Width::AtMost(expected) if self.fields.len() >= expected => {
                self.fault(self.parser.at, What::TooManyFields { expected });
            }
            Width::First if self.fields.len() >= COLUMNS_MAX => {
                self.fault(self.parser.at, What::TooManyColumns);
            }
            _ => {}
        }
    }

    fn end_field(&mut self) {
        let text = &self.parser.input[self.field_start..self.parser.read];
        if self.parser.dialect.null_mark().is_some_and(|mark| text == mark) {
            // The value stays as written, so that the field is recognised as NULL.
            (self.field.value, self.field.escaped) = (text.to_vec(), false);
        }
        let next = Field { value: Vec::new(), quoted: false, escaped: false, at: self.parser.at };
        self.fields.push(std::mem::replace(&mut self.field, next));
    }

    fn fault(&mut self, at: Position, what: What) {
        self.fault.get_or_insert(Malformed { at, what });
    }
}
