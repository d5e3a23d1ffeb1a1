//! Collects the values of a field, record by record, and turns them into an Arrow array.
//!
//! ```text
//!  null             NullArray              date, time-*, timestamp-*    Date32, Time32, Time64, Timestamp
//!  boolean          Boolean                decimal                      Decimal128, Decimal256
//!  int, long        Int32, Int64           duration                     Interval(MonthDayNano)
//!  float, double    Float32, Float64       enum                         Dictionary(Int32, Utf8)
//!  bytes, fixed     Binary                 array, map, record           List, Map, Struct
//!  string           Binary, read as Utf8   union: null and a type, other nullable type, Union
//! ```
//!
//! `fixed` is stored as Binary, not as FixedSizeBinary: a NULL, which takes one byte in the file, would take as many bytes as a value.

use std::mem;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, DictionaryArray, ListArray, MapArray,
    NullArray, PrimitiveArray, StringArray, StructArray, UnionArray,
};
use arrow_buffer::{
    BooleanBufferBuilder, IntervalMonthDayNano, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer,
    i256,
};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit, UnionFields};

use super::cursor::Cursor;
use super::fault::Fault;
use super::room::Room;

/// The maximum number of items in an array if the items take no bytes: otherwise a few bytes of a damaged file could stand for any number.
pub(super) const EMPTY_ITEMS_MAX: u64 = 1 << 20;

/// The values of one field, collected from several records.
pub(super) struct Column {
    tag: Tag,
    values: Values,
    validity: NullBufferBuilder,
    /// The memory that a NULL of this column takes, in bytes.
    null_bytes: u64,
}

/// The kind of an Avro union that becomes a single Arrow type. Before each value, the file has the index of the value's type in the union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// The type is not a union, or is a union that becomes an Arrow union ([`Values::Union`]).
    None,
    /// The union has a single type.
    Single,
    /// The union has null and then another type.
    NullFirst,
    /// The union has another type and then null.
    NullLast,
}

/// The meaning of an `int`, by its logical type.
#[derive(Clone, Copy, Debug)]
pub(super) enum IntAs {
    Int,
    Date,
    TimeMillis,
}

/// The meaning of a `long`, by its logical type.
#[derive(Clone, Copy, Debug)]
pub(super) enum LongAs {
    Long,
    TimeMicros,
    /// A timestamp in the given unit; `true` if it is in UTC.
    Timestamp(TimeUnit, bool),
}

/// The bytes of all values, one value after another.
pub(super) struct Bytes {
    /// The length of each value, if the type is `fixed`.
    pub(super) fixed: Option<usize>,
    pub(super) is_text: bool,
    offsets: Vec<i32>,
    data: Vec<u8>,
}

/// A decimal type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    /// The length of each value in bytes, if the type is `fixed`.
    pub(super) fixed: Option<usize>,
    pub(super) precision: u8,
    pub(super) scale: i8,
}

pub(super) enum Values {
    /// The number of NULLs: a value of the type null takes no bytes.
    Null(usize),
    Boolean(BooleanBufferBuilder),
    Int(IntAs, Vec<i32>),
    Long(LongAs, Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Bytes),
    Decimal128(Decimal, Vec<i128>),
    Decimal256(Decimal, Vec<i256>),
    Duration(Vec<IntervalMonthDayNano>),
    Enum(ArrayRef, Vec<i32>),
    Array(Vec<i32>, Box<Column>),
    Map(Vec<i32>, Bytes, Box<Column>),
    /// The number of records, and the fields with their values.
    Record(usize, Vec<(Arc<str>, Column)>),
    Union(Vec<i8>, Vec<i32>, Vec<Column>),
}

impl Bytes {
    pub(super) fn new(fixed: Option<usize>, is_text: bool) -> Bytes {
        Bytes { fixed, is_text, offsets: vec![0], data: Vec::new() }
    }

    fn read(&mut self, from: &mut Cursor<'_>, room: &mut Room) -> Result<(), Fault> {
        let value = read_bytes(self.fixed, from)?;
        room.take(size_of::<i32>() as u64 + value.len() as u64)?;
        self.data.extend_from_slice(value);
        self.end_value();
        Ok(())
    }

    /// Records the end of a value. The end fits 32 bits, as all values of a batch have less than 2 GiB.
    fn end_value(&mut self) {
        self.offsets.push(self.data.len() as i32);
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, Fault> {
        let offsets = taken_offsets(&mut self.offsets);
        let values = mem::take(&mut self.data).into();
        Ok(Arc::new(BinaryArray::try_new(offsets, values, nulls).map_err(Fault::of)?))
    }
}

/// Reads the bytes of a value: `fixed` bytes, or a length followed by that many bytes.
fn read_bytes<'a>(fixed: Option<usize>, from: &mut Cursor<'a>) -> Result<&'a [u8], Fault> {
    match fixed {
        Some(bytes) => from.take(bytes),
        None => from.bytes(),
    }
}

/// Returns the offsets in the form of Arrow, and resets `offsets` for the next array.
fn taken_offsets(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(mem::replace(offsets, vec![0]).into())
}

/// Extends or shortens a big-endian number to `N` bytes, or returns an error if it does not fit.
fn extended<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Fault> {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let more = bytes.len().saturating_sub(N);
    let (before, bytes) = bytes.split_at(more);
    let is_sign = before.iter().all(|byte| *byte == sign)
        && (before.is_empty() || bytes.first().is_some_and(|byte| byte & 0x80 == sign & 0x80));
    if !is_sign {
        return Err(Fault::Damaged("a decimal has more digits than its type"));
    }
    let mut all = [sign; N];
    all[N - bytes.len()..].copy_from_slice(bytes);
    Ok(all)
}

impl Column {
    pub(super) fn new(tag: Tag, values: Values) -> Column {
        let null_bytes = values.null_bytes();
        Column { tag, values, validity: NullBufferBuilder::new(0), null_bytes }
    }

    /// Returns the column of this type as the column of a union with this type only, or with this type and null, as `tag` says.
    pub(super) fn tagged(self, tag: Tag) -> Column {
        Column { tag, ..self }
    }

    /// Returns `true` if the type is null.
    pub(super) fn is_null(&self) -> bool {
        self.tag == Tag::None && matches!(self.values, Values::Null(_))
    }

    /// Returns `true` if the type is a union.
    pub(super) fn is_union(&self) -> bool {
        self.tag != Tag::None || matches!(self.values, Values::Union(..))
    }

    /// Takes the fields out of the column, if its values are records, and none can be NULL.
    pub(super) fn take_record(&mut self) -> Option<Vec<(Arc<str>, Column)>> {
        match &mut self.values {
            Values::Record(_, fields) if self.tag == Tag::None => Some(mem::take(fields)),
            _ => None,
        }
    }

    /// Returns `true` if a value may take no bytes in a file.
    pub(super) fn may_be_empty(&self) -> bool {
        self.tag == Tag::None
            && match &self.values {
                Values::Null(_) | Values::Bytes(Bytes { fixed: Some(0), .. }) => true,
                Values::Decimal128(decimal, _) | Values::Decimal256(decimal, _) => decimal.fixed == Some(0),
                Values::Record(_, fields) => fields.iter().all(|(_, column)| column.may_be_empty()),
                _ => false,
            }
    }

    /// Returns the Arrow type of the values. With `stored`, texts have the type Binary, as in the arrays of a batch: they may not be UTF-8.
    pub(super) fn data_type(&self, stored: bool) -> DataType {
        match &self.values {
            Values::Null(_) => DataType::Null,
            Values::Boolean(_) => DataType::Boolean,
            Values::Int(IntAs::Int, _) => DataType::Int32,
            Values::Int(IntAs::Date, _) => DataType::Date32,
            Values::Int(IntAs::TimeMillis, _) => DataType::Time32(TimeUnit::Millisecond),
            Values::Long(LongAs::Long, _) => DataType::Int64,
            Values::Long(LongAs::TimeMicros, _) => DataType::Time64(TimeUnit::Microsecond),
            Values::Long(LongAs::Timestamp(unit, utc), _) => {
                DataType::Timestamp(*unit, utc.then(|| UTC.into()))
            }
            Values::Float(_) => DataType::Float32,
            Values::Double(_) => DataType::Float64,
            Values::Bytes(bytes) if bytes.is_text && !stored => DataType::Utf8,
            Values::Bytes(_) => DataType::Binary,
            Values::Decimal128(decimal, _) => DataType::Decimal128(decimal.precision, decimal.scale),
            Values::Decimal256(decimal, _) => DataType::Decimal256(decimal.precision, decimal.scale),
            Values::Duration(_) => DataType::Interval(IntervalUnit::MonthDayNano),
            Values::Enum(..) => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Values::Array(_, items) => DataType::List(Arc::new(item_field(items.data_type(stored)))),
            Values::Map(_, _, values) => {
                let key = if stored { DataType::Binary } else { DataType::Utf8 };
                DataType::Map(Arc::new(entries_field(entry_fields(key, values.data_type(stored)))), false)
            }
            Values::Record(_, fields) => DataType::Struct(fields_of(fields, stored)),
            Values::Union(_, _, branches) => {
                let types = branches.iter().map(|branch| branch.data_type(stored)).collect();
                match branch_fields(types) {
                    Ok(fields) => DataType::Union(fields, arrow_schema::UnionMode::Dense),
                    Err(_) => DataType::Null,
                }
            }
        }
    }

    /// Reads one value.
    pub(super) fn read(&mut self, from: &mut Cursor<'_>, room: &mut Room) -> Result<(), Fault> {
        let branch = match self.tag {
            Tag::None => 0,
            Tag::Single | Tag::NullFirst | Tag::NullLast => from.long()?,
        };
        match (self.tag, branch) {
            (Tag::None, _) | (Tag::Single | Tag::NullLast, 0) | (Tag::NullFirst, 1) => {}
            (Tag::NullFirst, 0) | (Tag::NullLast, 1) => {
                room.take(self.null_bytes)?;
                self.push_null();
                return Ok(());
            }
            _ => return Err(Fault::Damaged(NO_SUCH_TYPE)),
        }
        self.values.read(from, room)?;
        self.validity.append_non_null();
        Ok(())
    }

    /// Appends a NULL. If the record around the value is NULL, this NULL is a placeholder.
    fn push_null(&mut self) {
        self.validity.append_null();
        self.values.push_null();
    }

    /// Returns the collected values as an array, and begins a new one.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, Fault> {
        let nulls = self.validity.finish();
        self.values.finish(nulls)
    }
}

/// The time zone of timestamps that Avro defines as UTC.
const UTC: &str = "+00:00";

const NO_SUCH_TYPE: &str = "a union has no type of that number";

fn item_field(kind: DataType) -> Field {
    Field::new("item", kind, true)
}

fn entries_field(fields: Fields) -> Field {
    Field::new("entries", DataType::Struct(fields), false)
}

fn entry_fields(key: DataType, value: DataType) -> Fields {
    Fields::from(vec![Field::new("key", key, false), Field::new("value", value, true)])
}

fn branch_fields(types: Vec<DataType>) -> Result<UnionFields, Fault> {
    let fields = types.into_iter().enumerate().map(|(index, kind)| Field::new(index.to_string(), kind, true));
    UnionFields::try_from_fields(fields).map_err(Fault::of)
}

/// Returns the Arrow fields of a record.
pub(super) fn fields_of(fields: &[(Arc<str>, Column)], stored: bool) -> Fields {
    fields.iter().map(|(name, column)| Field::new(&**name, column.data_type(stored), true)).collect()
}

/// Returns the collected values of a record's fields as arrays, and begins new ones.
pub(super) fn finish_fields(fields: &mut [(Arc<str>, Column)]) -> Result<Vec<ArrayRef>, Fault> {
    fields.iter_mut().map(|(_, column)| column.finish()).collect()
}

impl Values {
    /// Returns the memory that a NULL takes, in bytes.
    fn null_bytes(&self) -> u64 {
        let value = match self {
            Values::Null(_) | Values::Boolean(_) => 0,
            Values::Int(..) | Values::Float(_) | Values::Bytes(_) | Values::Enum(..) => 4,
            Values::Array(..) | Values::Map(..) => 4,
            Values::Long(..) | Values::Double(_) => 8,
            Values::Decimal128(..) | Values::Duration(_) => 16,
            Values::Decimal256(..) => 32,
            Values::Record(_, fields) => fields.iter().map(|(_, column)| column.null_bytes).sum(),
            Values::Union(_, _, branches) => 5 + branches[place_of_null(branches)].null_bytes,
        };
        value + 1
    }

    fn read(&mut self, from: &mut Cursor<'_>, room: &mut Room) -> Result<(), Fault> {
        match self {
            Values::Null(values) => {
                room.take(1)?;
                *values += 1;
            }
            Values::Boolean(values) => {
                room.take(1)?;
                values.append(from.boolean()?);
            }
            Values::Int(_, values) => push(values, from.int()?, room)?,
            Values::Long(_, values) => push(values, from.long()?, room)?,
            Values::Float(values) => push(values, f32::from_le_bytes(from.array()?), room)?,
            Values::Double(values) => push(values, f64::from_le_bytes(from.array()?), room)?,
            Values::Bytes(bytes) => bytes.read(from, room)?,
            Values::Decimal128(decimal, values) => {
                let bytes = extended(read_bytes(decimal.fixed, from)?)?;
                push(values, i128::from_be_bytes(bytes), room)?;
            }
            Values::Decimal256(decimal, values) => {
                let bytes = extended(read_bytes(decimal.fixed, from)?)?;
                push(values, i256::from_be_bytes(bytes), room)?;
            }
            Values::Duration(values) => push(values, duration(from)?, room)?,
            Values::Enum(symbols, values) => {
                let index = from.int()?;
                if usize::try_from(index).is_ok_and(|index| index < symbols.len()) {
                    push(values, index, room)?;
                } else {
                    return Err(Fault::Damaged("an enum has no symbol of that number"));
                }
            }
            Values::Array(offsets, items) => {
                let may_be_empty = items.may_be_empty();
                let count = read_items(from, may_be_empty, |from| items.read(from, room))?;
                end_items(offsets, count, room)?;
            }
            Values::Map(offsets, keys, values) => {
                let count = read_items(from, false, |from| {
                    keys.read(from, room)?;
                    values.read(from, room)
                })?;
                end_items(offsets, count, room)?;
            }
            Values::Record(values, fields) => {
                room.take(1)?;
                for (_, column) in fields {
                    column.read(from, room)?;
                }
                *values += 1;
            }
            Values::Union(ids, offsets, branches) => {
                let branch = from.length()?;
                let column = branches.get_mut(branch).ok_or(Fault::Damaged(NO_SUCH_TYPE))?;
                room.take(5)?;
                offsets.push(column.validity.len() as i32);
                ids.push(branch as i8);
                column.read(from, room)?;
            }
        }
        Ok(())
    }

    fn push_null(&mut self) {
        match self {
            Values::Null(values) => *values += 1,
            Values::Boolean(values) => values.append(false),
            Values::Int(_, values) | Values::Enum(_, values) => values.push(0),
            Values::Long(_, values) => values.push(0),
            Values::Float(values) => values.push(0.0),
            Values::Double(values) => values.push(0.0),
            Values::Bytes(bytes) => bytes.end_value(),
            Values::Decimal128(_, values) => values.push(0),
            Values::Decimal256(_, values) => values.push(i256::ZERO),
            Values::Duration(values) => values.push(IntervalMonthDayNano::ZERO),
            Values::Array(offsets, _) | Values::Map(offsets, ..) => {
                offsets.push(offsets.last().copied().unwrap_or_default());
            }
            Values::Record(values, fields) => {
                *values += 1;
                fields.iter_mut().for_each(|(_, column)| column.push_null());
            }
            Values::Union(ids, offsets, branches) => {
                let branch = place_of_null(branches);
                offsets.push(branches[branch].validity.len() as i32);
                ids.push(branch as i8);
                branches[branch].push_null();
            }
        }
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, Fault> {
        Ok(match self {
            Values::Null(values) => Arc::new(NullArray::new(mem::take(values))),
            Values::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Int(IntAs::Int, values) => primitive::<Int32Type>(values, nulls)?,
            Values::Int(IntAs::Date, values) => primitive::<Date32Type>(values, nulls)?,
            Values::Int(IntAs::TimeMillis, values) => primitive::<Time32MillisecondType>(values, nulls)?,
            Values::Long(LongAs::Long, values) => primitive::<Int64Type>(values, nulls)?,
            Values::Long(LongAs::TimeMicros, values) => primitive::<Time64MicrosecondType>(values, nulls)?,
            Values::Long(LongAs::Timestamp(unit, utc), values) => match unit {
                TimeUnit::Second => moments::<TimestampSecondType>(values, nulls, *utc)?,
                TimeUnit::Millisecond => moments::<TimestampMillisecondType>(values, nulls, *utc)?,
                TimeUnit::Microsecond => moments::<TimestampMicrosecondType>(values, nulls, *utc)?,
                TimeUnit::Nanosecond => moments::<TimestampNanosecondType>(values, nulls, *utc)?,
            },
            Values::Float(values) => primitive::<Float32Type>(values, nulls)?,
            Values::Double(values) => primitive::<Float64Type>(values, nulls)?,
            Values::Bytes(bytes) => bytes.finish(nulls)?,
            Values::Decimal128(decimal, values) => Arc::new(
                numbers::<Decimal128Type>(values, nulls)?
                    .with_precision_and_scale(decimal.precision, decimal.scale)
                    .map_err(Fault::of)?,
            ),
            Values::Decimal256(decimal, values) => Arc::new(
                numbers::<Decimal256Type>(values, nulls)?
                    .with_precision_and_scale(decimal.precision, decimal.scale)
                    .map_err(Fault::of)?,
            ),
            Values::Duration(values) => primitive::<IntervalMonthDayNanoType>(values, nulls)?,
            Values::Enum(symbols, values) => {
                let keys = numbers::<Int32Type>(values, nulls)?;
                Arc::new(DictionaryArray::try_new(keys, Arc::clone(symbols)).map_err(Fault::of)?)
            }
            Values::Array(offsets, items) => {
                let items = items.finish()?;
                let field = Arc::new(item_field(items.data_type().clone()));
                let list = ListArray::try_new(field, taken_offsets(offsets), items, nulls);
                Arc::new(list.map_err(Fault::of)?)
            }
            Values::Map(offsets, keys, values) => {
                let (keys, values) = (keys.finish(None)?, values.finish()?);
                let fields = entry_fields(keys.data_type().clone(), values.data_type().clone());
                let entries = StructArray::try_new(fields.clone(), vec![keys, values], None);
                let entries = entries.map_err(Fault::of)?;
                let field = Arc::new(entries_field(fields));
                let map = MapArray::try_new(field, taken_offsets(offsets), entries, nulls, false);
                Arc::new(map.map_err(Fault::of)?)
            }
            Values::Record(values, fields) => {
                let rows = mem::take(values);
                let arrays = finish_fields(fields)?;
                let fields = fields_of(fields, true);
                Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, rows).map_err(Fault::of)?)
            }
            Values::Union(ids, offsets, branches) => {
                let arrays: Vec<ArrayRef> =
                    branches.iter_mut().map(Column::finish).collect::<Result<_, _>>()?;
                let fields = branch_fields(arrays.iter().map(|array| array.data_type().clone()).collect())?;
                let ids = mem::take(ids).into();
                let union = UnionArray::try_new(fields, ids, Some(mem::take(offsets).into()), arrays);
                Arc::new(union.map_err(Fault::of)?)
            }
        })
    }
}

/// Returns the symbols of an enum as an array.
pub(super) fn symbols<'a>(names: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(names))
}

/// Returns the index of the union's type that a NULL is stored as: the type null, or else the first type.
fn place_of_null(branches: &[Column]) -> usize {
    branches.iter().position(Column::is_null).unwrap_or(0)
}

fn push<T>(values: &mut Vec<T>, value: T, room: &mut Room) -> Result<(), Fault> {
    room.take(size_of::<T>() as u64)?;
    values.push(value);
    Ok(())
}

/// Reads the items of an array or a map, and returns their number.
fn read_items(
    from: &mut Cursor<'_>,
    may_be_empty: bool,
    mut read: impl FnMut(&mut Cursor<'_>) -> Result<(), Fault>,
) -> Result<u64, Fault> {
    let mut count = 0;
    loop {
        let items = from.items()?;
        if items == 0 {
            return Ok(count);
        }
        if may_be_empty && items > EMPTY_ITEMS_MAX - count {
            return Err(Fault::Damaged("an array has more than a million items that take no bytes"));
        }
        for _ in 0..items {
            read(from)?;
        }
        count += items;
    }
}

/// Records the end of an array or a map of `count` items. The end fits 31 bits, as each item takes memory, which is bounded, or at least a
/// byte of the block.
fn end_items(offsets: &mut Vec<i32>, count: u64, room: &mut Room) -> Result<(), Fault> {
    let end = offsets.last().copied().unwrap_or_default() + count as i32;
    push(offsets, end, room)
}

/// Reads a duration: months, days and milliseconds.
fn duration(from: &mut Cursor<'_>) -> Result<IntervalMonthDayNano, Fault> {
    let [months, days, millis] = [from.array()?, from.array()?, from.array()?].map(u32::from_le_bytes);
    let [Ok(months), Ok(days)] = [months, days].map(i32::try_from) else {
        return Err(Fault::Damaged("a duration has more than 2147483647 months or days"));
    };
    Ok(IntervalMonthDayNano::new(months, days, i64::from(millis) * 1_000_000))
}

fn numbers<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>, Fault> {
    PrimitiveArray::try_new(ScalarBuffer::from(mem::take(values)), nulls).map_err(Fault::of)
}

fn primitive<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Fault> {
    Ok(Arc::new(numbers::<T>(values, nulls)?))
}

fn moments<T: ArrowTimestampType>(
    values: &mut Vec<i64>,
    nulls: Option<NullBuffer>,
    utc: bool,
) -> Result<ArrayRef, Fault> {
    let moments = numbers::<T>(values, nulls)?;
    Ok(Arc::new(moments.with_timezone_opt(utc.then_some(UTC))))
}
