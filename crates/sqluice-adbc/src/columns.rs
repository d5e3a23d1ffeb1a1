//! The columns of a result. Their Arrow types follow from the values of the first batch, because SQLite's columns have no fixed types.
//!
//! In the first batch, a value that does not fit the type changes it to a type for both: integers become floats, numbers become text, and
//! text becomes binary data. In later batches, such a value is an error.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType;
use sqluice_core::affinity::real_to_text;
use sqluice_core::batch::Value;

/// The values of a column.
pub(crate) enum Column {
    /// This number of NULLs.
    Nulls(usize),
    Ints(Int64Builder),
    Reals(Float64Builder),
    Texts(StringBuilder),
    Blobs(BinaryBuilder),
}

/// The reason why a column does not take a value.
pub(crate) enum Refused {
    /// The column's type does not hold values of this kind.
    Kind(&'static str),
    /// The text is not UTF-8.
    NotUtf8,
}

impl Column {
    /// Creates an empty column of a type.
    pub(crate) fn of(kind: &DataType) -> Column {
        match kind {
            DataType::Float64 => Column::Reals(Float64Builder::new()),
            DataType::Utf8 => Column::Texts(StringBuilder::new()),
            DataType::Binary => Column::Blobs(BinaryBuilder::new()),
            _ => Column::Ints(Int64Builder::new()),
        }
    }

    /// Returns the type of the column.
    pub(crate) fn kind(&self) -> DataType {
        match self {
            Column::Nulls(_) | Column::Ints(_) => DataType::Int64,
            Column::Reals(_) => DataType::Float64,
            Column::Texts(_) => DataType::Utf8,
            Column::Blobs(_) => DataType::Binary,
        }
    }

    /// Appends a value. `text` returns a number as SQLite prints it. If `finding` is true, a value that does not fit changes the type of
    /// the column; if not, it is an error.
    pub(crate) fn push(
        &mut self,
        value: Value<'_>,
        text: impl Fn() -> Vec<u8>,
        finding: bool,
    ) -> Result<(), Refused> {
        if finding {
            self.make_room(&value);
        }
        match (&mut *self, value) {
            (Column::Nulls(count), Value::Null) => *count += 1,
            (Column::Ints(ints), Value::Null) => ints.append_null(),
            (Column::Ints(ints), Value::Int(int)) => ints.append_value(int),
            (Column::Reals(reals), Value::Null) => reals.append_null(),
            (Column::Reals(reals), Value::Real(real)) => reals.append_value(real),
            #[expect(clippy::cast_precision_loss, reason = "the column has floats")]
            (Column::Reals(reals), Value::Int(int)) => reals.append_value(int as f64),
            (Column::Texts(texts), Value::Null) => texts.append_null(),
            (Column::Texts(texts), Value::Text(bytes)) => {
                texts.append_value(std::str::from_utf8(bytes).map_err(|_| Refused::NotUtf8)?);
            }
            (Column::Texts(texts), Value::Int(_) | Value::Real(_)) => {
                texts.append_value(String::from_utf8_lossy(&text()));
            }
            (Column::Blobs(blobs), Value::Null) => blobs.append_null(),
            (Column::Blobs(blobs), Value::Blob(bytes) | Value::Text(bytes)) => blobs.append_value(bytes),
            (Column::Blobs(blobs), Value::Int(_) | Value::Real(_)) => blobs.append_value(text()),
            (_, value) => return Err(Refused::Kind(kind_of(&value))),
        }
        Ok(())
    }

    /// Changes the type of the column, and converts its values, if `value` does not fit.
    fn make_room(&mut self, value: &Value<'_>) {
        let wanted = match (&*self, value) {
            (_, Value::Null)
            | (Column::Ints(_), Value::Int(_))
            | (Column::Reals(_), Value::Int(_) | Value::Real(_))
            | (Column::Blobs(_), _) => return,
            (Column::Texts(_), Value::Blob(_)) => DataType::Binary,
            (Column::Texts(_), _) => return,
            (_, Value::Int(_)) => DataType::Int64,
            (_, Value::Real(_)) => DataType::Float64,
            (_, Value::Text(_)) => DataType::Utf8,
            (_, Value::Blob(_)) => DataType::Binary,
        };
        let mut other = Column::of(&wanted);
        match std::mem::replace(self, Column::Nulls(0)) {
            Column::Nulls(count) => (0..count).for_each(|_| other.push_known(Value::Null)),
            Column::Ints(mut ints) => {
                ints.finish().iter().for_each(|int| other.push_known(int.map_or(Value::Null, Value::Int)))
            }
            Column::Reals(mut reals) => {
                reals
                    .finish()
                    .iter()
                    .for_each(|real| other.push_known(real.map_or(Value::Null, Value::Real)));
            }
            Column::Texts(mut texts) => {
                let texts = texts.finish();
                texts.iter().for_each(|text| {
                    other.push_known(text.map_or(Value::Null, |text| Value::Text(text.as_bytes())))
                });
            }
            Column::Blobs(blobs) => other = Column::Blobs(blobs),
        }
        *self = other;
    }

    /// Appends a value that the column had before its type changed.
    fn push_known(&mut self, value: Value<'_>) {
        let text = || match value {
            Value::Int(int) => int.to_string().into_bytes(),
            Value::Real(real) => {
                let mut text = Vec::new();
                real_to_text(real, &mut text);
                text
            }
            _ => Vec::new(),
        };
        // This can't fail: the new type holds all values of the old one.
        let _ = self.push(value, text, false);
    }

    /// Returns the values as an Arrow array. The column must not be used afterwards.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Nulls(count) => Arc::new(Int64Array::new_null(*count)),
            Column::Ints(ints) => Arc::new(ints.finish()),
            Column::Reals(reals) => Arc::new(reals.finish()),
            Column::Texts(texts) => Arc::new(texts.finish()),
            Column::Blobs(blobs) => Arc::new(blobs.finish()),
        }
    }
}

fn kind_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Int(_) => "integer",
        Value::Real(_) => "float",
        Value::Text(_) => "text",
        Value::Blob(_) => "blob",
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn numbers_before_the_first_text_become_the_text_that_sqlite_makes_of_them() {
        let sqlite = Connection::open_in_memory().unwrap();
        for real in
            [0.1, -2.0, 1e15, -1.5e300, 1e-7, 123_456_789_012_345_680.0, f64::MIN_POSITIVE, f64::INFINITY]
        {
            let mut column = Column::of(&DataType::Float64);
            let no_text = || unreachable!("the column has numbers");
            assert!(column.push(Value::Real(real), no_text, true).is_ok());
            assert!(column.push(Value::Text(b"x"), no_text, true).is_ok());
            let wanted: String =
                sqlite.query_row("SELECT CAST(?1 AS TEXT)", [real], |row| row.get(0)).unwrap();
            assert_eq!(column.finish().as_string::<i32>().value(0), wanted);
        }
    }
}
