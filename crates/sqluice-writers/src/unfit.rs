//! Handles values that a format, or the type of a column in the format, can't store.

use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::batch::{Value, describe};
use sqluice_core::error::{Error, Setting, message};
use sqluice_core::source::BadText;

/// The handling of values that do not fit: values of another kind than their column, or values that the format can't store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mixed {
    /// A value that does not fit is an error.
    #[default]
    Error,
    /// The column becomes text if it has any value that does not fit.
    Text,
    /// Values that do not fit become NULL, and are counted.
    Null,
}

impl Mixed {
    /// Returns the handling of a text that is not valid UTF-8. If it becomes NULL, it is counted in `nulled`.
    pub(crate) fn bad_text(self, nulled: &Nulled, column: usize) -> BadText {
        match self {
            Mixed::Error | Mixed::Text => BadText::Refuse,
            Mixed::Null => {
                nulled.count(column);
                BadText::Null
            }
        }
    }
}

/// The number of values that became NULL in each column.
#[derive(Debug, Default)]
pub struct Nulled(Vec<AtomicU64>);

impl Nulled {
    /// Creates counters for the given number of columns.
    pub fn new(columns: usize) -> Nulled {
        Nulled(std::iter::repeat_with(AtomicU64::default).take(columns).collect())
    }

    /// Adds 1 to the count of a column.
    pub fn count(&self, column: usize) {
        self.0[column].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of values that became NULL, for each column in order.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|count| count.load(Ordering::Relaxed))
    }
}

/// Adds a hint for an export to the error about a text that is not valid UTF-8.
pub(crate) fn without_bad_text(error: Error) -> Error {
    error.hint(message![
        Setting::Mixed.to("null"),
        " writes NULL instead; a query with CAST(... AS BLOB) reads the bytes"
    ])
}

/// Returns the error for a value that a format can't store.
pub fn unfit(value: &Value<'_>, format: &str) -> Error {
    let what = describe(value);
    let error = Error::input(format!("{format} can't store {what}"));
    let remedy = match value {
        Value::Blob(_) => "write Parquet or Arrow, or read the column by a query with hex(...); ",
        Value::Real(_) => "write Parquet or Arrow; ",
        _ => "write NDJSON, Parquet or Arrow; ",
    };
    error.hint(message![remedy, Setting::Mixed.to("null"), " writes NULL instead"])
}
