//! Records: a row as bytes ([§2.1](https://www.sqlite.org/fileformat2.html#record_format)).
//!
//! ```text
//!  +-------------+------+------+-----+--------+--------+-----+
//!  | header size | type | type | ... | value  | value  | ... |
//!  +-------------+------+------+-----+--------+--------+-----+
//!   varint        varint each         content_bytes(type) bytes each
//! ```
//!
//! The header size includes its own bytes.
//!
//! This is the plain encoder of one row at a time. It writes rows of SQLite's own tables, such as the schema table, and the tests compare
//! the engine's column-wise encoder with it.

use crate::value::{Class, FIXED_BYTES, SerialType, Value};
use crate::varint;

/// Returns the size of a record header, including its size field, for `types_bytes` bytes of serial types.
///
/// The size field counts itself, so a header with 127 bytes of types needs a second byte for its size.
#[inline]
pub const fn header_bytes(types_bytes: usize) -> usize {
    let mut n = 1;
    while varint::len((types_bytes + n) as u64) > n {
        n += 1;
    }
    types_bytes + n
}

/// Appends the record of `values` to `out`.
///
/// # Panics
/// On a NaN: SQLite has none, so the caller must write NULL instead.
pub fn encode(values: &[Value<'_>], out: &mut Vec<u8>) {
    let types_bytes = values.iter().map(|v| varint::len(SerialType::of(v).0)).sum();
    varint::push(out, header_bytes(types_bytes) as u64);
    for value in values {
        varint::push(out, SerialType::of(value).0);
    }
    for value in values {
        push_content(value, out);
    }
}

/// Appends a value's content in a record's body. Its size is [`SerialType::content_bytes`] of the value's serial type.
///
/// # Panics
/// On a NaN.
pub fn push_content(value: &Value<'_>, out: &mut Vec<u8>) {
    match *value {
        Value::Null => {}
        Value::Int(i) => {
            let width = FIXED_BYTES[SerialType::of_int(i).0 as usize] as usize;
            out.extend_from_slice(&i.to_be_bytes()[8 - width..]);
        }
        Value::Real(r) => {
            assert!(!r.is_nan(), "a NaN reached the record");
            out.extend_from_slice(&r.to_be_bytes());
        }
        Value::Text(bytes) | Value::Blob(bytes) => out.extend_from_slice(bytes),
    }
}

/// The reason why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The header size is cut off, too small or too large, or a serial type crosses the header's end.
    Header,
    /// A serial type is 10 or 11.
    ReservedType,
    /// The values take more or fewer bytes than the record has, or a float is NaN where this is checked ([`count_fields`]).
    Body,
}

/// Decodes a whole record.
///
/// # Errors
/// When the bytes are not a record. The header and the values must take exactly all of the bytes.
pub fn decode(record: &[u8]) -> Result<Vec<Value<'_>>, RecordError> {
    let (header_size, mut at) = varint::read(record).ok_or(RecordError::Header)?;
    let header =
        usize::try_from(header_size).ok().and_then(|n| record.get(..n)).ok_or(RecordError::Header)?;
    let mut body = &record[header.len()..];
    let mut values = Vec::new();
    while at < header.len() {
        let (serial, n) = varint::read(&header[at..]).ok_or(RecordError::Header)?;
        at += n;
        let serial = SerialType(serial);
        let bytes = serial.content_bytes().ok_or(RecordError::ReservedType)?;
        let (content, rest) =
            usize::try_from(bytes).ok().and_then(|n| body.split_at_checked(n)).ok_or(RecordError::Body)?;
        body = rest;
        values.push(value(serial, content).ok_or(RecordError::ReservedType)?);
    }
    if at != header.len() {
        return Err(RecordError::Header);
    }
    if body.is_empty() { Ok(values) } else { Err(RecordError::Body) }
}

/// Returns the value with the serial type `serial` that is stored at the start of `content`; `None` if the type is reserved, or `content`
/// is too short.
pub fn value(serial: SerialType, content: &[u8]) -> Option<Value<'_>> {
    let bytes = usize::try_from(serial.content_bytes()?).ok()?;
    let content = content.get(..bytes)?;
    Some(match serial.class()? {
        Class::Null => Value::Null,
        Class::Int => Value::Int(if serial.0 >= 8 { serial.0 as i64 - 8 } else { int(content) }),
        Class::Real => Value::Real(f64::from_bits(int(content) as u64)),
        Class::Text => Value::Text(content),
        Class::Blob => Value::Blob(content),
    })
}

/// Returns the number of fields of a valid record. Checks the whole record except the values, of which only floats are checked for NaN. A
/// valid record can be compared with others by a [`KeyOrder`](crate::key::KeyOrder) of at most this number of columns.
///
/// # Errors
/// Like [`decode`], and when a float is NaN.
pub fn count_fields(record: &[u8]) -> Result<usize, RecordError> {
    match count_short_fields(record) {
        Some(fields) => Ok(fields),
        None => count_any_fields(record),
    }
}

/// Counts the fields of a record whose serial types have a single byte each, as in nearly all records. Returns `None` for other or invalid
/// records.
#[inline]
fn count_short_fields(record: &[u8]) -> Option<usize> {
    let header = usize::from(*record.first()?);
    let types = record.get(1..header)?;
    let mut end = header;
    for &serial in types {
        end += match serial {
            ..=9 => usize::from(FIXED_BYTES[usize::from(serial)]),
            12..0x80 => usize::from(serial - 12) / 2,
            _ => return None,
        };
        if u64::from(serial) == SerialType::REAL.0 {
            let real = record.get(..end)?.last_chunk()?;
            if f64::from_be_bytes(*real).is_nan() {
                return None;
            }
        }
    }
    (header < 0x80 && end == record.len()).then_some(types.len())
}

fn count_any_fields(record: &[u8]) -> Result<usize, RecordError> {
    let (header_size, mut at) = varint::read(record).ok_or(RecordError::Header)?;
    let header =
        usize::try_from(header_size).ok().and_then(|n| record.get(..n)).ok_or(RecordError::Header)?;
    let mut body = header.len() as u64;
    let mut fields = 0;
    while at < header.len() {
        let (serial, n) = varint::read(&header[at..]).ok_or(RecordError::Header)?;
        at += n;
        let start = body;
        let bytes = SerialType(serial).content_bytes().ok_or(RecordError::ReservedType)?;
        body = body.checked_add(bytes).filter(|end| *end <= record.len() as u64).ok_or(RecordError::Body)?;
        let is_real = SerialType(serial) == SerialType::REAL;
        if is_real && f64::from_bits(int(&record[start as usize..body as usize]) as u64).is_nan() {
            return Err(RecordError::Body);
        }
        fields += 1;
    }
    match (at == header.len(), body == record.len() as u64) {
        (true, true) => Ok(fields),
        (true, false) => Err(RecordError::Body),
        (false, _) => Err(RecordError::Header),
    }
}

/// A number to add to the integers in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shift {
    /// The index of the field.
    pub field: usize,
    /// The number to add to the integers.
    pub add: i64,
    /// The smallest integer that is changed: smaller integers stay.
    pub from: i64,
    /// `true` if a record may lack the field, like a record from before ADD COLUMN. The field then has a default value, to which nothing is
    /// added.
    pub may_lack: bool,
}

impl Shift {
    /// Creates a shift that adds a number to all integers of a field.
    pub fn all(field: usize, add: i64) -> Shift {
        Shift { field, add, from: i64::MIN, may_lack: false }
    }

    fn of(&self, int: i64) -> Result<i64, ShiftError> {
        if int < self.from { Ok(int) } else { int.checked_add(self.add).ok_or(ShiftError::TooLarge) }
    }
}

/// The reason why a number can't be added to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShiftError {
    /// The bytes are not a record.
    Record,
    /// The record lacks the field.
    Lacking,
    /// The field is neither an integer nor NULL.
    NotAnInteger,
    /// The sum is not a 64-bit integer.
    TooLarge,
}

/// The maximum number of fields that [`shift`] changes without decoding the record.
const SHIFTS_MAX: usize = 4;

/// Appends a record to `out`, with a number added to the integers in some of its fields. `shifts` must ascend by field. NULL stays NULL.
/// Fields without a shift keep their values.
///
/// # Errors
/// When the number can't be added. `out` may then have additional bytes.
pub fn shift(record: &[u8], shifts: &[Shift], out: &mut Vec<u8>) -> Result<(), ShiftError> {
    let header = usize::from(*record.first().ok_or(ShiftError::Record)?);
    if header > SHORT_HEADER_MAX || shifts.len() > SHIFTS_MAX {
        return shift_any(record, shifts, out);
    }
    let types = record.get(1..header).ok_or(ShiftError::Record)?;
    let start = out.len();
    out.push(0);
    let (mut at, mut field, mut content) = (0, 0, header);
    let mut next = shifts.iter().peekable();
    // The start and end of each changed field's content, and its sum.
    let mut sums = [(0, 0, 0); SHIFTS_MAX];
    let mut found = 0;
    while let Some(&&shift) = next.peek() {
        if at == types.len() {
            if next.any(|shift| !shift.may_lack) {
                return Err(ShiftError::Lacking);
            }
            break;
        }
        let (serial, n) = types.get(at..).and_then(varint::read).ok_or(ShiftError::Record)?;
        let serial = SerialType(serial);
        let bytes = serial.content_bytes().ok_or(ShiftError::Record)?;
        let end = usize::try_from(bytes).ok().and_then(|bytes| content.checked_add(bytes));
        let end = end.filter(|end| *end <= record.len()).ok_or(ShiftError::Record)?;
        if field == shift.field {
            next.next();
            if serial.class() == Some(Class::Null) {
                out.push(serial.0 as u8);
            } else {
                let sum = sum(serial, &record[content..end], shift)?;
                out.push(SerialType::of_int(sum).0 as u8);
                sums[found] = (content, end, sum);
                found += 1;
            }
        } else {
            out.extend_from_slice(&types[at..at + n]);
        }
        (at, field, content) = (at + n, field + 1, end);
    }
    out.extend_from_slice(&types[at..]);
    // A changed serial type takes one byte, never more than before.
    out[start] = (out.len() - start) as u8;
    let mut copied = header;
    for &(start, end, sum) in &sums[..found] {
        out.extend_from_slice(&record[copied..start]);
        push_content(&Value::Int(sum), out);
        copied = end;
    }
    out.extend_from_slice(&record[copied..]);
    Ok(())
}

/// The largest header whose size takes one byte.
const SHORT_HEADER_MAX: usize = 0x7f;

fn shift_any(record: &[u8], shifts: &[Shift], out: &mut Vec<u8>) -> Result<(), ShiftError> {
    let mut values = decode(record).map_err(|_| ShiftError::Record)?;
    for shift in shifts {
        match values.get_mut(shift.field) {
            None if shift.may_lack => {}
            None => return Err(ShiftError::Lacking),
            Some(Value::Null) => {}
            Some(Value::Int(int)) => *int = shift.of(*int)?,
            Some(_) => return Err(ShiftError::NotAnInteger),
        }
    }
    encode(&values, out);
    Ok(())
}

fn sum(serial: SerialType, content: &[u8], shift: Shift) -> Result<i64, ShiftError> {
    if serial.class() != Some(Class::Int) {
        return Err(ShiftError::NotAnInteger);
    }
    let value = if content.is_empty() { serial.0 as i64 - 8 } else { int(content) };
    shift.of(value)
}

/// Returns the integer in the last field of a record, such as the rowid in an index entry. Returns `None` if the last field is not an
/// integer.
#[inline]
pub fn last_int(record: &[u8]) -> Option<i64> {
    let header = usize::from(*record.first()?);
    if header > SHORT_HEADER_MAX {
        return match decode(record).ok()?.last() {
            Some(Value::Int(int)) => Some(*int),
            _ => None,
        };
    }
    // A byte above 0x7f belongs to a serial type of several bytes, whose last byte is smaller. An integer's type has one byte.
    let types = record.get(1..header)?;
    let serial = match types {
        [.., before, _] if *before >= 0x80 => return None,
        [.., last] => *last,
        [] => return None,
    };
    match serial {
        8 | 9 => Some(i64::from(serial) - 8),
        1..=6 => {
            let width = usize::from(FIXED_BYTES[usize::from(serial)]);
            Some(int(&record[record.len().checked_sub(width)?.max(header)..]))
        }
        _ => None,
    }
}

/// Parses a big-endian two's-complement integer of 1 to 8 bytes.
///
/// # Panics
/// If `bytes` is empty.
#[inline]
pub fn int(bytes: &[u8]) -> i64 {
    match *bytes {
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_be_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => {
            let sign = if bytes[0] >= 0x80 { -1 } else { 0 };
            bytes.iter().fold(sign, |value, &byte| (value << 8) | i64::from(byte))
        }
    }
}
