//! Which field of the file goes to which column of the table.

use std::path::Path;

use super::malformed::Position;
use crate::batch::{Bytes, Column, Span, Spans, Values};
use crate::error::{Error, Result};

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

/// What the header says.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
    /// Where each name stands.
    pub(super) at: Vec<Position>,
}

impl Header {
    /// Every name must be there, once.
    pub(super) fn check(&self, file: &Path) -> Result<()> {
        let hint = "every column needs a name of its own: change the first line of the file";
        if let Some(empty) = self.names.iter().position(String::is_empty) {
            return Err(Error::input(format!("column {} of the header has no name", empty + 1))
                .at(self.at[empty].place(file))
                .hint(hint));
        }
        let mut seen = std::collections::HashMap::new();
        for (index, name) in self.names.iter().enumerate() {
            if let Some(first) = seen.insert(name.to_ascii_lowercase(), index) {
                let message = format!(
                    "column {} of the header has the name of column {}: {name:?}",
                    index + 1,
                    first + 1
                );
                return Err(Error::input(message).at(self.at[index].place(file)).hint(hint));
            }
        }
        Ok(())
    }

    /// For each of `columns`, the field of that name (ASCII letters in either case), or else what `missing` says.
    pub(super) fn map(
        &self,
        file: &Path,
        columns: &[&str],
        mut missing: impl FnMut(usize) -> Result<Constant>,
    ) -> Result<Vec<ColumnFrom>> {
        let known: std::collections::HashSet<String> =
            columns.iter().map(|name| name.to_ascii_lowercase()).collect();
        for (name, at) in self.names.iter().zip(&self.at) {
            if !known.contains(&name.to_ascii_lowercase()) {
                return Err(Error::input(format!("the table has no column {name:?}"))
                    .at(at.place(file))
                    .hint(format!("its columns are {}", columns.join(", "))));
            }
        }
        let field: std::collections::HashMap<String, usize> =
            self.names.iter().enumerate().map(|(index, name)| (name.to_ascii_lowercase(), index)).collect();
        let from = |(column, name): (usize, &&str)| match field.get(&name.to_ascii_lowercase()) {
            Some(&field) => Ok(ColumnFrom::Field(field)),
            None => missing(column).map(ColumnFrom::Constant),
        };
        columns.iter().enumerate().map(from).collect()
    }
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
