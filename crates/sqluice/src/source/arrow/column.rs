//! Arrays as columns of a batch.
//!
//! ```text
//!  Int64, Float64                  as they lie there
//!  Utf8, Binary, and large ones    spans of the array's own bytes; of a dictionary or of runs, too
//!  other integers, floats, bool    widened
//!  all else                        written as text
//! ```

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{AnyDictionaryArray, Array, ArrowPrimitiveType, GenericByteArray};
use arrow_schema::DataType;

use super::nested::{json, moment, raw, scalar};
use super::{ArrowOptions, DecimalAs, TimestampAs, is_held};
use crate::batch::{Bitmap, Bytes, Column, Span, Spans, Values};

/// A column of a batch.
pub(super) struct Converted<'a> {
    values: Owned<'a>,
    validity: Option<Vec<u64>>,
}

enum Owned<'a> {
    Null,
    Ints(Cow<'a, [i64]>),
    Reals(Cow<'a, [f64]>),
    Text(Cow<'a, [u8]>, Vec<Span>),
    Blobs(Cow<'a, [u8]>, Vec<Span>),
}

/// A value that SQLite can't have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) row: usize,
    pub(super) message: String,
}

impl Converted<'_> {
    pub(super) fn column(&self) -> Column<'_> {
        let bytes = |data, spans| Bytes { data, spans: Spans::Anywhere(spans) };
        let values = match &self.values {
            Owned::Null => Values::Null,
            Owned::Ints(ints) => Values::Int(ints),
            Owned::Reals(reals) => Values::Real(reals),
            Owned::Text(data, spans) => Values::Text(bytes(data, spans)),
            Owned::Blobs(data, spans) => Values::Blob(bytes(data, spans)),
        };
        Column { values, validity: self.validity.as_deref().map(Bitmap) }
    }
}

/// The place of a row's value in the dictionary, if it has one: that of its key.
pub(super) fn key(dictionary: &dyn AnyDictionaryArray, row: usize) -> usize {
    let keys = dictionary.keys();
    match keys.data_type() {
        DataType::Int8 => keys.as_primitive::<Int8Type>().value(row) as usize,
        DataType::Int16 => keys.as_primitive::<Int16Type>().value(row) as usize,
        DataType::Int32 => keys.as_primitive::<Int32Type>().value(row) as usize,
        DataType::Int64 => keys.as_primitive::<Int64Type>().value(row) as usize,
        DataType::UInt8 => keys.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => keys.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => keys.as_primitive::<UInt32Type>().value(row) as usize,
        _ => keys.as_primitive::<UInt64Type>().value(row) as usize,
    }
}

/// The values of runs, and the place of a row's among them.
pub(super) fn run(array: &dyn Array, row: usize) -> (&dyn Array, usize) {
    if let Some(runs) = array.as_run_opt::<Int16Type>() {
        return (runs.values(), runs.get_physical_index(row));
    }
    if let Some(runs) = array.as_run_opt::<Int32Type>() {
        return (runs.values(), runs.get_physical_index(row));
    }
    let runs = array.as_run::<Int64Type>();
    (runs.values(), runs.get_physical_index(row))
}

/// The array that has the values, and the place of each row's; `None`: it is NULL.
fn resolved(array: &dyn Array, places: Vec<Option<usize>>) -> (&dyn Array, Vec<Option<usize>>) {
    let there = |at: &Option<usize>| at.filter(|at| !array.is_null(*at));
    match array.data_type() {
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let places = places.iter().map(|at| there(at).map(|at| key(dictionary, at)));
            resolved(dictionary.values(), places.collect())
        }
        DataType::RunEndEncoded(_, _) => {
            let mut values = array;
            let places = places.iter().map(|at| {
                at.map(|at| {
                    let (of_runs, at) = run(array, at);
                    values = of_runs;
                    at
                })
            });
            let places = places.collect();
            match values.data_type() {
                // No row: nobody asks what the values are.
                DataType::RunEndEncoded(_, _) => (values, places),
                _ => resolved(values, places),
            }
        }
        DataType::Union(_, _) => {
            // It has no NULL of its own: one is in the array that a row's value is taken from.
            let nulls = array.logical_nulls();
            let there = |at: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at));
            (array, places.into_iter().map(|at| at.filter(there)).collect())
        }
        _ => (array, places.iter().map(there).collect()),
    }
}

/// An array as a column; `as_text`: that has TEXT affinity. Otherwise the first value that SQLite can't have.
pub(super) fn convert<'a>(
    array: &'a dyn Array,
    as_text: bool,
    options: ArrowOptions,
) -> Result<Converted<'a>, Fault> {
    let rows = array.len();
    // As they lie there.
    let direct = match array.data_type() {
        DataType::Int64 => {
            Some(Owned::Ints(Cow::Borrowed(&array.as_primitive::<Int64Type>().values()[..rows])))
        }
        DataType::Float64 => {
            Some(Owned::Reals(Cow::Borrowed(&array.as_primitive::<Float64Type>().values()[..rows])))
        }
        _ => None,
    };
    if let Some(values) = direct {
        let places = (0..rows).map(|row| (!array.is_null(row)).then_some(row));
        let validity = (array.null_count() > 0).then(|| validity(places));
        return Ok(Converted { values, validity });
    }
    let (array, places) = resolved(array, (0..rows).map(Some).collect());
    let values = values(array, &places, as_text, options)?;
    let nulls = places.iter().any(Option::is_none);
    Ok(Converted { values, validity: nulls.then(|| validity(places.into_iter())) })
}

fn validity(places: impl Iterator<Item = Option<usize>>) -> Vec<u64> {
    let mut words = Vec::new();
    for (row, place) in places.enumerate() {
        if row % 64 == 0 {
            words.push(0);
        }
        words[row / 64] |= u64::from(place.is_some()) << (row % 64);
    }
    words
}

fn values<'a>(
    array: &'a dyn Array,
    places: &[Option<usize>],
    as_text: bool,
    options: ArrowOptions,
) -> Result<Owned<'a>, Fault> {
    Ok(match array.data_type() {
        DataType::Null => Owned::Null,
        DataType::Boolean => {
            let bools = array.as_boolean();
            Owned::Ints(places.iter().map(|at| at.map_or(0, |at| bools.value(at).into())).collect())
        }
        DataType::Int8 => ints::<Int8Type>(array, places),
        DataType::Int16 => ints::<Int16Type>(array, places),
        DataType::Int32 => ints::<Int32Type>(array, places),
        DataType::Int64 => ints::<Int64Type>(array, places),
        DataType::UInt8 => ints::<UInt8Type>(array, places),
        DataType::UInt16 => ints::<UInt16Type>(array, places),
        DataType::UInt32 => ints::<UInt32Type>(array, places),
        DataType::UInt64 if as_text => written(places, |at, out| scalar_of(array, at, out))?,
        DataType::UInt64 => unsigned(array, places)?,
        DataType::Float16 => reals::<Float16Type>(array, places),
        DataType::Float32 => reals::<Float32Type>(array, places),
        DataType::Float64 => reals::<Float64Type>(array, places),
        DataType::Utf8 => {
            let (data, spans) = spans(array.as_string::<i32>(), places)?;
            Owned::Text(data, spans)
        }
        DataType::LargeUtf8 => {
            let (data, spans) = spans(array.as_string::<i64>(), places)?;
            Owned::Text(data, spans)
        }
        DataType::Binary => {
            let (data, spans) = spans(array.as_binary::<i32>(), places)?;
            Owned::Blobs(data, spans)
        }
        DataType::LargeBinary => {
            let (data, spans) = spans(array.as_binary::<i64>(), places)?;
            Owned::Blobs(data, spans)
        }
        DataType::Utf8View => {
            let views = array.as_string_view();
            let (data, spans) = copied(places, |at| views.value(at).as_bytes())?;
            Owned::Text(data, spans)
        }
        DataType::BinaryView => {
            let views = array.as_binary_view();
            let (data, spans) = copied(places, |at| views.value(at))?;
            Owned::Blobs(data, spans)
        }
        DataType::FixedSizeBinary(_) => {
            let binaries = array.as_fixed_size_binary();
            let (data, spans) = copied(places, |at| binaries.value(at))?;
            Owned::Blobs(data, spans)
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => decimals(array, places, *scale, as_text, options)?,
        DataType::Duration(_) => whole(array, places),
        DataType::Timestamp(_, _) if options.timestamp == TimestampAs::Unix => whole(array, places),
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(_, _)
        | DataType::Interval(_) => written(places, |at, out| {
            let begin = out.len();
            moment(array, at, out).ok_or_else(|| {
                out.truncate(begin);
                let value = raw(array, at).unwrap_or_default();
                format!("{value} of type {} is beyond the years 0 to 9999", array.data_type())
            })
        })?,
        _ => written(places, |at, out| {
            json(array, at, out);
            Ok(())
        })?,
    })
}

fn scalar_of(array: &dyn Array, at: usize, out: &mut String) -> Result<(), String> {
    scalar(array, at, false, out);
    Ok(())
}

fn ints<'a, T: ArrowPrimitiveType>(array: &dyn Array, places: &[Option<usize>]) -> Owned<'a>
where
    T::Native: Into<i64>,
{
    let values = array.as_primitive::<T>().values();
    Owned::Ints(places.iter().map(|at| at.map_or(0, |at| values[at].into())).collect())
}

fn reals<'a, T: ArrowPrimitiveType>(array: &dyn Array, places: &[Option<usize>]) -> Owned<'a>
where
    T::Native: Into<f64>,
{
    let values = array.as_primitive::<T>().values();
    Owned::Reals(places.iter().map(|at| at.map_or(0.0, |at| values[at].into())).collect())
}

/// What Arrow holds: a count of its unit.
fn whole<'a>(array: &dyn Array, places: &[Option<usize>]) -> Owned<'a> {
    Owned::Ints(places.iter().map(|at| at.and_then(|at| raw(array, at)).unwrap_or_default()).collect())
}

fn unsigned<'a>(array: &dyn Array, places: &[Option<usize>]) -> Result<Owned<'a>, Fault> {
    let values = array.as_primitive::<UInt64Type>().values();
    let int = |(row, at): (usize, &Option<usize>)| {
        let value = at.map_or(0, |at| values[at]);
        i64::try_from(value)
            .map_err(|_| Fault { row, message: format!("{value} is beyond 64 bits with a sign") })
    };
    Ok(Owned::Ints(places.iter().enumerate().map(int).collect::<Result<_, _>>()?))
}

/// The bytes of an array, and where each value is.
fn spans<'a, T: ByteArrayType>(
    array: &'a GenericByteArray<T>,
    places: &[Option<usize>],
) -> Result<Spanned<'a>, Fault>
where
    T::Native: AsRef<[u8]>,
{
    let data = array.value_data();
    if u32::try_from(data.len()).is_err() {
        return copied(places, |at| array.value(at).as_ref());
    }
    let offsets = array.value_offsets();
    let offset = |at: usize| arrow_buffer::ArrowNativeType::as_usize(offsets[at]) as u32;
    let span = |at: &Option<usize>| match at {
        Some(at) => Span { start: offset(*at), len: offset(*at + 1) - offset(*at) },
        None => Span::default(),
    };
    Ok((Cow::Borrowed(data), places.iter().map(span).collect()))
}

/// Bytes, and where each value is in them.
type Spanned<'a> = (Cow<'a, [u8]>, Vec<Span>);

fn copied<'a, 'v>(places: &[Option<usize>], value: impl Fn(usize) -> &'v [u8]) -> Result<Spanned<'a>, Fault> {
    let mut data = Vec::new();
    let mut spans = Vec::with_capacity(places.len());
    for (row, at) in places.iter().enumerate() {
        let start = data.len();
        if let Some(at) = at {
            data.extend_from_slice(value(*at));
        }
        spans.push(span(row, start..data.len())?);
    }
    Ok((Cow::Owned(data), spans))
}

/// Where the value of a row is among those of a batch.
fn span(row: usize, bytes: Range<usize>) -> Result<Span, Fault> {
    if u32::try_from(bytes.end).is_err() {
        let message = "up to this value there are more than 4 GiB in a thousand rows".to_owned();
        return Err(Fault { row, message });
    }
    Ok(Span { start: bytes.start as u32, len: bytes.len() as u32 })
}

/// A column of texts, each written by `write`, or refused.
fn written<'a>(
    places: &[Option<usize>],
    mut write: impl FnMut(usize, &mut String) -> Result<(), String>,
) -> Result<Owned<'a>, Fault> {
    let mut data = String::new();
    let mut spans = Vec::with_capacity(places.len());
    for (row, at) in places.iter().enumerate() {
        let start = data.len();
        if let Some(at) = at {
            write(*at, &mut data).map_err(|message| Fault { row, message })?;
        }
        spans.push(span(row, start..data.len())?);
    }
    Ok(Owned::Text(Cow::Owned(data.into_bytes()), spans))
}

/// Decimals: as written in a TEXT column; else integers where they have no fraction and fit, floats where 15 digits are all, or where they are asked for; else text.
fn decimals<'a>(
    array: &'a dyn Array,
    places: &[Option<usize>],
    scale: i8,
    as_text: bool,
    options: ArrowOptions,
) -> Result<Owned<'a>, Fault> {
    if as_text
        || options.decimal == DecimalAs::Text
        || (options.decimal == DecimalAs::Auto && !is_held(array.data_type()))
    {
        return written(places, |at, out| scalar_of(array, at, out));
    }
    let text = |at: usize| {
        let mut text = String::new();
        scalar(array, at, false, &mut text);
        text
    };
    if options.decimal == DecimalAs::Auto && scale <= 0 {
        let int = |(row, at): (usize, &Option<usize>)| {
            let Some(at) = *at else { return Ok(0) };
            text(at).parse::<i64>().map_err(|_| {
                let message = format!("{} is beyond its type, {}", text(at), array.data_type());
                Fault { row, message }
            })
        };
        return Ok(Owned::Ints(places.iter().enumerate().map(int).collect::<Result<_, _>>()?));
    }
    // A product or quotient of two floats that are exact is the nearest one.
    if let (Some(decimals), 0..=22) = (array.as_primitive_opt::<Decimal128Type>(), scale) {
        let factor = 10f64.powi(scale.into());
        let real = |at: usize| match decimals.value(at) {
            unscaled if unscaled.unsigned_abs() < 1 << 53 => unscaled as f64 / factor,
            _ => text(at).parse().unwrap_or(f64::NAN),
        };
        return Ok(Owned::Reals(places.iter().map(|at| at.map_or(0.0, real)).collect()));
    }
    let real = |at: usize| text(at).parse().unwrap_or(f64::NAN);
    Ok(Owned::Reals(places.iter().map(|at| at.map_or(0.0, real)).collect()))
}
