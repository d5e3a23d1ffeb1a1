//! Reads record batches of Arrow: from IPC files and streams, or from a program.
//!
//! ```text
//!  Iterator<Item = Result<RecordBatch>> ──> ArrowSource::next_part ──> ArrowPart::decode ──> Batch
//!  an IPC file, a stream, a data frame      a batch, or some rows       any core
//! ```
//!
//! | Arrow | SQLite | |
//! |---|---|---|
//! | integers, bool, duration | INTEGER | an unsigned integer above 2^63 - 1 makes its row a bad row, but is text in a TEXT column ([`ArrowOptions::lossy`]); a duration is a count of its unit |
//! | floats | REAL | NaN is NULL |
//! | strings, binaries (also large, fixed-size and views) | TEXT, BLOB | |
//! | decimals | INTEGER, NUMERIC, REAL, TEXT | [`DecimalAs`]. A decimal with more digits than its type declares makes its row a bad row, unless it becomes text or the column type depends on the values |
//! | dates, times, timestamps, intervals | TEXT | ISO 8601; a timestamp with a time zone is in UTC and ends in `+00:00`. [`TimestampAs`] |
//! | lists, structs, maps, unions | TEXT | JSON, in which NaN and infinities are null |
//! | dictionaries, runs | the type of their values | |
//!
//! Batches are not checked here. Batches made in safe Rust are valid, and `ipc` and the Parquet reader check what they read. Arrays of the C
//! data interface are checked in [`foreign`].
//!
//! A date or timestamp outside the years 0 to 9999 makes its row a bad row, also within lists, structs and maps, unless it is stored as a
//! number.

mod access;
mod aligned;
mod alone;
mod bound;
mod column;
mod damaged;
mod decimal;
mod fixed;
pub mod foreign;
pub mod ipc;
mod moment;
mod nested;
mod part;

use arrow_schema::DataType;
use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::setters;

pub use self::alone::{BadValue, OneColumn, infer_decimals};
pub use self::bound::MemoryBound;
pub use self::damaged::silence_reader_panics;
#[cfg(feature = "parquet")]
pub(crate) use self::damaged::{BoxedError, read_damaged};
pub use self::decimal::guessed_type;
use self::decimal::is_held;
pub use self::part::{ArrowRows, ArrowSource};

/// The storage of decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecimalAs {
    /// Numbers if they keep all digits of every decimal of the type: INTEGER for up to 18 digits without a fraction, NUMERIC for up to 15
    /// digits with one. For a type of more than 18 digits, the values are read first if that is possible
    /// ([`Inferred`](crate::infer::Inferred)): INTEGER if all are 64-bit integers, REAL if floats keep all digits. TEXT otherwise.
    #[default]
    Auto,
    /// TEXT, with all digits.
    Text,
    /// REAL: the nearest float.
    Real,
}

/// The storage of timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampAs {
    /// TEXT in ISO 8601 form.
    #[default]
    Iso,
    /// INTEGER: the time since the start of 1970 (UTC), in the unit of the column.
    Unix,
}

/// The options for converting values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrowOptions {
    /// The storage of decimals.
    pub decimal: DecimalAs,
    /// The storage of timestamps.
    pub timestamp: TimestampAs,
    /// `true` if unsigned integers above 2^63 - 1 become the nearest floats, as in SQLite. A load sets this field to its own `lossy`.
    pub lossy: bool,
    /// The limit of memory: a page or a record batch may take all of it, the values of a row one eighth. A load sets it to its own memory.
    pub memory: MemoryBound,
}

setters! { ArrowOptions:
    /// Sets the storage of decimals.
    decimal(decimal: DecimalAs) = decimal;
    /// Sets the storage of timestamps.
    timestamp(timestamp: TimestampAs) = timestamp;
        /// Accepts unsigned integers above 2^63 - 1 as the nearest floats.
    lossy(lossy: bool) = lossy;
        /// Sets the limit of memory: a page or a record batch may take all of it, the values of a row one eighth.
    memory(memory: MemoryBound) = memory;
}

impl TakesSettings for ArrowOptions {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Decimal => self.decimal = value.word(setting, &DecimalAs::WORDS)?,
            Setting::Timestamp => self.timestamp = value.word(setting, &TimestampAs::WORDS)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl DecimalAs {
    const WORDS: [(&str, DecimalAs); 3] =
        [("auto", DecimalAs::Auto), ("text", DecimalAs::Text), ("real", DecimalAs::Real)];
}

impl TimestampAs {
    const WORDS: [(&str, TimestampAs); 2] = [("iso", TimestampAs::Iso), ("unix", TimestampAs::Unix)];
}

impl ArrowOptions {
    /// Creates options that store decimals as numbers if these keep all digits, and timestamps as ISO 8601 text.
    pub fn new() -> ArrowOptions {
        ArrowOptions::default()
    }
}

/// Returns `true` if values of a type are stored as timestamps in text form.
pub fn is_moment(data_type: &DataType, options: ArrowOptions) -> bool {
    match data_type {
        DataType::Timestamp(_, _) => options.timestamp == TimestampAs::Iso,
        DataType::Dictionary(_, values) => is_moment(values, options),
        DataType::RunEndEncoded(_, values) => is_moment(values.data_type(), options),
        _ => false,
    }
}

/// Returns the declared type of a column for values of the type `data_type`; `None`: all values are NULL.
pub fn declared_type(data_type: &DataType, options: ArrowOptions) -> Option<&'static str> {
    use DataType::*;
    Some(match data_type {
        Null => return None,
        Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Duration(_) => "INTEGER",
        Float16 | Float32 | Float64 => "REAL",
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => "BLOB",
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) | Decimal256(_, scale) => {
            match options.decimal {
                DecimalAs::Real => "REAL",
                DecimalAs::Auto if is_held(data_type) && *scale <= 0 => "INTEGER",
                DecimalAs::Auto if is_held(data_type) => "NUMERIC",
                _ => "TEXT",
            }
        }
        Timestamp(_, _) if options.timestamp == TimestampAs::Unix => "INTEGER",
        Dictionary(_, values) => return declared_type(values, options),
        RunEndEncoded(_, values) => return declared_type(values.data_type(), options),
        _ => "TEXT",
    })
}
