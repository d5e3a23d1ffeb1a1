//! A column to which values are appended one by one, and which becomes a column of a batch.
//!
//! ```text
//!  values            stored as
//!  1, 2, NULL, 3     Int [1, 2, 0, 3]      and a bit for each row, which is 0 for NULL: 1, 1, 0, 1
//!  1, 'a', NULL      Any [1, 'a', NULL]    as the values have two kinds
//!  'a', 'bc'         Text [0..1, 1..3]     ranges of a buffer with the bytes of all texts
//! ```

use std::io::{Read, Result, Write};

use crate::batch::{Bitmap, Bytes, Column, Span, Spans, Value, Values};

/// A column to which values are appended one by one; see the module's description.
#[derive(Debug, Default)]
pub struct Cells {
    rows: usize,
    values: CellValues,
    /// The bytes of text and blobs.
    data: Vec<u8>,
    /// The validity bitmap, one bit for each row; empty while nothing is NULL, and for values of several kinds.
    valid: Vec<u64>,
    seen: Seen,
}

#[derive(Debug, Default)]
enum CellValues {
    /// All NULL so far.
    #[default]
    Null,
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<Span>),
    Blob(Vec<Span>),
    Any(Vec<Cell>),
}

#[derive(Clone, Copy, Debug)]
enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(Span),
    Blob(Span),
}

/// The kinds of a column's values, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen(u8);

impl Seen {
    const INT: Seen = Seen(1);
    /// An integer that a float can't hold.
    const LARGE: Seen = Seen(2);
    const REAL: Seen = Seen(4);
    const TEXT: Seen = Seen(8);
    const BLOB: Seen = Seen(16);

    /// Returns the declared type of a column for values of these kinds. The type keeps all values as they are, except integers among
    /// floats, which become floats of the same value. If no type does this, the declared type is empty, and nothing is converted.
    pub fn declared_type(self) -> &'static str {
        let only = |kinds: u8| self.0 & !kinds == 0 && self.0 != 0;
        match () {
            () if only(Seen::INT.0 | Seen::LARGE.0) => "INTEGER",
            () if only(Seen::REAL.0 | Seen::INT.0) => "REAL",
            () if only(Seen::TEXT.0) => "TEXT",
            () if only(Seen::BLOB.0) => "BLOB",
            () => "",
        }
    }

    /// Returns the kind of integers that a float can hold exactly.
    pub fn of_ints() -> Seen {
        Seen::INT
    }

    /// Returns the kinds that a column with the declared type may have.
    pub fn of_declared(declared: &str) -> Seen {
        match declared {
            "INTEGER" => Seen::INT.and(Seen::LARGE),
            "REAL" => Seen::REAL,
            "NUMERIC" => Seen::INT.and(Seen::REAL),
            "TEXT" => Seen::TEXT,
            "BLOB" => Seen::BLOB,
            _ => Seen::default(),
        }
    }

    /// Returns the kinds that are in either set.
    pub fn and(self, other: Seen) -> Seen {
        Seen(self.0 | other.0)
    }
}

/// The largest integer up to which floats hold all integers.
pub const FLOAT_INT_MAX: u64 = 1 << 53;

impl Cells {
    /// Returns the approximate memory of the column, in bytes.
    pub fn bytes(&self) -> usize {
        let one = match self.values {
            CellValues::Null => 0,
            CellValues::Int(_) | CellValues::Real(_) | CellValues::Text(_) | CellValues::Blob(_) => 8,
            CellValues::Any(_) => 16,
        };
        self.rows * one + self.data.len()
    }

    /// Returns the number of values.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Removes the values, and keeps the memory of text and blobs.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.data.clear();
        self.valid.clear();
        self.seen = Seen::default();
        match &mut self.values {
            CellValues::Int(ints) => ints.clear(),
            CellValues::Real(reals) => reals.clear(),
            CellValues::Text(spans) | CellValues::Blob(spans) => spans.clear(),
            CellValues::Null | CellValues::Any(_) => self.values = CellValues::Null,
        }
    }

    /// Returns the number of bytes of text and blobs.
    pub fn data_bytes(&self) -> usize {
        self.data.len()
    }

    /// Returns the kinds of the values.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Returns the first row whose value would change the declared type of a column with the kinds `seen`; `None` if no value would.
    pub fn first_other(&self, seen: Seen) -> Option<usize> {
        let declared = seen.declared_type();
        (0..self.rows).find(|row| {
            let kind = match self.cell(*row) {
                Cell::Null => Seen::default(),
                Cell::Int(int) => seen_of(int),
                Cell::Real(_) => Seen::REAL,
                Cell::Text(_) => Seen::TEXT,
                Cell::Blob(_) => Seen::BLOB,
            };
            seen.and(kind).declared_type() != declared
        })
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        if self.valid.is_empty() && !matches!(self.values, CellValues::Any(_)) {
            self.valid = vec![u64::MAX; self.rows / 64 + 1];
        }
        match &mut self.values {
            CellValues::Null => {}
            CellValues::Int(ints) => ints.push(0),
            CellValues::Real(reals) => reals.push(0.0),
            CellValues::Text(spans) | CellValues::Blob(spans) => spans.push(Span::default()),
            CellValues::Any(cells) => cells.push(Cell::Null),
        }
        self.count(false);
    }

    /// Appends an integer.
    pub fn push_int(&mut self, int: i64) {
        self.seen = self.seen.and(seen_of(int));
        match &mut self.values {
            CellValues::Int(ints) => ints.push(int),
            CellValues::Null => self.values = CellValues::Int(with_last(self.rows, int)),
            _ => self.any().push(Cell::Int(int)),
        }
        self.count(true);
    }

    /// Appends a float, which must not be NaN.
    pub fn push_real(&mut self, real: f64) {
        self.seen = self.seen.and(Seen::REAL);
        match &mut self.values {
            CellValues::Real(reals) => reals.push(real),
            CellValues::Null => self.values = CellValues::Real(with_last(self.rows, real)),
            _ => self.any().push(Cell::Real(real)),
        }
        self.count(true);
    }

    /// Appends a text of less than 4 GiB, whose bytes are valid UTF-8 unless the caller stores them as they are.
    pub fn push_text(&mut self, text: impl AsRef<[u8]>) {
        self.seen = self.seen.and(Seen::TEXT);
        let span = self.keep(text.as_ref());
        match &mut self.values {
            CellValues::Text(spans) => spans.push(span),
            CellValues::Null => self.values = CellValues::Text(with_last(self.rows, span)),
            _ => self.any().push(Cell::Text(span)),
        }
        self.count(true);
    }

    /// Appends a blob of less than 4 GiB.
    pub fn push_blob(&mut self, blob: &[u8]) {
        self.seen = self.seen.and(Seen::BLOB);
        let span = self.keep(blob);
        match &mut self.values {
            CellValues::Blob(spans) => spans.push(span),
            CellValues::Null => self.values = CellValues::Blob(with_last(self.rows, span)),
            _ => self.any().push(Cell::Blob(span)),
        }
        self.count(true);
    }

    /// Appends NULLs until there are `rows` values.
    pub fn pad_with_nulls(&mut self, rows: usize) {
        while self.rows < rows {
            self.push_null();
        }
    }

    /// Appends a value of less than 4 GiB. A float must not be NaN.
    pub fn push_value(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.push_null(),
            Value::Int(int) => self.push_int(int),
            Value::Real(real) => self.push_real(real),
            Value::Text(text) => self.push_text(text),
            Value::Blob(blob) => self.push_blob(blob),
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        // Start and length fit 32 bits: a part ends long before 4 GiB, and a value of SQLite has at most 1 GB.
        let span = Span { start: self.data.len() as u32, len: bytes.len() as u32 };
        self.data.extend_from_slice(bytes);
        span
    }

    fn count(&mut self, is_valid: bool) {
        if !self.valid.is_empty() {
            mark(&mut self.valid, self.rows, is_valid);
        }
        self.rows += 1;
    }

    /// Turns the column into one with values of several kinds, and returns its cells.
    fn any(&mut self) -> &mut Vec<Cell> {
        if !matches!(self.values, CellValues::Any(_)) {
            let cells = (0..self.rows).map(|row| self.cell(row)).collect();
            self.values = CellValues::Any(cells);
            self.valid = Vec::new();
        }
        match &mut self.values {
            CellValues::Any(cells) => cells,
            _ => unreachable!("it was just made so"),
        }
    }

    fn cell(&self, row: usize) -> Cell {
        if self.valid.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 0) {
            return Cell::Null;
        }
        match &self.values {
            CellValues::Null => Cell::Null,
            CellValues::Int(ints) => Cell::Int(ints[row]),
            CellValues::Real(reals) => Cell::Real(reals[row]),
            CellValues::Text(spans) => Cell::Text(spans[row]),
            CellValues::Blob(spans) => Cell::Blob(spans[row]),
            CellValues::Any(cells) => cells[row],
        }
    }

    /// Returns `rows` values from row `from` on, if the column has values of several kinds; an empty vector if it has one kind.
    pub fn mixed(&self, from: usize, rows: usize) -> Vec<Value<'_>> {
        let CellValues::Any(cells) = &self.values else { return Vec::new() };
        let bytes = |span: Span| &self.data[span.start as usize..][..span.len as usize];
        let value = |cell: &Cell| match *cell {
            Cell::Null => Value::Null,
            Cell::Int(int) => Value::Int(int),
            Cell::Real(real) if real.is_nan() => Value::Null,
            Cell::Real(real) => Value::Real(real),
            Cell::Text(span) => Value::Text(bytes(span)),
            Cell::Blob(span) => Value::Blob(bytes(span)),
        };
        cells[from..from + rows].iter().map(value).collect()
    }

    /// Returns `rows` values from row `from` on as a column. `mixed` is the result of [`Cells::mixed`] for these rows; `from` is a multiple
    /// of 64.
    pub fn column<'a>(&'a self, from: usize, rows: usize, mixed: &'a [Value<'a>]) -> Column<'a> {
        let some = from..from + rows;
        let bytes = |spans| Bytes { data: &self.data, spans: Spans::Anywhere(spans) };
        let values = match &self.values {
            CellValues::Null => return Column::NULL,
            CellValues::Int(ints) => Values::Int(&ints[some]),
            CellValues::Real(reals) => Values::Real(&reals[some]),
            CellValues::Text(spans) => Values::Text(bytes(&spans[some])),
            CellValues::Blob(spans) => Values::Blob(bytes(&spans[some])),
            CellValues::Any(_) => Values::Any(mixed),
        };
        let words = from / 64..(from + rows).div_ceil(64);
        let validity = (!self.valid.is_empty()).then(|| Bitmap(&self.valid[words]));
        Column { values, validity }
    }
}

/// Appends the bit of `row` to a validity bitmap whose last word may be full.
pub fn mark(valid: &mut Vec<u64>, row: usize, is_valid: bool) {
    let word = row / 64;
    if word >= valid.len() {
        valid.resize(word + 1, u64::MAX);
    }
    if !is_valid {
        valid[word] &= !(1 << (row % 64));
    }
}

fn seen_of(int: i64) -> Seen {
    if int.unsigned_abs() > FLOAT_INT_MAX { Seen::INT.and(Seen::LARGE) } else { Seen::INT }
}

/// Returns `nulls` placeholders for NULLs, and then `value`.
fn with_last<T: Clone + Default>(nulls: usize, value: T) -> Vec<T> {
    let mut values = vec![T::default(); nulls];
    values.push(value);
    values
}

impl From<Vec<i64>> for Cells {
    fn from(ints: Vec<i64>) -> Cells {
        let seen = ints.iter().fold(Seen::default(), |seen, int| seen.and(seen_of(*int)));
        Cells { rows: ints.len(), values: CellValues::Int(ints), seen, ..Cells::default() }
    }
}

impl From<Vec<f64>> for Cells {
    fn from(reals: Vec<f64>) -> Cells {
        let seen = if reals.is_empty() { Seen::default() } else { Seen::REAL };
        Cells { rows: reals.len(), values: CellValues::Real(reals), seen, ..Cells::default() }
    }
}

/// A value that takes eight bytes in a temporary file.
trait Word: Copy {
    fn to_word(self) -> u64;
    fn of_word(word: u64) -> Self;
}

impl Word for u64 {
    fn to_word(self) -> u64 {
        self
    }

    fn of_word(word: u64) -> u64 {
        word
    }
}

impl Word for i64 {
    fn to_word(self) -> u64 {
        self as u64
    }

    fn of_word(word: u64) -> i64 {
        word as i64
    }
}

impl Word for f64 {
    fn to_word(self) -> u64 {
        self.to_bits()
    }

    fn of_word(word: u64) -> f64 {
        f64::from_bits(word)
    }
}

impl Word for Span {
    fn to_word(self) -> u64 {
        u64::from(self.start) << 32 | u64::from(self.len)
    }

    fn of_word(word: u64) -> Span {
        Span { start: (word >> 32) as u32, len: word as u32 }
    }
}

/// Writes a number as eight bytes, which [`read_word`] reads.
pub fn write_word(to: &mut dyn Write, word: u64) -> Result<()> {
    to.write_all(&word.to_le_bytes())
}

/// Reads a number that [`write_word`] has written.
pub fn read_word(from: &mut dyn Read) -> Result<u64> {
    let mut word = [0; 8];
    from.read_exact(&mut word)?;
    Ok(u64::from_le_bytes(word))
}

fn write_words<T: Word>(to: &mut dyn Write, words: &[T]) -> Result<()> {
    write_word(to, words.len() as u64)?;
    words.iter().try_for_each(|word| write_word(to, word.to_word()))
}

fn read_words<T: Word>(from: &mut dyn Read) -> Result<Vec<T>> {
    let words = read_word(from)?;
    (0..words).map(|_| read_word(from).map(T::of_word)).collect()
}

/// Writes columns to a temporary file, and reads them back.
impl Cells {
    /// Writes the column for [`Cells::read`].
    pub fn write(&self, to: &mut dyn Write) -> Result<()> {
        let kind = match &self.values {
            CellValues::Null => 0,
            CellValues::Int(_) => 1,
            CellValues::Real(_) => 2,
            CellValues::Text(_) => 3,
            CellValues::Blob(_) => 4,
            CellValues::Any(_) => 5,
        };
        write_word(to, self.rows as u64)?;
        to.write_all(&[kind, self.seen.0])?;
        write_words(to, &self.valid)?;
        write_word(to, self.data.len() as u64)?;
        to.write_all(&self.data)?;
        match &self.values {
            CellValues::Null => Ok(()),
            CellValues::Int(ints) => write_words(to, ints),
            CellValues::Real(reals) => write_words(to, reals),
            CellValues::Text(spans) | CellValues::Blob(spans) => write_words(to, spans),
            CellValues::Any(cells) => cells.iter().try_for_each(|cell| {
                let (kind, word) = match *cell {
                    Cell::Null => (0, 0),
                    Cell::Int(int) => (1, int.to_word()),
                    Cell::Real(real) => (2, real.to_word()),
                    Cell::Text(span) => (3, span.to_word()),
                    Cell::Blob(span) => (4, span.to_word()),
                };
                to.write_all(&[kind])?;
                write_word(to, word)
            }),
        }
    }

    /// Reads a column that [`Cells::write`] has written.
    pub fn read(from: &mut dyn Read) -> Result<Cells> {
        let rows = read_word(from)? as usize;
        let mut head = [0; 2];
        from.read_exact(&mut head)?;
        let [kind, seen] = head;
        let valid = read_words(from)?;
        let mut data = vec![0; read_word(from)? as usize];
        from.read_exact(&mut data)?;
        let values = match kind {
            0 => CellValues::Null,
            1 => CellValues::Int(read_words(from)?),
            2 => CellValues::Real(read_words(from)?),
            3 => CellValues::Text(read_words(from)?),
            4 => CellValues::Blob(read_words(from)?),
            _ => {
                let cells = (0..rows).map(|_| {
                    let mut kind = [0];
                    from.read_exact(&mut kind)?;
                    let word = read_word(from)?;
                    Ok(match kind {
                        [1] => Cell::Int(Word::of_word(word)),
                        [2] => Cell::Real(Word::of_word(word)),
                        [3] => Cell::Text(Word::of_word(word)),
                        [4] => Cell::Blob(Word::of_word(word)),
                        _ => Cell::Null,
                    })
                });
                CellValues::Any(cells.collect::<Result<_>>()?)
            }
        };
        Ok(Cells { rows, values, data, valid, seen: Seen(seen) })
    }
}
