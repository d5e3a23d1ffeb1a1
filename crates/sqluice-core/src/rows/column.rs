//! The columns of [`Rows`](super::Rows), which borrow or own their values.

use crate::batch::{self, Bitmap, Spans, Value, Values};

use super::Cells;

/// A column of [`Rows`](super::Rows), made from a slice or a vector: of `i64`, `f64`, `&str`, `String`, `&[u8]`, `Vec<u8>`, each also as an
/// `Option`, or of [`Value`].
///
/// Slices are borrowed. Of slices of options and of strings, each value also takes 24 bytes: a [`Value`] that borrows the string.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    pub(super) rows: usize,
    pub(super) data: Data<'a>,
}

/// The storage of the values of a [`Column`].
#[derive(Clone, Debug)]
pub(super) enum Data<'a> {
    /// A column of a batch: integers without NULL.
    IntsNotNull(&'a [i64]),
    /// A column of a batch: floats without NULL.
    RealsNotNull(&'a [f64]),
    /// Any other column of a batch.
    Batch(batch::Column<'a>),
    Ints(Vec<i64>),
    Reals(Vec<f64>),
    /// Values that borrow their text and blobs.
    Values(Vec<Value<'a>>),
    /// Values that own their text and blobs.
    Cells(Cells),
}

impl<'a> Column<'a> {
    /// Creates a column from a column of a batch with `rows` rows.
    pub(super) fn of_batch(column: batch::Column<'a>, rows: usize) -> Column<'a> {
        let data = match column {
            batch::Column { values: Values::Int(ints), validity: None } => Data::IntsNotNull(ints),
            batch::Column { values: Values::Real(reals), validity: None } => Data::RealsNotNull(reals),
            column => Data::Batch(column),
        };
        Column { rows, data }
    }

    /// Returns the value of a row as [`get`](Self::get) does, but only if it is a number that needs no look at a batch or a [`Value`]. This
    /// is the fast path: SQLite asks for one value at a time, and most often for such a number.
    #[inline]
    pub(super) fn number(&self, row: usize) -> Option<Value<'static>> {
        match &self.data {
            Data::IntsNotNull(ints) => ints.get(row).map(|int| Value::Int(*int)),
            Data::RealsNotNull(reals) => reals.get(row).map(|real| Value::Real(*real)),
            Data::Ints(ints) => ints.get(row).map(|int| Value::Int(*int)),
            Data::Reals(reals) => reals.get(row).map(|real| Value::Real(*real)),
            Data::Cells(cells) => cells.number(row),
            Data::Batch(_) | Data::Values(_) => None,
        }
    }

    /// Returns the value of a row; `None` if the column has no such row, or if its slices are too short.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<Value<'_>> {
        match &self.data {
            Data::IntsNotNull(ints) => ints.get(row).map(|int| Value::Int(*int)),
            Data::RealsNotNull(reals) => reals.get(row).map(|real| Value::Real(*real)),
            Data::Batch(column) => get(column, row),
            Data::Ints(ints) => ints.get(row).map(|int| Value::Int(*int)),
            Data::Reals(reals) => reals.get(row).map(|real| Value::Real(*real)),
            Data::Values(values) => values.get(row).copied(),
            Data::Cells(cells) => cells.get(row),
        }
    }

    pub(super) fn into_cells(self) -> Option<Cells> {
        match self.data {
            Data::Cells(cells) => Some(cells),
            _ => None,
        }
    }

    /// Returns a column with the same values that borrows nothing.
    pub(super) fn owned(&self) -> Column<'static> {
        let data = match &self.data {
            Data::IntsNotNull(ints) => Data::Ints(ints.to_vec()),
            Data::RealsNotNull(reals) => Data::Reals(reals.to_vec()),
            Data::Ints(ints) => Data::Ints(ints.clone()),
            Data::Reals(reals) => Data::Reals(reals.clone()),
            Data::Cells(cells) => Data::Cells(cells.clone()),
            Data::Batch(_) | Data::Values(_) => {
                let mut cells = Cells::default();
                (0..self.rows).map_while(|row| self.get(row)).for_each(|value| cells.push(value));
                Data::Cells(cells)
            }
        };
        Column { rows: self.rows, data }
    }
}

/// Returns the value of a row as [`batch::Column::get`] does, but checks all positions; `None` if a slice is too short for the row.
#[inline]
fn get<'a>(column: &batch::Column<'a>, row: usize) -> Option<Value<'a>> {
    if let Some(Bitmap(words)) = column.validity
        && words.get(row / 64)? >> (row % 64) & 1 == 0
    {
        return Some(Value::Null);
    }
    Some(match column.values {
        Values::Null => Value::Null,
        Values::Int(ints) => Value::Int(*ints.get(row)?),
        Values::Real(reals) => Value::Real(*reals.get(row)?),
        Values::Text(text) => Value::Text(bytes(&text, row)?),
        Values::Blob(blobs) => Value::Blob(bytes(&blobs, row)?),
        Values::Any(values) => *values.get(row)?,
    })
}

#[inline]
fn bytes<'a>(bytes: &batch::Bytes<'a>, row: usize) -> Option<&'a [u8]> {
    let (start, end) = match bytes.spans {
        Spans::Fixed(len) => (row.checked_mul(len)?, row.checked_add(1)?.checked_mul(len)?),
        Spans::Offsets(offsets) => (*offsets.get(row)? as usize, *offsets.get(row + 1)? as usize),
        Spans::Anywhere(spans) => {
            let span = spans.get(row)?;
            (span.start as usize, span.start as usize + span.len as usize)
        }
    };
    bytes.data.get(start..end)
}

impl<'a> From<&'a [i64]> for Column<'a> {
    fn from(ints: &'a [i64]) -> Column<'a> {
        Column::of_batch(batch::Column::new(Values::Int(ints)), ints.len())
    }
}

impl<'a> From<&'a [f64]> for Column<'a> {
    fn from(reals: &'a [f64]) -> Column<'a> {
        Column::of_batch(batch::Column::new(Values::Real(reals)), reals.len())
    }
}

impl<'a> From<&'a [Value<'a>]> for Column<'a> {
    fn from(values: &'a [Value<'a>]) -> Column<'a> {
        Column::of_batch(batch::Column::new(Values::Any(values)), values.len())
    }
}

impl From<Vec<i64>> for Column<'_> {
    fn from(ints: Vec<i64>) -> Self {
        Column { rows: ints.len(), data: Data::Ints(ints) }
    }
}

impl From<Vec<f64>> for Column<'_> {
    fn from(reals: Vec<f64>) -> Self {
        Column { rows: reals.len(), data: Data::Reals(reals) }
    }
}

impl From<Cells> for Column<'_> {
    fn from(cells: Cells) -> Self {
        Column { rows: cells.len(), data: Data::Cells(cells) }
    }
}

impl<'a> FromIterator<Value<'a>> for Column<'a> {
    fn from_iter<I: IntoIterator<Item = Value<'a>>>(values: I) -> Column<'a> {
        let values: Vec<Value<'a>> = values.into_iter().collect();
        Column { rows: values.len(), data: Data::Values(values) }
    }
}

/// Creates columns from slices value by value. `$item` is an item of the slice, `$value` the item as a value of SQLite.
macro_rules! from_slice {
    ($($kind:ty: $item:ident => $value:expr;)*) => {$(
        impl<'a> From<&'a [$kind]> for Column<'a> {
            fn from(items: &'a [$kind]) -> Column<'a> {
                items.iter().map(|$item| $value).collect()
            }
        }

        impl<'a> From<&'a [Option<$kind>]> for Column<'a> {
            fn from(items: &'a [Option<$kind>]) -> Column<'a> {
                items.iter().map(|item| item.as_ref().map_or(Value::Null, |$item| $value)).collect()
            }
        }
    )*};
}

from_slice! {
    &'a str: text => Value::Text(text.as_bytes());
    String: text => Value::Text(text.as_bytes());
    &'a [u8]: blob => Value::Blob(blob);
    Vec<u8>: blob => Value::Blob(blob);
}

impl<'a> From<&'a [Option<i64>]> for Column<'a> {
    fn from(ints: &'a [Option<i64>]) -> Column<'a> {
        ints.iter().map(|int| int.map_or(Value::Null, Value::Int)).collect()
    }
}

impl<'a> From<&'a [Option<f64>]> for Column<'a> {
    fn from(reals: &'a [Option<f64>]) -> Column<'a> {
        reals.iter().map(|real| real.map_or(Value::Null, Value::Real)).collect()
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Column<'a>
where
    Column<'a>: From<&'a [T]>,
{
    fn from(items: &'a [T; N]) -> Column<'a> {
        Column::from(items.as_slice())
    }
}

impl<'a, T> From<&'a Vec<T>> for Column<'a>
where
    Column<'a>: From<&'a [T]>,
{
    fn from(items: &'a Vec<T>) -> Column<'a> {
        Column::from(items.as_slice())
    }
}
