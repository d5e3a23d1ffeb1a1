//! Writes lists, structs, maps and unions as JSON.
//!
//! Floats are written with the fewest digits that identify them. NaN and infinities, which JSON lacks, become null. Binaries are written in
//! hexadecimal digits. Dates and times have the same text as in columns of their own, even if timestamps in columns become Unix numbers. So
//! a date outside the years 0 to 9999 makes its row a bad row. A map becomes an object; the JSON of a key that is not text becomes the
//! name.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef, IntervalUnit, TimeUnit};

use super::access::{key, run, utf8};
use super::{fixed, moment};

/// JSON text that is being written, with its first fault.
pub(super) struct Json<'a> {
    pub(super) text: &'a mut String,
    /// The reason why a value can't be written as JSON, for the first such value. Something else is written instead, so that the bad row
    /// can be shown: the stored number of a date, or text with U+FFFD for bytes that are not UTF-8.
    pub(super) fault: Option<String>,
    /// The length at which writing stops: a longer text will be refused.
    end: usize,
}

impl<'a> Json<'a> {
    /// Creates a writer that appends to `text`. It stops after the first value that makes `text` longer than `bytes_max`.
    pub(super) fn new(text: &'a mut String, bytes_max: usize) -> Json<'a> {
        Json { text, fault: None, end: bytes_max }
    }

    /// Writes bytes that should be UTF-8 as a string.
    fn text_of(&mut self, bytes: &[u8]) {
        match utf8(bytes) {
            Ok(text) => string(text, self.text),
            Err(fault) => {
                self.fault.get_or_insert(fault);
                string(&String::from_utf8_lossy(bytes), self.text);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.text.len() > self.end
    }
}

/// Returns the message about a date or a timestamp outside the supported years.
pub(super) fn beyond(array: &dyn Array, at: usize) -> String {
    let value = raw(array, at).unwrap_or_default();
    format!("{value} of type {} is beyond the years 0 to 9999", array.data_type())
}

/// Writes value `at`. `kind` is the type by which the value is interpreted. It differs from the array's type in three cases: unchecked text
/// is an array of binaries, an imported map is an array of lists of entries, and UUIDs and intervals are arrays of fixed-size binaries.
pub(super) fn json(array: &dyn Array, kind: &DataType, at: usize, out: &mut Json<'_>) {
    if array.is_null(at) {
        return out.text.push_str("null");
    }
    match (kind, array.data_type()) {
        (DataType::Null, _) => out.text.push_str("null"),
        (DataType::Boolean, _) => {
            out.text.push_str(if array.as_boolean().value(at) { "true" } else { "false" });
        }
        (DataType::Float16, _) => float(f64::from(array.as_primitive::<Float16Type>().value(at)), out.text),
        (DataType::Float32, _) => {
            let real = array.as_primitive::<Float32Type>().value(at);
            match real.is_finite() {
                true => _ = write!(out.text, "{real:?}"),
                false => out.text.push_str("null"),
            }
        }
        (DataType::Float64, _) => float(array.as_primitive::<Float64Type>().value(at), out.text),
        (_, DataType::Utf8) => string(array.as_string::<i32>().value(at), out.text),
        (_, DataType::LargeUtf8) => string(array.as_string::<i64>().value(at), out.text),
        (_, DataType::Utf8View) => string(array.as_string_view().value(at), out.text),
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, stored) => match stored {
            DataType::Binary => out.text_of(array.as_binary::<i32>().value(at)),
            DataType::LargeBinary => out.text_of(array.as_binary::<i64>().value(at)),
            DataType::FixedSizeBinary(_) => in_quotes(out.text, |text| fixed::uuid(array, at, text)),
            _ => out.text_of(array.as_binary_view().value(at)),
        },
        (DataType::Binary, DataType::Binary) => hex(array.as_binary::<i32>().value(at), out.text),
        (_, DataType::LargeBinary) => hex(array.as_binary::<i64>().value(at), out.text),
        (_, DataType::BinaryView) => hex(array.as_binary_view().value(at), out.text),
        (DataType::Interval(unit), DataType::FixedSizeBinary(_)) => {
            in_quotes(out.text, |text| fixed::interval(array, *unit, at, text));
        }
        (DataType::FixedSizeBinary(_), _) => hex(array.as_fixed_size_binary().value(at), out.text),
        (DataType::List(field), _) => list(&array.as_list::<i32>().value(at), field, out),
        (DataType::LargeList(field), _) => list(&array.as_list::<i64>().value(at), field, out),
        (DataType::ListView(field), _) => list(&array.as_list_view::<i32>().value(at), field, out),
        (DataType::LargeListView(field), _) => list(&array.as_list_view::<i64>().value(at), field, out),
        (DataType::FixedSizeList(field, _), _) => {
            list(&array.as_fixed_size_list().value(at), field, out);
        }
        (DataType::Struct(fields), _) => {
            let columns = array.as_struct().columns();
            let kinds = fields.iter().map(|field| (field.name().as_str(), field.data_type()));
            members_of(kinds.zip(columns).map(|((name, kind), column)| (name, kind, column)), at, out);
        }
        (DataType::Map(entries, _), DataType::Map(_, _)) => {
            map(&array.as_map().value(at), entries, out);
        }
        (DataType::Map(entries, _), _) => map(array.as_list::<i32>().value(at).as_struct(), entries, out),
        (DataType::Dictionary(_, kind), _) => {
            let dictionary = array.as_any_dictionary();
            json(dictionary.values(), kind, key(dictionary, at), out);
        }
        (DataType::RunEndEncoded(_, field), _) => {
            let (values, at) = run(array, at);
            json(values, field.data_type(), at, out);
        }
        (DataType::Union(fields, _), _) => {
            let union = array.as_union();
            let id = union.type_id(at);
            let kind = fields.iter().find(|(known, _)| *known == id).map(|(_, field)| field.data_type());
            let child = union.child(id);
            json(child, kind.unwrap_or(child.data_type()), union.value_offset(at), out);
        }
        _ => scalar_in_json(array, at, out),
    }
}

/// Writes a number, or a date, time or interval in quotes.
fn scalar_in_json(array: &dyn Array, at: usize, out: &mut Json<'_>) {
    if let Some(number) = integer(array, at) {
        return out.text.push_str(&number);
    }
    let start = out.text.len();
    out.text.push('"');
    match moment(array, at, out.text) {
        Some(()) => out.text.push('"'),
        None => {
            out.text.truncate(start);
            let _ = write!(out.text, "{}", raw(array, at).unwrap_or_default());
            out.fault.get_or_insert_with(|| beyond(array, at));
        }
    }
}

/// Returns an integer or a decimal as text, with all its digits.
pub(super) fn integer(array: &dyn Array, at: usize) -> Option<String> {
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

/// Writes a date, a time or an interval. Returns `None` if the value has no text.
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
        // A Date64 counts milliseconds, which should be whole days.
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

/// Returns the number that Arrow stores for a date, a time, a timestamp or a duration; `None` for other types.
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

fn list(values: &ArrayRef, field: &FieldRef, out: &mut Json<'_>) {
    out.text.push('[');
    for at in 0..values.len() {
        if out.is_full() {
            return;
        }
        if at > 0 {
            out.text.push(',');
        }
        json(values, field.data_type(), at, out);
    }
    out.text.push(']');
}

/// Writes the values of a row as a JSON object.
pub(super) fn members_of<'a>(
    members: impl Iterator<Item = (&'a str, &'a DataType, &'a ArrayRef)>,
    at: usize,
    out: &mut Json<'_>,
) {
    out.text.push('{');
    for (index, (name, kind, column)) in members.enumerate() {
        if out.is_full() {
            return;
        }
        if index > 0 {
            out.text.push(',');
        }
        string(name, out.text);
        out.text.push(':');
        json(column, kind, at, out);
    }
    out.text.push('}');
}

fn map(entries: &arrow_array::StructArray, kind: &FieldRef, out: &mut Json<'_>) {
    let kind = match kind.data_type() {
        DataType::Struct(fields) => [fields[0].data_type(), fields[1].data_type()],
        _ => [&DataType::Null; 2],
    };
    out.text.push('{');
    for at in 0..entries.len() {
        if out.is_full() {
            return;
        }
        if at > 0 {
            out.text.push(',');
        }
        if entries.is_null(at) || entries.column(0).is_null(at) {
            out.fault.get_or_insert_with(|| "a map has an entry or a key that is NULL".to_owned());
        }
        let mut key = String::new();
        let mut of_key = Json::new(&mut key, out.end);
        json(entries.column(0), kind[0], at, &mut of_key);
        out.fault = out.fault.take().or(of_key.fault);
        match key.starts_with('"') {
            true => out.text.push_str(&key),
            false => string(&key, out.text),
        }
        out.text.push(':');
        json(entries.column(1), kind[1], at, out);
    }
    out.text.push('}');
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

fn in_quotes(out: &mut String, write: impl FnOnce(&mut String)) {
    out.push('"');
    write(out);
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
