//! The source of the values of each column of a table: a field of the input, or a constant that all rows get.

use crate::batch::{Bytes, Column, ROWS_MAX, Span, Spans, Values};

/// The source of the values of a table's column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnFrom {
    /// The field with this index.
    Field(usize),
    /// A constant that every row gets, such as the column's DEFAULT.
    Constant(Constant),
}

/// A value that every row has.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A float.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A [`ColumnFrom`] whose constant is repeated for the rows of a batch.
#[derive(Debug)]
pub enum Filled {
    /// The field with this index.
    Field(usize),
    /// A constant that every row gets.
    Constant(Repeated),
}

impl Filled {
    /// Repeats the constants of `columns` for a batch. `fields` is the number of fields of the source.
    ///
    /// # Panics
    /// If a named field does not exist.
    pub fn all(columns: Vec<ColumnFrom>, fields: usize) -> Vec<Filled> {
        let filled = |from| match from {
            ColumnFrom::Field(field) => {
                assert!(field < fields, "field {field} of {fields}");
                Filled::Field(field)
            }
            ColumnFrom::Constant(constant) => Filled::Constant(Repeated::new(constant, ROWS_MAX)),
        };
        columns.into_iter().map(filled).collect()
    }
}

/// A constant, repeated for the rows of a batch.
#[derive(Debug)]
pub enum Repeated {
    /// NULL.
    Null,
    /// An integer.
    Int(Vec<i64>),
    /// A float.
    Real(Vec<f64>),
    /// A text, and a span of it for each row.
    Text(String, Vec<Span>),
    /// Bytes, and a span of them for each row.
    Blob(Vec<u8>, Vec<Span>),
}

impl Repeated {
    pub(crate) fn new(constant: Constant, rows: usize) -> Repeated {
        let spans = |bytes: usize| {
            let len = u32::try_from(bytes).expect("a constant is shorter than SQLite's limit of 1 GB");
            vec![Span { start: 0, len }; rows]
        };
        match constant {
            Constant::Null => Repeated::Null,
            Constant::Int(int) => Repeated::Int(vec![int; rows]),
            Constant::Real(real) => Repeated::Real(vec![real; rows]),
            Constant::Text(text) => {
                let spans = spans(text.len());
                Repeated::Text(text, spans)
            }
            Constant::Blob(blob) => {
                let spans = spans(blob.len());
                Repeated::Blob(blob, spans)
            }
        }
    }

    /// Returns the column of a batch with `rows` rows, at most [`ROWS_MAX`].
    pub fn column(&self, rows: usize) -> Column<'_> {
        let bytes = |data, spans| Bytes { data, spans: Spans::Anywhere(spans) };
        Column::new(match self {
            Repeated::Null => Values::Null,
            Repeated::Int(ints) => Values::Int(&ints[..rows]),
            Repeated::Real(reals) => Values::Real(&reals[..rows]),
            Repeated::Text(text, spans) => Values::Text(bytes(text.as_bytes(), &spans[..rows])),
            Repeated::Blob(blob, spans) => Values::Blob(bytes(blob, &spans[..rows])),
        })
    }
}
