//! One array as a column, beside others that are no arrays: a data frame may have both.

use arrow_array::Array;
use arrow_schema::DataType;
use sqluice_core::batch::Column;
use sqluice_core::error::Error;

use super::ArrowOptions;
use super::column::{Converted, Fault, Refusal, Wanted, convert};
use crate::convert::MomentForm;

/// The values of an array, as a batch has them.
pub struct OneColumn<'a>(Converted<'a>);

/// A value that SQLite can't have.
#[derive(Debug)]
pub struct BadValue {
    /// Its row in the array, counted from 0.
    pub row: usize,
    /// Why; the column is named.
    pub error: Error,
}

impl<'a> OneColumn<'a> {
    /// Converts the values of the column `name`; `as_text`: the column has TEXT affinity. The type of the
    /// values is `kind`: the type of the array, or the type of an array that was
    /// [imported](super::foreign::import_column).
    ///
    /// # Errors
    /// The first value that SQLite can't have.
    pub fn new(
        array: &'a dyn Array,
        kind: &DataType,
        name: &str,
        as_text: bool,
        options: ArrowOptions,
    ) -> Result<OneColumn<'a>, BadValue> {
        // It is in memory already.
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

    /// The column.
    pub fn column(&self) -> Column<'_> {
        self.0.column()
    }
}
