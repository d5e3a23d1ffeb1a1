//! Converts Arrow arrays to columns of a batch.
//!
//! ```text
//!  Int64, Float64                     borrowed unchanged
//!  Utf8, Binary and their Large forms spans in the array's own bytes, also through dictionaries and runs
//!  unchecked text                     the same, after a check for UTF-8
//!  views                              spans in the array of views if all values are short, otherwise copied
//!  other integers, floats, bool       widened to 64 bits
//!  decimals                           integers, floats or text
//!  durations, Unix timestamps         the stored integers
//!  other types                        written as text
//! ```

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, GenericByteArray, GenericByteViewArray};
use arrow_schema::DataType;
use sqluice_core::batch::{Bitmap, Bytes, Column, Span, Spans, Value, Values};
use sqluice_core::error::{Message, Setting, message};

use crate::convert::MomentForm;

use super::access::{key, run, utf8};
use super::decimal::{Number, has_declared_digits, is_held, is_wide, number};
use super::fixed;
use super::nested::{Json, beyond, integer, json, moment, raw};
use super::{ArrowOptions, DecimalAs, TimestampAs};

/// The values of an array, converted to a column of a batch.
pub(super) struct Converted<'a> {
    values: Owned<'a>,
    validity: Option<Vec<u64>>,
    /// The total number of bytes of the texts and blobs.
    pub(super) bytes: usize,
}

enum Owned<'a> {
    Null,
    Ints(Cow<'a, [i64]>),
    Reals(Cow<'a, [f64]>),
    Any(Vec<Value<'a>>),
    Text(Cow<'a, [u8]>, Vec<Span>),
    Blobs(Cow<'a, [u8]>, Vec<Span>),
}

impl<'a> Owned<'a> {
    fn text((data, spans): Spanned<'a>) -> Owned<'a> {
        Owned::Text(data, spans)
    }

    fn blobs((data, spans): Spanned<'a>) -> Owned<'a> {
        Owned::Blobs(data, spans)
    }

    /// Returns the total number of bytes of the texts and blobs, or an error if it is greater than `room`.
    fn bytes(&self, room: usize) -> Result<usize, Refusal> {
        let bytes = match self {
            Owned::Text(_, spans) | Owned::Blobs(_, spans) => {
                spans.iter().map(|span| span.len as usize).sum()
            }
            _ => 0,
        };
        if bytes > room { Err(Refusal::Room(bytes)) } else { Ok(bytes) }
    }
}

/// A value that SQLite can't store.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) row: usize,
    pub(super) message: String,
    pub(super) hint: Option<Message>,
}

/// The required form of a column.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// `true` if the column has TEXT affinity.
    pub(super) as_text: bool,
    /// The type by which the values are interpreted. It differs from the array's type in three cases: unchecked text is an array of
    /// binaries, an imported map is an array of lists of entries, and UUIDs and intervals are arrays of fixed-size binaries.
    pub(super) kind: &'a DataType,
    pub(super) options: ArrowOptions,
}

/// The reason why an array could not be converted.
#[derive(Debug)]
pub(super) enum Refusal {
    Fault(Fault),
    /// The texts and blobs are too long together: they have at least this number of bytes.
    Room(usize),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

impl Fault {
    fn new(row: usize, message: String) -> Fault {
        Fault { row, message, hint: None }
    }
}

impl Converted<'_> {
    /// Returns the column with its timestamps in the form `form`; other texts stay as they are.
    pub(super) fn in_form(self, form: &MomentForm) -> Self {
        let Owned::Text(data, spans) = &self.values else { return self };
        let mut formed = Vec::with_capacity(data.len());
        let spans = spans.iter().map(|span| {
            let start = formed.len();
            form.write(&data[span.start as usize..][..span.len as usize], &mut formed);
            Span { start: start as u32, len: (formed.len() - start) as u32 }
        });
        let spans = spans.collect();
        Converted { bytes: formed.len(), values: Owned::Text(Cow::Owned(formed), spans), ..self }
    }

    pub(super) fn column(&self) -> Column<'_> {
        let bytes = |data, spans| Bytes { data, spans: Spans::Anywhere(spans) };
        let values = match &self.values {
            Owned::Null => Values::Null,
            Owned::Ints(ints) => Values::Int(ints),
            Owned::Reals(reals) => Values::Real(reals),
            Owned::Any(values) => Values::Any(values),
            Owned::Text(data, spans) => Values::Text(bytes(data, spans)),
            Owned::Blobs(data, spans) => Values::Blob(bytes(data, spans)),
        };
        Column { values, validity: self.validity.as_deref().map(Bitmap) }
    }
}

/// Follows dictionaries and runs to the array of the values. Returns that array, and the index of each row's value in it; `None` for a
/// NULL row.
pub(super) fn resolved(array: &dyn Array, places: Vec<Option<usize>>) -> (&dyn Array, Vec<Option<usize>>) {
    let there = |at: &Option<usize>| at.filter(|at| !array.is_null(*at));
    match array.data_type() {
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let places = places.iter().map(|at| there(at).map(|at| key(dictionary, at)));
            resolved(dictionary.values(), places.collect())
        }
        DataType::RunEndEncoded(_, _) => {
            let mut values = None;
            let places = places.iter().map(|at| {
                at.map(|at| {
                    let (of_runs, at) = run(array, at);
                    values = Some(of_runs);
                    at
                })
            });
            let places = places.collect();
            match values {
                // All rows are NULL.
                None => (array, places),
                Some(values) => resolved(values, places),
            }
        }
        DataType::Union(_, _) => {
            // A union has no validity bitmap. The child array with the row's value tells whether the value is NULL.
            let nulls = array.logical_nulls();
            let there = |at: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at));
            (array, places.into_iter().map(|at| at.filter(there)).collect())
        }
        _ => (array, places.iter().map(there).collect()),
    }
}

/// Returns the type of the values of a dictionary or run type, also of nested ones. Returns any other type unchanged.
fn of_values(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => of_values(values),
        DataType::RunEndEncoded(_, values) => of_values(values.data_type()),
        _ => kind,
    }
}

/// Converts an array to a column. Fails at the first value that SQLite can't store, or if the texts and blobs have more than `room` bytes.
pub(super) fn convert<'a>(
    array: &'a dyn Array,
    wanted: Wanted<'_>,
    room: usize,
) -> Result<Converted<'a>, Refusal> {
    let rows = array.len();
    let every = || (0..rows).map(Some);
    // Arrays of these types can be used directly, without a list of indexes.
    let direct = match array.data_type() {
        DataType::Int64 => {
            Some(Owned::Ints(Cow::Borrowed(&array.as_primitive::<Int64Type>().values()[..rows])))
        }
        DataType::Float64 => {
            Some(Owned::Reals(Cow::Borrowed(&array.as_primitive::<Float64Type>().values()[..rows])))
        }
        _ if array.null_count() == 0 => texts(array, wanted.kind, every(), room)?,
        _ => None,
    };
    if let Some(values) = direct {
        let places = (0..rows).map(|row| (!array.is_null(row)).then_some(row));
        let validity = (array.null_count() > 0).then(|| validity(places));
        return Ok(Converted { bytes: values.bytes(room)?, values, validity });
    }
    let (array, places) = resolved(array, (0..rows).map(Some).collect());
    let wanted = Wanted { kind: of_values(wanted.kind), ..wanted };
    let values = values(array, &places, wanted, room)?;
    let bytes = values.bytes(room)?;
    let nulls = places.iter().any(Option::is_none);
    Ok(Converted { values, validity: nulls.then(|| validity(places.into_iter())), bytes })
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
    Wanted { as_text, kind, options }: Wanted<'_>,
    room: usize,
) -> Result<Owned<'a>, Refusal> {
    if let Some(texts) = texts(array, kind, places.iter().copied(), room)? {
        return Ok(texts);
    }
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
        DataType::UInt64 if as_text => written(places, room, |at, out| digits(array, at, out))?,
        DataType::UInt64 => unsigned(array, places, options)?,
        DataType::Float16 => reals::<Float16Type>(array, places),
        DataType::Float32 => reals::<Float32Type>(array, places),
        DataType::Float64 => reals::<Float64Type>(array, places),
        DataType::Binary => Owned::blobs(spans(array.as_binary::<i32>(), places.iter().copied(), room)?),
        DataType::LargeBinary => Owned::blobs(spans(array.as_binary::<i64>(), places.iter().copied(), room)?),
        DataType::BinaryView => Owned::blobs(views(array.as_binary_view(), places.iter().copied(), room)?),
        DataType::FixedSizeBinary(_) => match kind {
            DataType::Interval(unit) => written(places, room, |at, out| {
                fixed::interval(array, *unit, at, out);
                Ok(())
            })?,
            _ => {
                let binaries = array.as_fixed_size_binary();
                Owned::blobs(copied(places.iter().copied(), room, |at| binaries.value(at))?)
            }
        },
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => decimals(array, places, *scale, as_text, options, room)?,
        DataType::Duration(_) => whole(array, places),
        DataType::Timestamp(_, _) if options.timestamp == TimestampAs::Unix => whole(array, places),
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(_, _)
        | DataType::Interval(_) => written(places, room, |at, out| {
            let begin = out.len();
            moment(array, at, out).ok_or_else(|| {
                out.truncate(begin);
                beyond(array, at)
            })
        })?,
        _ => written(places, room, |at, out| {
            let mut out = Json::new(out, room);
            json(array, kind, at, &mut out);
            out.fault.map_or(Ok(()), Err)
        })?,
    })
}

/// Returns `true` if the type is a text type.
pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Returns the texts of an array if `kind` is a text type. Texts in an array of binaries are checked for UTF-8.
fn texts<'a>(
    array: &'a dyn Array,
    kind: &DataType,
    places: impl ExactSizeIterator<Item = Option<usize>> + Clone,
    room: usize,
) -> Result<Option<Owned<'a>>, Refusal> {
    let spanned = match array.data_type() {
        _ if !is_text(kind) => return Ok(None),
        DataType::Utf8 => spans(array.as_string::<i32>(), places, room)?,
        DataType::LargeUtf8 => spans(array.as_string::<i64>(), places, room)?,
        DataType::Utf8View => views(array.as_string_view(), places, room)?,
        DataType::Binary => checked(spans(array.as_binary::<i32>(), places, room)?)?,
        DataType::LargeBinary => checked(spans(array.as_binary::<i64>(), places, room)?)?,
        DataType::BinaryView => checked_views(array.as_binary_view(), places, room)?,
        DataType::FixedSizeBinary(_) => {
            let places: Vec<_> = places.collect();
            let uuids = written(&places, room, |at, out| {
                fixed::uuid(array, at, out);
                Ok(())
            });
            return uuids.map(Some);
        }
        _ => return Ok(None),
    };
    Ok(Some(Owned::text(spanned)))
}

/// Checks that spans are UTF-8 text. They are checked together in one pass, unless there are unused bytes between them.
fn checked(spanned: Spanned<'_>) -> Result<Spanned<'_>, Fault> {
    let (data, spans) = &spanned;
    let present = || {
        spans
            .iter()
            .filter(|span| span.len > 0)
            .map(|span| span.start as usize..(span.start + span.len) as usize)
    };
    let start = present().map(|span| span.start).min().unwrap_or(0);
    let end = present().map(|span| span.end).max().unwrap_or(0);
    let bytes: usize = present().map(|span| span.len()).sum();
    // A character must not extend over the end of a text.
    let is_boundary = |at: usize| data.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let all = &data[start..end];
    let is_utf8 = all.len() <= bytes
        && (all.is_ascii()
            || simdutf8::basic::from_utf8(all).is_ok()
                && present()
                    .all(|span| is_boundary(span.start) && (span.end == end || is_boundary(span.end))));
    if !is_utf8 {
        for (row, span) in spans.iter().enumerate() {
            let text = &data[span.start as usize..(span.start + span.len) as usize];
            utf8(text).map_err(|message| Fault::new(row, message))?;
        }
    }
    Ok(spanned)
}

/// Checks that the values of views are UTF-8 text, like [`checked`].
fn checked_views<'a>(
    array: &'a GenericByteViewArray<BinaryViewType>,
    places: impl ExactSizeIterator<Item = Option<usize>> + Clone,
    room: usize,
) -> Result<Spanned<'a>, Refusal> {
    let all = places.clone().flatten().fold(0, |all, at| all | array.views()[at]);
    let spanned = views(array, places, room)?;
    // The view of a short text consists of the length, the bytes and zeros. So behind the 32 bits of the length, only a byte of the text
    // that is not ASCII has its highest bit set.
    let is_ascii = (all >> 32) & (u128::MAX / 0xff * 0x80) == 0;
    match spanned.0 {
        Cow::Borrowed(_) if is_ascii => Ok(spanned),
        _ => Ok(checked(spanned)?),
    }
}

/// Writes an integer or a decimal as text.
fn digits(array: &dyn Array, at: usize, out: &mut String) -> Result<(), String> {
    out.push_str(&integer(array, at).unwrap_or_default());
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

/// Returns the integers that Arrow stores for durations and timestamps: counts of the type's unit.
fn whole<'a>(array: &dyn Array, places: &[Option<usize>]) -> Owned<'a> {
    Owned::Ints(places.iter().map(|at| at.and_then(|at| raw(array, at)).unwrap_or_default()).collect())
}

/// Returns unsigned integers. An integer above 2^63 - 1 is a fault or, with the option `lossy`, becomes the nearest float, as in SQLite.
fn unsigned<'a>(
    array: &dyn Array,
    places: &[Option<usize>],
    options: ArrowOptions,
) -> Result<Owned<'a>, Fault> {
    let values = array.as_primitive::<UInt64Type>().values();
    let value = |at: &Option<usize>| at.map_or(0, |at| values[at]);
    let int = |(row, at): (usize, &Option<usize>)| {
        i64::try_from(value(at)).map_err(|_| Fault {
            row,
            message: format!("{} is above {}, the largest integer of SQLite", value(at), i64::MAX),
            hint: Some(message![Setting::Type.to("COLUMN=TEXT"), " keeps all its digits"]),
        })
    };
    match places.iter().enumerate().map(int).collect() {
        Ok(ints) => Ok(Owned::Ints(ints)),
        Err(_) if options.lossy => {
            let number = |at| i64::try_from(value(at)).map_or(Value::Real(value(at) as f64), Value::Int);
            Ok(Owned::Any(places.iter().map(number).collect()))
        }
        Err(fault) => Err(fault),
    }
}

/// Returns the bytes of an array, and the span of each value in them.
fn spans<'a, T: ByteArrayType>(
    array: &'a GenericByteArray<T>,
    places: impl ExactSizeIterator<Item = Option<usize>>,
    room: usize,
) -> Result<Spanned<'a>, Refusal>
where
    T::Native: AsRef<[u8]>,
{
    let data = array.value_data();
    if u32::try_from(data.len()).is_err() {
        return copied(places, room, |at| array.value(at).as_ref());
    }
    let offsets = array.value_offsets();
    let offset = |at: usize| arrow_buffer::ArrowNativeType::as_usize(offsets[at]) as u32;
    let span = |at: Option<usize>| match at {
        Some(at) => Span { start: offset(at), len: offset(at + 1) - offset(at) },
        None => Span::default(),
    };
    Ok((Cow::Borrowed(data), places.map(span).collect()))
}

/// Returns bytes with the values of an array of views, and the span of each value in them. If all values are short, the bytes are the views
/// themselves: a short value is stored in its view, after the 4 bytes of its length
/// ([layout](https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout)).
fn views<'a, T: ByteViewType>(
    array: &'a GenericByteViewArray<T>,
    places: impl ExactSizeIterator<Item = Option<usize>> + Clone,
    room: usize,
) -> Result<Spanned<'a>, Refusal>
where
    T::Native: AsRef<[u8]>,
{
    let views = array.views();
    let len = |at: usize| views[at] as u32;
    let in_views = cfg!(target_endian = "little") && u32::try_from(views.inner().len()).is_ok();
    if !in_views || !places.clone().flatten().all(|at| len(at) <= IN_VIEW_BYTES_MAX) {
        return copied(places, room, |at| array.value(at).as_ref());
    }
    let span = |at: Option<usize>| match at {
        Some(at) => Span { start: (at * size_of::<u128>() + size_of::<u32>()) as u32, len: len(at) },
        None => Span::default(),
    };
    Ok((Cow::Borrowed(views.inner().as_slice()), places.map(span).collect()))
}

/// The maximum length of a value that is stored in its view, in bytes.
const IN_VIEW_BYTES_MAX: u32 = 12;

/// Bytes, and the span of each value in them.
type Spanned<'a> = (Cow<'a, [u8]>, Vec<Span>);

fn copied<'a, 'v>(
    places: impl ExactSizeIterator<Item = Option<usize>>,
    room: usize,
    value: impl Fn(usize) -> &'v [u8],
) -> Result<Spanned<'a>, Refusal> {
    let mut data = Vec::new();
    let mut spans = Vec::with_capacity(places.len());
    for (row, at) in places.enumerate() {
        let start = data.len();
        if let Some(at) = at {
            let value = value(at);
            if value.len() > room - start {
                return Err(Refusal::Room(start + value.len()));
            }
            data.extend_from_slice(value);
        }
        spans.push(span(row, start..data.len())?);
    }
    Ok((Cow::Owned(data), spans))
}

/// Creates the span of a row's value in the bytes of a batch.
fn span(row: usize, bytes: Range<usize>) -> Result<Span, Fault> {
    if u32::try_from(bytes.end).is_err() {
        let message = "the values of this column in about a thousand rows, up to this one, have more than 4 GiB together, which is too much".to_owned();
        return Err(Fault::new(row, message));
    }
    Ok(Span { start: bytes.start as u32, len: bytes.len() as u32 })
}

/// Creates a column of texts. `write` writes the text of a value or returns the reason why it can't.
fn written<'a>(
    places: &[Option<usize>],
    room: usize,
    mut write: impl FnMut(usize, &mut String) -> Result<(), String>,
) -> Result<Owned<'a>, Refusal> {
    let mut data = String::new();
    let mut spans = Vec::with_capacity(places.len());
    for (row, at) in places.iter().enumerate() {
        let start = data.len();
        if let Some(at) = at {
            write(*at, &mut data).map_err(|message| Fault::new(row, message))?;
        }
        if data.len() > room {
            return Err(Refusal::Room(data.len()));
        }
        spans.push(span(row, start..data.len())?);
    }
    Ok(Owned::Text(Cow::Owned(data.into_bytes()), spans))
}

/// Converts decimals: to text in a TEXT column, otherwise to the numbers that [`DecimalAs`] asks for. A decimal with more digits than its
/// type declares is a fault, unless it becomes text or the column type depends on the values.
fn decimals<'a>(
    array: &'a dyn Array,
    places: &[Option<usize>],
    scale: i8,
    as_text: bool,
    options: ArrowOptions,
    room: usize,
) -> Result<Owned<'a>, Refusal> {
    let is_auto = options.decimal == DecimalAs::Auto;
    if is_auto && !as_text && is_wide(array.data_type()) {
        return by_value(array, places, scale, room);
    }
    if as_text || options.decimal == DecimalAs::Text || (is_auto && !is_held(array.data_type())) {
        return written(places, room, |at, out| digits(array, at, out));
    }
    let text = |at: usize| integer(array, at).unwrap_or_default();
    let overlong = places.iter().position(|at| at.is_some_and(|at| !has_declared_digits(array, at)));
    if let Some((row, at)) = overlong.and_then(|row| Some((row, places[row]?))) {
        let message = format!("{} has more digits than its type, {}, allows", text(at), array.data_type());
        let hint = message![Setting::Decimal.to("text"), " keeps all its digits"];
        return Err(Fault { row, message, hint: Some(hint) }.into());
    }
    if is_auto && scale <= 0 {
        let int = |at: &Option<usize>| at.map_or(0, |at| text(at).parse().expect("18 digits are an integer"));
        return Ok(Owned::Ints(places.iter().map(int).collect()));
    }
    // The quotient or product of two exact floats is rounded only once, to the nearest float.
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

/// Converts each decimal to the number that keeps all its digits. If no number keeps the digits of one decimal, all decimals become text:
/// a new column is then TEXT, and in an existing column SQLite converts the texts by the affinity of the column.
fn by_value<'a>(
    array: &'a dyn Array,
    places: &[Option<usize>],
    scale: i8,
    room: usize,
) -> Result<Owned<'a>, Refusal> {
    let numbers = places.iter().map(|at| match at {
        None => Some(Value::Null),
        Some(at) => match number(array, *at, scale) {
            Number::Int(int) => Some(Value::Int(int)),
            Number::Real(real) => Some(Value::Real(real)),
            Number::Text => None,
        },
    });
    match numbers.collect() {
        Some(numbers) => Ok(Owned::Any(numbers)),
        None => written(places, room, |at, out| digits(array, at, out)),
    }
}
