//! Values that a format, or the type of a column in it, does not have.

use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::batch::{Value, describe};
use sqluice_core::error::{Error, Setting, message};
use sqluice_core::source::BadText;

/// What happens to values of another kind than their column has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mixed {
    /// They are an error.
    #[default]
    Error,
    /// The column becomes text if it has any.
    Text,
    /// They become NULL, and are counted.
    Null,
}

impl Mixed {
    /// Returns how a text that is not valid UTF-8 is handled. A text that becomes NULL is counted.
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

/// How many values became NULL in each column.
#[derive(Debug, Default)]
pub struct Nulled(Vec<AtomicU64>);

impl Nulled {
    /// For that number of columns.
    pub fn new(columns: usize) -> Nulled {
        Nulled(std::iter::repeat_with(AtomicU64::default).take(columns).collect())
    }

    /// Counts a value.
    pub fn count(&self, column: usize) {
        self.0[column].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|count| count.load(Ordering::Relaxed))
    }
}

/// Adds to the error for a text that is not valid UTF-8 how the export can be made.
pub(crate) fn without_bad_text(error: Error) -> Error {
    error.hint(message![
        Setting::Mixed.to("null"),
        " writes NULL instead; a query with CAST(... AS BLOB) reads the bytes"
    ])
}

/// The error for a value that a format does not have.
pub fn unfit(value: &Value<'_>, format: &str) -> Error {
    let what = describe(value);
    let error = Error::input(format!("{format} has no place for {what}"));
    let remedy = match value {
        Value::Blob(_) => "write Parquet or Arrow, or read the column by a query with hex(...); ",
        Value::Real(_) => "write Parquet or Arrow; ",
        _ => "write NDJSON, Parquet or Arrow; ",
    };
    error.hint(message![remedy, Setting::Mixed.to("null"), " writes NULL instead"])
}
