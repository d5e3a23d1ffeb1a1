//! Collects decoded literals column by column, for a batch.
//!
//! ```text
//!  1, 2.5, '3', NULL     in a numeric column: spans of text, which the encoder converts as it converts fields of CSV
//!  'x', NULL, 'y'        spans of text
//!  X'00', NULL           spans of blobs
//!  1, 'x', X'00'         in any other column: one value for each row
//! ```
//!
//! A number in a column of numeric affinity stays text as in the dump: SQLite stores the same value for the number and for its text.

use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::{Bitmap, Bytes, Column, Span, Spans, Value, Values};
use sqluice_core::source::cells::mark;

use super::literal::Literal;

/// The decoded values of one column, for a batch.
#[derive(Debug)]
pub(super) struct LiteralColumn {
    /// `true` if a number is kept as text. In a column of numeric affinity, SQLite stores the same value for both. In a TEXT column, all
    /// digits of the dump are stored.
    numeric: bool,
    /// `true` if the column is an alias of the rowid, whose integers the encoder takes as integers.
    rowid: bool,
    kind: Kind,
    rows: usize,
    spans: Vec<Span>,
    ints: Vec<i64>,
    /// A bit for each value that is not NULL; empty while no value is NULL.
    valid: Vec<u64>,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Text,
    Blob,
    Int,
    Any,
}

#[derive(Clone, Copy, Debug)]
enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(Span),
    Blob(Span),
}

impl LiteralColumn {
    /// Creates a column. With `keeps_digits`, a number in a column with TEXT affinity is stored with all digits of the dump: other databases
    /// have numbers with more digits than SQLite.
    pub(super) fn new(affinity: Affinity, rowid: bool, keeps_digits: bool) -> LiteralColumn {
        let as_text = affinity.is_numeric() || keeps_digits && affinity == Affinity::Text;
        LiteralColumn {
            numeric: as_text && !rowid,
            rowid,
            kind: Kind::Null,
            rows: 0,
            spans: Vec::new(),
            ints: Vec::new(),
            valid: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Removes the values.
    pub(super) fn clear(&mut self) {
        (self.kind, self.rows) = (Kind::Null, 0);
        self.spans.clear();
        self.ints.clear();
        self.valid.clear();
        self.cells.clear();
    }

    /// Appends a value. `text` contains its bytes.
    #[inline]
    pub(super) fn push(&mut self, literal: Literal, text: &[u8]) {
        let span = |start: usize, end: usize| Span { start: start as u32, len: (end - start) as u32 };
        match literal {
            Literal::Number { start, end } if self.numeric => self.push_span(Kind::Text, span(start, end)),
            Literal::Text { start, end } => self.push_span(Kind::Text, span(start, end)),
            Literal::Blob { start, end } => self.push_span(Kind::Blob, span(start, end)),
            Literal::Null | Literal::Default => self.push_null(),
            Literal::Number { start, end } => match number(&text[start..end]) {
                Ok(int) => self.push_int(int),
                Err(real) => self.push_cell(Cell::Real(real)),
            },
            Literal::Int(int) => self.push_int(int),
            Literal::Real(real) => self.push_cell(Cell::Real(real)),
        }
    }

    fn push_null(&mut self) {
        match self.kind {
            Kind::Null => {}
            Kind::Text | Kind::Blob => self.spans.push(Span::default()),
            Kind::Int => self.ints.push(0),
            Kind::Any => self.cells.push(Cell::Null),
        }
        if self.valid.is_empty() {
            self.valid.resize(self.rows / 64 + 1, u64::MAX);
        }
        self.count(false);
    }

    fn push_span(&mut self, kind: Kind, span: Span) {
        if self.kind == Kind::Null {
            self.kind = kind;
            self.spans.resize(self.rows, Span::default());
        }
        if self.kind != kind {
            return self.push_cell(if kind == Kind::Text { Cell::Text(span) } else { Cell::Blob(span) });
        }
        self.spans.push(span);
        self.count(true);
    }

    fn push_int(&mut self, int: i64) {
        if self.kind == Kind::Null && self.rowid {
            self.kind = Kind::Int;
            self.ints.resize(self.rows, 0);
        }
        if self.kind != Kind::Int {
            return self.push_cell(Cell::Int(int));
        }
        self.ints.push(int);
        self.count(true);
    }

    /// Appends a value of another class than the values before, and stores all values of the column one by one from now on.
    fn push_cell(&mut self, cell: Cell) {
        if self.kind != Kind::Any {
            let cells = (0..self.rows).map(|row| match self.kind {
                _ if self.valid.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 0) => Cell::Null,
                Kind::Text => Cell::Text(self.spans[row]),
                Kind::Blob => Cell::Blob(self.spans[row]),
                Kind::Int => Cell::Int(self.ints[row]),
                Kind::Null | Kind::Any => Cell::Null,
            });
            self.cells = cells.collect();
            self.kind = Kind::Any;
        }
        self.cells.push(cell);
        self.count(true);
    }

    fn count(&mut self, is_valid: bool) {
        if !self.valid.is_empty() {
            mark(&mut self.valid, self.rows, is_valid);
        }
        self.rows += 1;
    }

    /// Returns the values if they are stored one by one, or else no values. `text` contains their bytes.
    pub(super) fn mixed<'a>(&self, text: &'a [u8]) -> Vec<Value<'a>> {
        let value = |cell: &Cell| match *cell {
            Cell::Null => Value::Null,
            Cell::Int(int) => Value::Int(int),
            Cell::Real(real) => Value::Real(real),
            Cell::Text(span) => Value::Text(&text[span.range()]),
            Cell::Blob(span) => Value::Blob(&text[span.range()]),
        };
        self.cells.iter().map(value).collect()
    }

    /// Returns the column for a batch. `mixed` is the result of [`LiteralColumn::mixed`].
    pub(super) fn column<'a>(&'a self, text: &'a [u8], mixed: &'a [Value<'a>]) -> Column<'a> {
        let bytes = || Bytes { data: text, spans: Spans::Anywhere(&self.spans) };
        let values = match self.kind {
            Kind::Null => return Column::NULL,
            Kind::Any => return Column::new(Values::Any(mixed)),
            Kind::Text => Values::Text(bytes()),
            Kind::Blob => Values::Blob(bytes()),
            Kind::Int => Values::Int(&self.ints),
        };
        Column { values, validity: (!self.valid.is_empty()).then(|| Bitmap(&self.valid)) }
    }
}

/// Returns the value of a number: an integer, or a float if it has a point, an exponent or more than 64 bits.
fn number(text: &[u8]) -> Result<i64, f64> {
    if let Some(int) = str::from_utf8(text).ok().and_then(|text| text.parse().ok()) {
        return Ok(int);
    }
    match text_to_number(text, Affinity::Real) {
        Value::Int(0) if text[0] == b'-' => Err(-0.0),
        // The parser returns an integer for a float that is whole.
        Value::Int(int) => Err(int as f64),
        Value::Real(real) => Err(real),
        Value::Null | Value::Text(_) | Value::Blob(_) => Err(0.0),
    }
}
