//! One array as a column, beside columns that are no arrays: a data frame may have both.

use arrow_array::Array;
use arrow_schema::DataType;
use sqluice_core::batch::Column;
use sqluice_core::error::Error;

use super::ArrowOptions;
use super::column::{Converted, Fault, Refusal, Wanted, convert, resolved};
use super::decimal::{Number, number, shape};
use crate::convert::MomentForm;
use crate::infer::Inferred;

/// The values of an array, in the form of a batch.
pub struct OneColumn<'a>(Converted<'a>);

/// Returns the type that keeps all digits of the decimals of an array. For a type that has a [guess](super::guessed_type), the type is that
/// guess if no value needs another type.
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
    /// Converts the values of the column `name`. `as_text`: the column has TEXT affinity. `kind` is the type of the values: the type of the
    /// array, or the type of an array that was [imported](super::foreign::import_column).
    ///
    /// # Errors
    /// If SQLite can't store a value. The error is about the first such value.
    pub fn new(
        array: &'a dyn Array,
        kind: &DataType,
        name: &str,
        as_text: bool,
        options: ArrowOptions,
    ) -> Result<OneColumn<'a>, BadValue> {
        // The array is in memory already, so its size is not bounded.
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

    /// Gives the timestamps of the column another form.
    #[must_use]
    pub fn in_form(self, form: &MomentForm) -> OneColumn<'a> {
        OneColumn(self.0.in_form(form))
    }

    /// Returns the column.
    pub fn column(&self) -> Column<'_> {
        self.0.column()
    }
}
