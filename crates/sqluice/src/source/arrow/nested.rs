//! Lists, structs, maps and unions as JSON.
//!
//! Numbers are as short as they can be and still say which they are; NaN and infinities are null, binaries the hexadecimal digits of their
//! bytes, dates and times as in columns of their own. A map is an object; keys that are no text are the JSON that they would be.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::moment;

/// Writes value `at`. A moment without a year of four digits is a number.
pub(super) fn json(array: &dyn Array, at: usize, out: &mut String) {
    if array.is_null(at) {
        return out.push_str("null");
    }
    match array.data_type() {
        DataType::Null => out.push_str("null"),
        DataType::Boolean => out.push_str(if array.as_boolean().value(at) { "true" } else { "false" }),
        DataType::Float16 => float(f64::from(array.as_primitive::<Float16Type>().value(at)), out),
        DataType::Float32 => {
            let real = array.as_primitive::<Float32Type>().value(at);
            if real.is_finite() {
                let _ = write!(out, "{real:?}");
            } else {
                out.push_str("null");
            }
        }
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(at), out),
        DataType::Utf8 => string(array.as_string::<i32>().value(at), out),
        DataType::LargeUtf8 => string(array.as_string::<i64>().value(at), out),
        DataType::Utf8View => string(array.as_string_view().value(at), out),
        DataType::Binary => hex(array.as_binary::<i32>().value(at), out),
        DataType::LargeBinary => hex(array.as_binary::<i64>().value(at), out),
        DataType::BinaryView => hex(array.as_binary_view().value(at), out),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(at), out),
        DataType::List(_) => list(&array.as_list::<i32>().value(at), out),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(at), out),
        DataType::ListView(_) => list(&array.as_list_view::<i32>().value(at), out),
        DataType::LargeListView(_) => list(&array.as_list_view::<i64>().value(at), out),
        DataType::FixedSizeList(_, _) => list(&array.as_fixed_size_list().value(at), out),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns);
            members_of(members.map(|(field, column)| (field.name().as_str(), column)), at, out);
        }
        DataType::Map(_, _) => map(&array.as_map().value(at), out),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            json(dictionary.values(), super::column::key(dictionary, at), out);
        }
        DataType::RunEndEncoded(_, _) => {
            let (values, at) = super::column::run(array, at);
            json(values, at, out);
        }
        DataType::Union(_, _) => {
            let union = array.as_union();
            json(union.child(union.type_id(at)), union.value_offset(at), out);
        }
        _ => scalar(array, at, true, out),
    }
}

/// Writes an integer, a decimal, or a moment as text, which JSON has in quotes.
pub(super) fn scalar(array: &dyn Array, at: usize, quoted: bool, out: &mut String) {
    if let Some(number) = integer(array, at) {
        return out.push_str(&number);
    }
    let start = out.len();
    if quoted {
        out.push('"');
    }
    match moment(array, at, out) {
        Some(()) if quoted => out.push('"'),
        Some(()) => {}
        None => {
            out.truncate(start);
            let _ = write!(out, "{}", raw(array, at).unwrap_or_default());
        }
    }
}

fn integer(array: &dyn Array, at: usize) -> Option<String> {
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(at).to_string(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(at).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(at).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).to_string(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(at).to_string(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(at).to_string(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(at).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).to_string(),
        DataType::Decimal32(_, _) => array.as_primitive::<Decimal32Type>().value_as_string(at),
        DataType::Decimal64(_, _) => array.as_primitive::<Decimal64Type>().value_as_string(at),
        DataType::Decimal128(_, _) => array.as_primitive::<Decimal128Type>().value_as_string(at),
        DataType::Decimal256(_, _) => array.as_primitive::<Decimal256Type>().value_as_string(at),
        DataType::Duration(_) => raw(array, at)?.to_string(),
        _ => return None,
    })
}

/// Writes a date, a time or an interval; `None`: it has no text.
pub(super) fn moment(array: &dyn Array, at: usize, out: &mut String) -> Option<()> {
    match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = array.as_primitive::<IntervalYearMonthType>().value(at);
            moment::interval(i64::from(months), 0, 0, out);
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(at);
            moment::interval(0, value.days.into(), i64::from(value.milliseconds) * 1_000_000, out);
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(at);
            moment::interval(value.months.into(), value.days.into(), value.nanoseconds, out);
        }
        DataType::Date32 => moment::date(raw(array, at)?, out)?,
        // Milliseconds, which should be whole days.
        DataType::Date64 => match raw(array, at)? {
            whole if whole % 86_400_000 == 0 => moment::date(whole / 86_400_000, out)?,
            other => moment::timestamp(other, TimeUnit::Millisecond, false, out)?,
        },
        DataType::Time32(unit) | DataType::Time64(unit) => moment::time(raw(array, at)?, *unit, out)?,
        DataType::Timestamp(unit, zone) => moment::timestamp(raw(array, at)?, *unit, zone.is_some(), out)?,
        _ => return None,
    }
    Some(())
}

/// What Arrow holds for a moment or a duration.
pub(super) fn raw(array: &dyn Array, at: usize) -> Option<i64> {
    Some(match array.data_type() {
        DataType::Date32 => array.as_primitive::<Date32Type>().value(at).into(),
        DataType::Date64 => array.as_primitive::<Date64Type>().value(at),
        DataType::Time32(TimeUnit::Second) => array.as_primitive::<Time32SecondType>().value(at).into(),
        DataType::Time32(_) => array.as_primitive::<Time32MillisecondType>().value(at).into(),
        DataType::Time64(TimeUnit::Microsecond) => array.as_primitive::<Time64MicrosecondType>().value(at),
        DataType::Time64(_) => array.as_primitive::<Time64NanosecondType>().value(at),
        DataType::Timestamp(TimeUnit::Second, _) => array.as_primitive::<TimestampSecondType>().value(at),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().value(at)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().value(at)
        }
        DataType::Timestamp(_, _) => array.as_primitive::<TimestampNanosecondType>().value(at),
        DataType::Duration(TimeUnit::Second) => array.as_primitive::<DurationSecondType>().value(at),
        DataType::Duration(TimeUnit::Millisecond) => {
            array.as_primitive::<DurationMillisecondType>().value(at)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            array.as_primitive::<DurationMicrosecondType>().value(at)
        }
        DataType::Duration(_) => array.as_primitive::<DurationNanosecondType>().value(at),
        _ => return None,
    })
}

fn list(values: &ArrayRef, out: &mut String) {
    out.push('[');
    for at in 0..values.len() {
        if at > 0 {
            out.push(',');
        }
        json(values, at, out);
    }
    out.push(']');
}

/// Writes a row as an object.
pub(super) fn members_of<'a>(
    members: impl Iterator<Item = (&'a str, &'a ArrayRef)>,
    at: usize,
    out: &mut String,
) {
    out.push('{');
    for (index, (name, column)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(name, out);
        out.push(':');
        json(column, at, out);
    }
    out.push('}');
}

fn map(entries: &arrow_array::StructArray, out: &mut String) {
    out.push('{');
    for at in 0..entries.len() {
        if at > 0 {
            out.push(',');
        }
        let mut key = String::new();
        json(entries.column(0), at, &mut key);
        match key.starts_with('"') {
            true => out.push_str(&key),
            false => string(&key, out),
        }
        out.push(':');
        json(entries.column(1), at, out);
    }
    out.push('}');
}

fn float(real: f64, out: &mut String) {
    match real.is_finite() {
        true => _ = write!(out, "{real:?}"),
        false => out.push_str("null"),
    }
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push('"');
    bytes.iter().for_each(|byte| _ = write!(out, "{byte:02x}"));
    out.push('"');
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' => _ = write!(out, "\\u{:04x}", u32::from(character)),
            _ => out.push(character),
        }
    }
    out.push('"');
}
