//! Converts Arrow columns to SQLite values, and Arrow types to the declared types of a new table.
//!
//! ```text
//!  booleans, integers    integers                              timestamps    2024-02-29T01:02:03.450, with all digits of their unit,
//!  floats                floats; a NaN is NULL                               in UTC, without an offset
//!  text, binary          unchanged                             dates         2024-02-29
//!  dictionaries          their values                          others        refused
//! ```

use adbc_core::error::{Error, Result, Status};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, DictionaryArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use sqluice_core::batch::Value;
use sqluice_core::calendar::{DAY_SECONDS, year_month_day};
use sqluice_core::rows::Cells;
use sqluice_core::source;

use crate::errors::error;

/// Returns the type that a new table declares for a column; empty if it declares none.
pub(crate) fn declared(kind: &DataType) -> &'static str {
    match kind {
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64 => "INTEGER",
        DataType::Float32 | DataType::Float64 => "REAL",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Date32 => "TEXT",
        DataType::Binary => "BLOB",
        _ => "",
    }
}

/// A column to which values are appended.
pub(crate) trait Take {
    /// Appends a value; a float must not be NaN.
    fn take(&mut self, value: Value<'_>);

    /// Appends integers.
    fn take_ints(&mut self, ints: &[i64]) {
        ints.iter().for_each(|int| self.take(Value::Int(*int)));
    }
}

impl Take for Cells {
    fn take(&mut self, value: Value<'_>) {
        self.push(value);
    }

    fn take_ints(&mut self, ints: &[i64]) {
        self.extend_ints(ints);
    }
}

impl Take for source::cells::Cells {
    fn take(&mut self, value: Value<'_>) {
        self.push_value(value);
    }
}

/// Returns the values of all columns.
pub(crate) fn cells(batch: &RecordBatch) -> Result<Vec<Cells>> {
    let columns = batch.columns().iter().enumerate();
    let of_column = |(number, column): (usize, &ArrayRef)| {
        let mut cells = Cells::default();
        fill(column.as_ref(), number, &mut cells).map(|()| cells)
    };
    columns.map(of_column).collect()
}

/// Appends the values of an array to `cells`. `number` is the index of the column, for error messages.
pub(crate) fn fill(array: &dyn Array, number: usize, cells: &mut impl Take) -> Result<()> {
    match array.data_type() {
        DataType::Null => (0..array.len()).for_each(|_| cells.take(Value::Null)),
        DataType::Boolean => {
            for value in array.as_boolean() {
                cells.take(value.map_or(Value::Null, |value| Value::Int(value.into())));
            }
        }
        DataType::Int8 => ints::<Int8Type>(array, cells),
        DataType::Int16 => ints::<Int16Type>(array, cells),
        DataType::Int32 => ints::<Int32Type>(array, cells),
        DataType::Int64 if array.null_count() == 0 => {
            cells.take_ints(array.as_primitive::<Int64Type>().values());
        }
        DataType::Int64 => ints::<Int64Type>(array, cells),
        DataType::UInt8 => ints::<UInt8Type>(array, cells),
        DataType::UInt16 => ints::<UInt16Type>(array, cells),
        DataType::UInt32 => ints::<UInt32Type>(array, cells),
        DataType::UInt64 => {
            for value in array.as_primitive::<UInt64Type>() {
                let int = value.map(i64::try_from).transpose().map_err(|_| too_large(number, value))?;
                cells.take(int.map_or(Value::Null, Value::Int));
            }
        }
        DataType::Float16 => reals::<Float16Type>(array, cells),
        DataType::Float32 => reals::<Float32Type>(array, cells),
        DataType::Float64 => reals::<Float64Type>(array, cells),
        DataType::Utf8 => texts(array.as_string::<i32>().iter(), cells),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter(), cells),
        DataType::Utf8View => texts(array.as_string_view().iter(), cells),
        DataType::Binary => blobs(array.as_binary::<i32>().iter(), cells),
        DataType::LargeBinary => blobs(array.as_binary::<i64>().iter(), cells),
        DataType::BinaryView => blobs(array.as_binary_view().iter(), cells),
        DataType::FixedSizeBinary(_) => blobs(array.as_fixed_size_binary().iter(), cells),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().iter();
            written(days, cells, |days, to| date(i64::from(days), to));
        }
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => moments::<TimestampSecondType>(array, 0, cells),
            TimeUnit::Millisecond => moments::<TimestampMillisecondType>(array, 3, cells),
            TimeUnit::Microsecond => moments::<TimestampMicrosecondType>(array, 6, cells),
            TimeUnit::Nanosecond => moments::<TimestampNanosecondType>(array, 9, cells),
        },
        DataType::Dictionary(keys, _) => match keys.as_ref() {
            DataType::Int8 => dictionary::<Int8Type>(array.as_dictionary(), number, cells)?,
            DataType::Int16 => dictionary::<Int16Type>(array.as_dictionary(), number, cells)?,
            DataType::Int32 => dictionary::<Int32Type>(array.as_dictionary(), number, cells)?,
            DataType::Int64 => dictionary::<Int64Type>(array.as_dictionary(), number, cells)?,
            DataType::UInt8 => dictionary::<UInt8Type>(array.as_dictionary(), number, cells)?,
            DataType::UInt16 => dictionary::<UInt16Type>(array.as_dictionary(), number, cells)?,
            DataType::UInt32 => dictionary::<UInt32Type>(array.as_dictionary(), number, cells)?,
            _ => dictionary::<UInt64Type>(array.as_dictionary(), number, cells)?,
        },
        other => {
            let message = format!("column {} has the type {other}, which SQLite does not have", number + 1);
            return Err(error(Status::NotImplemented, message + ": cast it to text, or to a number"));
        }
    }
    Ok(())
}

fn too_large(number: usize, value: Option<u64>) -> Error {
    let value = value.unwrap_or_default();
    error(
        Status::InvalidData,
        format!("column {}: {value} is too large, SQLite's integers have 64 bits and a sign", number + 1),
    )
}

fn ints<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array, cells: &mut impl Take) {
    for value in array.as_primitive::<T>() {
        cells.take(value.map_or(Value::Null, |value| Value::Int(value.into())));
    }
}

fn reals<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array, cells: &mut impl Take) {
    for value in array.as_primitive::<T>() {
        let value: Option<f64> = value.map(Into::into);
        cells.take(value.filter(|value| !value.is_nan()).map_or(Value::Null, Value::Real));
    }
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>, cells: &mut impl Take) {
    for value in values {
        cells.take(value.map_or(Value::Null, |value| Value::Text(value.as_bytes())));
    }
}

fn blobs<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, cells: &mut impl Take) {
    for value in values {
        cells.take(value.map_or(Value::Null, Value::Blob));
    }
}

fn dictionary<K: ArrowDictionaryKeyType>(
    array: &DictionaryArray<K>,
    number: usize,
    cells: &mut impl Take,
) -> Result<()> {
    let mut values = Cells::default();
    fill(array.values().as_ref(), number, &mut values)?;
    for key in array.keys_iter() {
        cells.take(key.and_then(|key| values.get(key)).unwrap_or(Value::Null));
    }
    Ok(())
}

fn moments<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, digits: u32, cells: &mut impl Take) {
    let array: &PrimitiveArray<T> = array.as_primitive();
    written(array.iter(), cells, |value, to| moment(value, digits, to));
}

/// Appends each value as the text that `write` formats.
fn written<T>(
    values: impl Iterator<Item = Option<T>>,
    cells: &mut impl Take,
    write: impl Fn(T, &mut Vec<u8>),
) {
    let mut text = Vec::new();
    for value in values {
        text.clear();
        match value {
            Some(value) => {
                write(value, &mut text);
                cells.take(Value::Text(&text));
            }
            None => cells.take(Value::Null),
        }
    }
}

/// Formats a time since 1970, in UTC, as text. Its unit is a second divided by 10^`digits`.
fn moment(value: i64, digits: u32, to: &mut Vec<u8>) {
    let units = 10_i64.pow(digits);
    let (seconds, fraction) = (value.div_euclid(units), value.rem_euclid(units));
    date(seconds.div_euclid(DAY_SECONDS), to);
    let second = seconds.rem_euclid(DAY_SECONDS);
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    to.extend(format!("T{hours:02}:{minutes:02}:{seconds:02}").bytes());
    if digits > 0 {
        to.extend(format!(".{fraction:0width$}", width = digits as usize).bytes());
    }
}

/// Formats a number of days since 1970-01-01 as a date; years may have more than four digits, or a sign.
fn date(days: i64, to: &mut Vec<u8>) {
    let (year, month, day) = year_month_day(days);
    to.extend(format!("{year:04}-{month:02}-{day:02}").bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite(sql: &str) -> String {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn times_are_formatted_as_by_sqlite() {
        for seconds in (-62_167_219_200..253_402_300_799_i64).step_by(987_654_321) {
            let mut text = Vec::new();
            moment(seconds * 1000 + 45, 3, &mut text);
            let wanted =
                sqlite(&format!("SELECT strftime('%Y-%m-%dT%H:%M:%S', {seconds}, 'unixepoch') || '.045'"));
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
    }

    #[test]
    fn a_timestamp_is_written_with_all_decimals_of_the_unit() {
        for (value, digits, wanted) in [
            (-1, 0, "1969-12-31T23:59:59"),
            (-1, 9, "1969-12-31T23:59:59.999999999"),
            (1_500, 3, "1970-01-01T00:00:01.500"),
            (0, 6, "1970-01-01T00:00:00.000000"),
        ] {
            let mut text = Vec::new();
            moment(value, digits, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
    }
}
