//! Batches: a few thousand rows, column by column, borrowed from their producer.
//!
//! The one thing that passes from a source to the encoder. A column is a slice of numbers or a way to find byte strings
//! in a buffer: a parser's, an Arrow array's, a generator's. Nothing is copied to make one.

use std::ops::Range;

pub use sqluice_format::value::Value;

/// Rows that a batch should have at most: what they need in scratch space stays in the second-level cache.
pub const ROWS_MAX: usize = 1024;

/// Some rows.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// The number of rows.
    pub rows: usize,
    /// One for each column of the table, in its order.
    pub columns: Vec<Column<'a>>,
}

/// One column's values.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The values; where `validity` says NULL, anything.
    pub values: Values<'a>,
    /// Which values are not NULL; `None`: all of them.
    pub validity: Option<Bitmap<'a>>,
}

/// Values of one class, or of any.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// All NULL.
    Null,
    /// Integers.
    Int(&'a [i64]),
    /// Floats; a NaN is NULL.
    Real(&'a [f64]),
    /// Text. The producer of the column guarantees valid UTF-8.
    Text(Bytes<'a>),
    /// Blobs.
    Blob(Bytes<'a>),
    /// Mixed.
    Any(&'a [Value<'a>]),
}

/// A column of byte strings.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    /// Where the strings lie.
    pub data: &'a [u8],
    /// The part of `data` that each value takes.
    pub spans: Spans<'a>,
}

/// How byte strings are found in their buffer.
#[derive(Clone, Copy, Debug)]
pub enum Spans<'a> {
    /// One after another, each of this many bytes.
    Fixed(usize),
    /// String `i` is from `offsets[i]` to `offsets[i + 1]`, in bytes.
    Offsets(&'a [u32]),
    /// Anywhere.
    Anywhere(&'a [Span]),
}

/// Part of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Where it begins, in bytes.
    pub start: u32,
    /// How long it is, in bytes.
    pub len: u32,
}

impl Span {
    /// From its first byte to the one after its last.
    #[inline]
    pub fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }
}

/// One bit a row, from the lowest bit of the first word on; set: the value is not NULL.
#[derive(Clone, Copy, Debug)]
pub struct Bitmap<'a>(pub &'a [u64]);

impl Bitmap<'_> {
    /// Bit `row`.
    #[inline]
    pub fn get(self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }
}

impl<'a> Bytes<'a> {
    /// String `row`.
    #[inline]
    pub fn get(self, row: usize) -> &'a [u8] {
        &self.data[self.range(row)]
    }

    /// Where string `row` lies in `data`.
    #[inline]
    pub fn range(self, row: usize) -> Range<usize> {
        match self.spans {
            Spans::Fixed(len) => row * len..(row + 1) * len,
            Spans::Offsets(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Spans::Anywhere(spans) => spans[row].range(),
        }
    }
}

impl<'a> Column<'a> {
    /// A column without NULLs.
    pub const fn new(values: Values<'a>) -> Column<'a> {
        Column { values, validity: None }
    }

    /// All NULL.
    pub const NULL: Column<'static> = Column::new(Values::Null);

    /// The value of `row`. The slow way: encoders go column by column.
    #[inline]
    pub fn get(&self, row: usize) -> Value<'a> {
        if self.validity.is_some_and(|validity| !validity.get(row)) {
            return Value::Null;
        }
        match self.values {
            Values::Null => Value::Null,
            Values::Int(ints) => Value::Int(ints[row]),
            Values::Real(reals) if reals[row].is_nan() => Value::Null,
            Values::Real(reals) => Value::Real(reals[row]),
            Values::Text(text) => Value::Text(text.get(row)),
            Values::Blob(blobs) => Value::Blob(blobs.get(row)),
            Values::Any(values) => match values[row] {
                Value::Real(real) if real.is_nan() => Value::Null,
                value => value,
            },
        }
    }
}

/// A value for a message, cut short.
pub fn describe(value: &Value<'_>) -> String {
    const CHARACTERS_MAX: usize = 60;
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(int) => int.to_string(),
        Value::Real(real) => format!("{real:?}"),
        Value::Text(text) => {
            let text = String::from_utf8_lossy(text);
            let cut = text.chars().nth(CHARACTERS_MAX).is_some();
            let shown: String = text.chars().take(CHARACTERS_MAX).collect();
            format!("'{}'{}", shown.escape_debug(), if cut { "..." } else { "" })
        }
        Value::Blob(blob) => format!("a blob of {} bytes", blob.len()),
    }
}
