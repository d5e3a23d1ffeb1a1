//! What fills the columns of the table.

use crate::batch::{Bytes, Column, Span, Spans, Values};

/// Where the values of a table's column come from.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnFrom {
    /// The field of that index.
    Field(usize),
    /// The same value in every row: the column's DEFAULT.
    Constant(Constant),
}

/// A value that every row gets.
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

/// What fills a column of the table.
#[derive(Debug)]
pub(super) enum Filled {
    /// The field of that index.
    Field(usize),
    Constant(Repeated),
}

/// A constant, as often as a batch has rows.
#[derive(Debug)]
pub(super) enum Repeated {
    Null,
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text(String, Vec<Span>),
    Blob(Vec<u8>, Vec<Span>),
}

impl Repeated {
    pub(super) fn new(constant: Constant, rows: usize) -> Repeated {
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

    pub(super) fn column(&self, rows: usize) -> Column<'_> {
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
