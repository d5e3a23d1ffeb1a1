//! Converts a single Arrow array to a column of a batch, for data frames of which only some columns are Arrow arrays.

use arrow_array::Array;
use arrow_schema::DataType;
use sqluice_core::batch::Column;
use sqluice_core::error::Error;

use super::ArrowOptions;
use super::column::{Converted, Fault, Refusal, Wanted, convert, resolved};
use super::decimal::{Number, number, shape};
use crate::convert::MomentForm;
use crate::infer::Inferred;

/// The values of an array, as a column of a batch.
pub struct OneColumn<'a>(Converted<'a>);

/// Returns the column type that keeps all digits of the decimals of an array. `guess` is the [guessed type](super::guessed_type) of the
/// column, which is returned if no value needs another type.
pub fn infer_decimals(array: &dyn Array, guess: Inferred) -> Inferred {
    if guess == Inferred::Text {
        return guess;
    }
    let (decimals, places) = resolved(array, (0..array.len()).map(Some).collect());
    let scale = shape(decimals.data_type()).map_or(0, |(_, scale)| scale);
    let needs_text = |at: usize| matches!(number(decimals, at, scale), Number::Text);
    if places.into_iter().flatten().any(needs_text) { Inferred::Text } else { guess }
}

/// A value that SQLite can't store.
#[derive(Debug)]
pub struct BadValue {
    /// The row in the array, counted from 0.
    pub row: usize,
    /// The reason, with the name of the column.
    pub error: Error,
}

impl<'a> OneColumn<'a> {
    /// Converts the values of the column `name`. `as_text` is `true` if the column has TEXT affinity. `kind` is the type by which the values
    /// are interpreted: the type of the array, or of the [imported](super::foreign::import_column) array.
    ///
    /// # Errors
    /// If a value can't be stored, such as a text that is not UTF-8, or if the texts or blobs have more than 4 GiB together. The error
    /// describes the first value that can't be stored.
    pub fn new(
        array: &'a dyn Array,
        kind: &DataType,
        name: &str,
        as_text: bool,
        options: ArrowOptions,
    ) -> Result<OneColumn<'a>, BadValue> {
        // The array is in memory already, so its size is not limited.
        match convert(array, Wanted { as_text, kind, options }, usize::MAX) {
            Ok(converted) => Ok(OneColumn(converted)),
            Err(Refusal::Fault(Fault { row, message, hint })) => {
                let error = Error::input(format!("column {name}: {message}")).of_column(name);
                let error = match hint {
                    Some(hint) => error.hint(hint),
                    None => error,
                };
                Err(BadValue { row, error })
            }
            Err(Refusal::Room(bytes)) => {
                Err(BadValue { row: 0, error: options.memory.refuse_row(bytes as u64) })
            }
        }
    }

    /// Returns the column with its timestamps in the form `form`; other texts stay as they are.
    #[must_use]
    pub fn in_form(self, form: &MomentForm) -> OneColumn<'a> {
        OneColumn(self.0.in_form(form))
    }

    /// Returns the converted values, for a batch.
    pub fn column(&self) -> Column<'_> {
        self.0.column()
    }
}
