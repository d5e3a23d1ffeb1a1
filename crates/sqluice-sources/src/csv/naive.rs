//! The slow, obvious parser: one character at a time, one state.
//!
//! ```text
//!            +--- , ----------------------------------------------+
//!            v                                                    |
//!  Start ──────── other ──> Unquoted ── , ──────────────────────> +
//!    |                       ^  └────── LF CR ─> end of record    |
//!    |                       └───────────────────── other ──┐     |
//!    └── " ──> Quoted ── " ──> QuoteInQuoted ── , ───────── | ──> +
//!               ^ ^ |               | └─────── LF CR ─> end of record
//!               | | └ \ ─> Escaped  |
//!               | └── any ──┘       |
//!               └──────── " ────────┘
//! ```
//!
//! A quote after blanks at the start of a field opens it, too, if it closes in its line, before a delimiter or the line end.
//!
//! Where the escape works outside of quotes, it leads from Start and Unquoted to Unquoted, past the character behind it.
//!
//! The grammar is total: of any bytes it says where a record ends, so that reading can go on after whatever is wrong:
//!
//! * With text after a closing quote, a record ends with the line of that text, whatever other quotes the line has.
//! * With a quote that never closes, a record ends with the line of that quote: no later line is lost because of it.
//! * A record that repeats the header is skipped where that is asked for.
//! * With anything else, it goes on by the rules above to the first line end outside quotes.
//! * A record that is longer than allowed can't be gone past: its end is not looked for.
//!
//! It has two jobs. It is the oracle: rows and errors of the fast parser equal its own, for any input. And it finds
//! the words and the place for whatever the fast parser stumbles over, which keeps both of that out of the fast one.

use std::ops::Range;

use sqluice_format::limits::COLUMNS_MAX;

use super::delimiter::is_blank;
use super::dialect::{Dialect, meaning};
use super::malformed::{Malformed, What};
use super::repeats::Repeats;
use crate::text::Position;

/// How long things may be, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A value, unescaped.
    pub(super) field_bytes_max: usize,
    /// A record, as it stands in the input, without its line end.
    pub(super) record_bytes_max: usize,
}

/// How many fields a record should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// As many as a table has columns, at most.
    First,
    /// As many as the first record.
    Same(usize),
    /// At most as many as the first record: those that are missing at the end are NULL.
    AtMost(usize),
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) value: Vec<u8>,
    pub(super) quoted: bool,
    /// It is not quoted, and an escape changed its value.
    pub(super) escaped: bool,
    /// Its first character or opening quote.
    pub(super) at: Position,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its first character.
    pub(super) at: Position,
    /// Which bytes of the parser's input it is, without the line end.
    pub(super) bytes: Range<usize>,
    /// Its fields, or the first thing that is wrong with it.
    pub(super) fields: Result<Vec<Field>, Malformed>,
    /// One of its quotes never closes.
    pub(super) unclosed: bool,
}

impl Record {
    /// Whether nothing after it can be read.
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
    /// Behind an escape outside of quotes.
    EscapedUnquoted,
    QuoteInQuoted,
    /// Behind text after a closing quote: only the end of the line counts.
    Broken,
}

/// Reads records one after the other.
pub(super) struct Parser<'a> {
    input: &'a [u8],
    /// How much of `input` is read.
    read: usize,
    at: Position,
    dialect: Dialect,
    limits: Limits,
    strict_quotes: bool,
    /// A delimiter behind the last field of a record separates nothing.
    trailing_delimiter: bool,
    /// Which records repeat the header and are none.
    repeats: Option<&'a Repeats>,
    /// An empty line is a record of one empty field.
    blank_rows: bool,
    /// A record or a comment ends here, and its line end is not read yet.
    in_line: bool,
}

impl<'a> Parser<'a> {
    /// `input` begins at `at`, with a record (or a comment, or an empty line).
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

    /// A quote within an unquoted field is malformed, if so asked.
    pub(super) fn with_strict_quotes(mut self, strict_quotes: bool) -> Parser<'a> {
        self.strict_quotes = strict_quotes;
        self
    }

    /// A delimiter behind the last field of a record separates nothing, if so asked.
    pub(super) fn with_trailing_delimiter(mut self, trailing_delimiter: bool) -> Parser<'a> {
        self.trailing_delimiter = trailing_delimiter;
        self
    }

    /// Some records that repeat the header are none.
    pub(super) fn with_repeats(mut self, repeats: &'a Repeats) -> Parser<'a> {
        self.repeats = Some(repeats);
        self
    }

    /// Reads empty lines as records of one empty field, if so asked.
    pub(super) fn with_blank_rows(mut self, blank_rows: bool) -> Parser<'a> {
        self.blank_rows = blank_rows;
        self
    }

    /// The next record; `None` after the last.
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
                None | Some(b'\n' | b'\r') if self.read > start => {
                    if let Some(too_long) = self.too_long(at, start) {
                        return Some(too_long);
                    }
                }
                None => return None,
                Some(b'\n' | b'\r') if self.blank_rows && !self.in_line => {
                    self.in_line = true;
                    let field = Field { value: Vec::new(), quoted: false, escaped: false, at };
                    return Some(Record {
                        at,
                        bytes: start..start,
                        fields: Ok(vec![field]),
                        unclosed: false,
                    });
                }
                Some(byte @ (b'\n' | b'\r')) => {
                    self.advance(1);
                    if byte == b'\r' && self.peek() == Some(b'\n') {
                        self.advance(1);
                    }
                    self.in_line = false;
                }
                byte if byte == self.dialect.comment => {
                    while self.peek().is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
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

    /// What has been read from `start` on, if it is too long: the last record, then.
    fn too_long(&mut self, at: Position, start: usize) -> Option<Record> {
        let bytes_max = self.limits.record_bytes_max;
        if self.read - start <= bytes_max {
            return None;
        }
        self.read = self.input.len();
        let fields = Err(Malformed { at, what: What::RecordTooLong { bytes_max } });
        Some(Record { at, bytes: start..start + bytes_max, fields, unclosed: false })
    }

    /// The character at the present place, if it is one.
    fn character(&self) -> Result<char, What> {
        let rest = &self.input[self.read..];
        // What most text is: this parser also reads the samples of thousands of files.
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

/// A record on its way.
struct Reading<'p, 'a> {
    parser: &'p mut Parser<'a>,
    width: Width,
    state: State,
    fields: Vec<Field>,
    /// The present field.
    field: Field,
    /// Where the present field begins in the input.
    field_start: usize,
    /// No other field follows.
    ended: bool,
    /// The first fault.
    fault: Option<Malformed>,
    /// What was read when the present quoted field began.
    before_quote: BeforeQuote,
}

/// What is gone back to if a quote never closes.
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

    /// Reads to the end of the record, whose line begins at `start`; also says whether a quote never closes.
    fn fields(mut self, start: usize) -> (Result<Vec<Field>, Malformed>, bool) {
        while let Some(byte) = self.parser.peek() {
            let quoted = matches!(self.state, State::Quoted | State::Escaped | State::EscapedUnquoted);
            if self.is_too_long(start) || !quoted && matches!(byte, b'\n' | b'\r') {
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
            // It escapes nothing.
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
        while self.parser.peek().is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
            self.parser.advance(self.parser.character().map_or(1, char::len_utf8));
        }
    }

    /// Takes a character, which begins with `byte` and is `bytes` long.
    fn step(&mut self, byte: u8, bytes: usize, character: char) {
        let Dialect { delimiter, quote, escape, .. } = self.parser.dialect;
        let unquoted_escape = self.parser.dialect.unquoted_escape();
        let mut keep = false;
        let mut meant = None;
        match self.state {
            // The quote is tested first: as its own escape it means the same.
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
                // Blanks before the quote are no text, however many they are.
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

    /// Returns `true` if the quote that is next begins the field after blanks: it closes in its line, before a delimiter or the line end.
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

    /// Appends to the value of the present field.
    fn keep(&mut self, text: &[u8]) {
        self.field.value.extend_from_slice(text);
        let bytes_max = self.parser.limits.field_bytes_max;
        if self.field.value.len() > bytes_max {
            self.fault(self.field.at, What::FieldTooLong { bytes_max });
        }
    }

    /// Goes past a delimiter.
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
        self.ended = separates_nothing && matches!(self.parser.peek(), None | Some(b'\n' | b'\r'));
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
            // It stays what it is: only then it is NULL.
            (self.field.value, self.field.escaped) = (text.to_vec(), false);
        }
        let next = Field { value: Vec::new(), quoted: false, escaped: false, at: self.parser.at };
        self.fields.push(std::mem::replace(&mut self.field, next));
    }

    fn fault(&mut self, at: Position, what: What) {
        self.fault.get_or_insert(Malformed { at, what });
    }
}
