//! Batches: at most [`ROWS_MAX`] rows, column by column, borrowed from their producer.
//!
//! Batches pass from sources to the encoder. A column is a slice of numbers, or the positions of byte strings in a buffer of a parser, an
//! Arrow array or a generator. Nothing is copied to make a column.

use std::ops::Range;

pub use sqluice_format::value::Value;

/// The largest number of rows of a batch: its scratch space stays in the second-level cache.
pub const ROWS_MAX: usize = 1024;

/// Rows, stored column by column. A part of a source gives at most [`ROWS_MAX`] rows at a time.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// The number of rows.
    pub rows: usize,
    /// The columns, in the order of the table's columns.
    pub columns: Vec<Column<'a>>,
}

/// The values of one column.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The values. A value that is NULL by `validity` may be anything.
    pub values: Values<'a>,
    /// The bitmap of the values that are not NULL; `None`: no value is NULL.
    pub validity: Option<Bitmap<'a>>,
}

/// Values of one class, or of any class.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// NULLs only.
    Null,
    /// Integers.
    Int(&'a [i64]),
    /// Floats; a NaN is NULL.
    Real(&'a [f64]),
    /// Text. The producer of the column guarantees valid UTF-8, unless the sink has asked for the stored bytes
    /// ([`BadText::Keep`](crate::source::BadText::Keep)).
    Text(Bytes<'a>),
    /// Blobs.
    Blob(Bytes<'a>),
    /// Values of any class.
    Any(&'a [Value<'a>]),
}

/// A column of byte strings.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    /// The buffer of the strings.
    pub data: &'a [u8],
    /// The part of `data` that each value takes.
    pub spans: Spans<'a>,
}

/// The positions of byte strings in their buffer.
#[derive(Clone, Copy, Debug)]
pub enum Spans<'a> {
    /// Strings one after another, each of this number of bytes.
    Fixed(usize),
    /// String `i` is from `offsets[i]` to `offsets[i + 1]`, in bytes.
    Offsets(&'a [u32]),
    /// Strings at any positions.
    Anywhere(&'a [Span]),
}

/// A part of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// The number of bytes.
    pub len: u32,
}

impl Span {
    /// Returns the range of the span's bytes.
    #[inline]
    pub fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }
}

/// A bitmap with a bit for each row, from the lowest bit of the first word on. A bit is set if the value of its row is not NULL.
#[derive(Clone, Copy, Debug)]
pub struct Bitmap<'a>(pub &'a [u64]);

impl Bitmap<'_> {
    /// Returns bit `row`.
    #[inline]
    pub fn get(self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }

    /// Returns the number of set bits among the first `rows`.
    pub fn count(self, rows: usize) -> usize {
        let (whole, rest) = (rows / 64, rows % 64);
        let last = if rest == 0 { 0 } else { self.0[whole] & ((1 << rest) - 1) };
        self.0[..whole].iter().chain([&last]).map(|word| word.count_ones() as usize).sum()
    }
}

impl<'a> Bytes<'a> {
    /// Returns string `row`.
    #[inline]
    pub fn get(self, row: usize) -> &'a [u8] {
        &self.data[self.range(row)]
    }

    /// Returns the range of string `row` in `data`.
    #[inline]
    pub fn range(self, row: usize) -> Range<usize> {
        match self.spans {
            Spans::Fixed(len) => row * len..(row + 1) * len,
            Spans::Offsets(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Spans::Anywhere(spans) => spans[row].range(),
        }
    }

    /// Returns `true` if any of the first `rows` strings has `len` bytes.
    pub fn has_len(self, len: usize, rows: usize) -> bool {
        match self.spans {
            Spans::Fixed(fixed) => fixed == len && rows > 0,
            Spans::Offsets(offsets) => {
                offsets[..=rows].windows(2).any(|pair| (pair[1] - pair[0]) as usize == len)
            }
            // To count all spans is faster than to stop at the first match.
            Spans::Anywhere(spans) => {
                spans[..rows].iter().filter(|span| span.len as usize == len).count() > 0
            }
        }
    }
}

impl<'a> Column<'a> {
    /// Creates a column without NULLs.
    pub const fn new(values: Values<'a>) -> Column<'a> {
        Column { values, validity: None }
    }

    /// A column in which every value is NULL.
    pub const NULL: Column<'static> = Column::new(Values::Null);

    /// Returns `false` only if none of the first `rows` values is NULL. For a column with a validity bitmap, or of [`Values::Any`], returns
    /// `true` without a look at its values.
    pub fn may_have_null(&self, rows: usize) -> bool {
        self.validity.is_some()
            || match self.values {
                Values::Null | Values::Any(_) => true,
                Values::Real(reals) => reals[..rows].iter().any(|real| real.is_nan()),
                Values::Int(_) | Values::Text(_) | Values::Blob(_) => false,
            }
    }

    /// Returns the value of `row`. This is slow for many rows, so encoders go column by column.
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

/// Formats a value for a message: text in single quotes, cut after 60 characters, and of a blob only the size.
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
