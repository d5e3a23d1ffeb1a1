//! Batches of which only some rows are stored, because the user leaves the other rows out.
//!
//! ```text
//!  row   batch          kept rows      picked: a batch of the kept rows
//!  0     7   'Oslo'     0              7   'Oslo'
//!  1     9   'Rome'                    4   'Bonn'
//!  2     4   'Bonn'     2
//! ```

use super::Refused;
use crate::batch::{Batch, Bitmap, Bytes, Column, Span, Spans, Value, Values};

/// The rows of a batch that are kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The numbers of the kept rows within the batch, in ascending order.
    pub rows: &'a [u32],
}

impl Kept<'_> {
    /// Translates the row numbers of a refusal from the batch of picked rows to the whole batch.
    pub fn of_all(&self, mut refused: Refused) -> Refused {
        let number = |row: usize| self.rows.get(row).map_or(row, |number| *number as usize);
        match &mut refused {
            Refused::Rows(rows) => rows.iter_mut().for_each(|refused| refused.row = number(refused.row)),
            Refused::Stop { at: Some((row, _)), .. } => *row = number(*row),
            Refused::Stop { at: None, .. } => {}
        }
        refused
    }
}

/// The columns of the kept rows of a batch. Texts and blobs are not copied.
#[derive(Debug)]
pub struct Picked<'a> {
    rows: usize,
    columns: Vec<PickedColumn<'a>>,
}

#[derive(Debug)]
struct PickedColumn<'a> {
    values: PickedValues<'a>,
    validity: Option<Vec<u64>>,
}

#[derive(Debug)]
enum PickedValues<'a> {
    Null,
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text(&'a [u8], Vec<Span>),
    Blob(&'a [u8], Vec<Span>),
    Any(Vec<Value<'a>>),
}

impl<'a> Picked<'a> {
    /// Picks the kept rows of a batch.
    pub fn new(batch: &Batch<'a>, kept: &Kept<'_>) -> Picked<'a> {
        let columns = batch.columns.iter().map(|column| PickedColumn::new(column, kept.rows));
        Picked { rows: kept.rows.len(), columns: columns.collect() }
    }

    /// Returns the batch of the kept rows.
    pub fn batch(&self) -> Batch<'_> {
        Batch { rows: self.rows, columns: self.columns.iter().map(PickedColumn::column).collect() }
    }
}

impl<'a> PickedColumn<'a> {
    fn new(column: &Column<'a>, rows: &[u32]) -> PickedColumn<'a> {
        let numbers = || rows.iter().map(|row| *row as usize);
        let validity = column.validity.map(|validity| {
            let mut words = vec![0; rows.len().div_ceil(64)];
            for (at, row) in numbers().enumerate() {
                words[at / 64] |= u64::from(validity.get(row)) << (at % 64);
            }
            words
        });
        let spans = |bytes: Bytes<'_>| -> Option<Vec<Span>> {
            if let Spans::Anywhere(spans) = bytes.spans {
                return Some(numbers().map(|row| spans[row]).collect());
            }
            let span = |row| {
                let range = bytes.range(row);
                let start = u32::try_from(range.start).ok()?;
                Some(Span { start, len: u32::try_from(range.len()).ok()? })
            };
            numbers().map(span).collect()
        };
        let any = || PickedValues::Any(numbers().map(|row| column.get(row)).collect());
        let values = match column.values {
            Values::Null => PickedValues::Null,
            Values::Int(ints) => PickedValues::Int(numbers().map(|row| ints[row]).collect()),
            Values::Real(reals) => PickedValues::Real(numbers().map(|row| reals[row]).collect()),
            Values::Text(bytes) => {
                spans(bytes).map_or_else(any, |spans| PickedValues::Text(bytes.data, spans))
            }
            Values::Blob(bytes) => {
                spans(bytes).map_or_else(any, |spans| PickedValues::Blob(bytes.data, spans))
            }
            Values::Any(_) => any(),
        };
        PickedColumn { values, validity }
    }

    fn column(&self) -> Column<'_> {
        let values = match &self.values {
            PickedValues::Null => Values::Null,
            PickedValues::Int(ints) => Values::Int(ints),
            PickedValues::Real(reals) => Values::Real(reals),
            PickedValues::Text(data, spans) => Values::Text(Bytes { data, spans: Spans::Anywhere(spans) }),
            PickedValues::Blob(data, spans) => Values::Blob(Bytes { data, spans: Spans::Anywhere(spans) }),
            PickedValues::Any(values) => Values::Any(values),
        };
        Column { values, validity: self.validity.as_deref().map(Bitmap) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Error;
    use crate::source::RefusedRow;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn picked_rows_have_the_values_of_the_batch(
            bits in prop::collection::vec(any::<(bool, bool)>(), 1..200),
            class in 0..7,
        ) {
            let rows = bits.len();
            let ints: Vec<i64> = (0..rows as i64).collect();
            let reals: Vec<f64> = ints.iter().map(|int| *int as f64 / 2.0).collect();
            let text: Vec<u8> = (0..4 * rows).map(|at| b'a' + (at % 26) as u8).collect();
            let offsets: Vec<u32> = (0..=rows as u32).map(|row| row * 4).collect();
            let anywhere: Vec<Span> = (0..rows as u32).rev().map(|row| Span { start: row, len: row % 3 }).collect();
            let values: Vec<Value<'_>> =
                (0..rows).map(|row| if row % 2 == 0 { Value::Int(row as i64) } else { Value::Text(b"x") }).collect();
            let mut words = vec![0; rows.div_ceil(64)];
            bits.iter().enumerate().for_each(|(row, bit)| words[row / 64] |= u64::from(bit.1) << (row % 64));
            let column = Column {
                values: match class {
                    0 => Values::Null,
                    1 => Values::Int(&ints),
                    2 => Values::Real(&reals),
                    3 => Values::Text(Bytes { data: &text, spans: Spans::Offsets(&offsets) }),
                    4 => Values::Blob(Bytes { data: &text, spans: Spans::Fixed(4) }),
                    5 => Values::Text(Bytes { data: &text, spans: Spans::Anywhere(&anywhere) }),
                    _ => Values::Any(&values),
                },
                validity: (class != 1).then_some(Bitmap(&words)),
            };
            let kept: Vec<u32> = (0..rows as u32).filter(|row| bits[*row as usize].0).collect();
            let batch = Batch { rows, columns: vec![column] };
            let picked = Picked::new(&batch, &Kept { rows: &kept });
            let picked = picked.batch();
            prop_assert_eq!(picked.rows, kept.len());
            for (at, row) in kept.iter().enumerate() {
                prop_assert_eq!(picked.columns[0].get(at), column.get(*row as usize));
            }
        }
    }

    #[test]
    fn a_refused_row_is_numbered_within_the_whole_batch() {
        let kept = Kept { rows: &[2, 5, 9] };
        let stop = kept.of_all(Refused::Stop { at: Some((1, 3)), error: Error::input("") });
        assert_eq!(stop.first().0, Some((5, 3)));
        let refused = vec![RefusedRow { row: 2, column: 1, error: Error::input("") }];
        assert_eq!(kept.of_all(Refused::Rows(refused)).first().0, Some((9, 1)));
    }
}
