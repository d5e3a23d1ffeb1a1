//! The stored form of a column of a batch, with affinity applied and serial types known.
//!
//! Each column of a batch gets one of four forms, by the class of its values and the affinity of the table's column. The first three forms
//! copy nothing, or eight bytes per value. The last form copies the values, for rare cases.

use std::cell::Cell;
use std::ops::Range;

use multiversion::multiversion;
use sqluice_format::record;
use sqluice_format::value::{FIXED_BYTES, SerialType};
use sqluice_format::varint;

use sqluice_core::affinity::{self, Affinity, Loss, StrictType};
use sqluice_core::batch::{Bitmap, Bytes, Column, Spans, Value, Values};

/// The stored form of a column.
#[derive(Clone, Copy)]
pub(super) enum Stored<'a> {
    /// NULL in every row.
    Null,
    /// Numbers and NULLs.
    Numbers {
        serials: Serials<'a>,
        /// The values, in the low bytes: integers, or the bits of floats.
        bits: &'a [i64],
    },
    /// Texts or blobs, and NULLs.
    Bytes { bytes: Bytes<'a>, serials: BytesSerials<'a> },
    /// Any values, as concatenated bytes: row `i` is `data[ends[i - 1]..ends[i]]`.
    Mixed { serials: &'a [u64], data: &'a [u8], ends: &'a [usize] },
}

/// The serial types of numbers: one for all values, or one for each value.
#[derive(Clone, Copy)]
pub(super) enum Serials<'a> {
    Same(u8),
    Each { serials: &'a [u8], width: Width },
}

/// The serial types of texts or blobs: one type if all have the same length, or one for each value.
#[derive(Clone, Copy)]
pub(super) enum BytesSerials<'a> {
    Same { serial: u64, len: usize },
    Each(&'a [u32]),
}

/// The sizes of a column's values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// All values have this size.
    Same(usize),
    /// A size for each row, by its serial type.
    Varies,
}

/// The buffers of one column, which are reused for every batch.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    serials: Vec<u8>,
    bits: Vec<i64>,
    bytes_serials: Vec<u32>,
    long_serials: Vec<u64>,
    data: Vec<u8>,
    ends: Vec<usize>,
    text: Vec<u8>,
}

/// The result of converting the texts of a column to numbers.
enum Numbers {
    /// Integers and NULLs.
    Ints,
    /// Integers, floats and NULLs.
    Any,
    /// Some texts are no numbers.
    No,
}

impl<'a> Stored<'a> {
    /// Applies `affinity` to `rows` values of `column`. Sets `lost` if a text lost something when it became a number ([`Loss`]).
    pub(super) fn new(
        column: &Column<'a>,
        rows: usize,
        affinity: Affinity,
        scratch: &'a mut Scratch,
        lost: &Cell<bool>,
    ) -> Stored<'a> {
        use Affinity::{Blob, Integer, Numeric, Real, Text};
        let Column { values, validity } = *column;
        match (values, affinity) {
            (Values::Null, _) => Stored::Null,
            (Values::Int(ints), Integer | Numeric | Blob) => {
                self::ints(&ints[..rows], validity, &mut scratch.serials)
            }
            (Values::Int(ints), Real) => {
                scratch.numbers(rows, validity, |row| affinity::stored_real_of_int(ints[row]))
            }
            (Values::Real(reals), Blob) => scratch.numbers(rows, validity, |row| Value::Real(reals[row])),
            (Values::Real(reals), Integer | Numeric) => {
                scratch.numbers(rows, validity, |row| affinity::real_to_int(reals[row]))
            }
            (Values::Real(reals), Real) => {
                scratch.numbers(rows, validity, |row| affinity::stored_real(reals[row]))
            }
            (Values::Text(bytes), Text | Blob) => {
                scratch.bytes(bytes, rows, validity, SerialType::of_text(0).0)
            }
            (Values::Blob(bytes), _) => scratch.bytes(bytes, rows, validity, SerialType::of_blob(0).0),
            (Values::Text(bytes), Integer | Numeric | Real) => {
                // Texts at arbitrary positions, as in files, get a loop of their own, so that the kind of spans is not looked up again for
                // each row.
                let numbers = match bytes.spans {
                    Spans::Anywhere(spans) => scratch.try_numbers_of_text(
                        (bytes.data, |row: usize| spans[row].range()),
                        (rows, validity, affinity, lost),
                    ),
                    _ => scratch.try_numbers_of_text(
                        (bytes.data, |row| bytes.range(row)),
                        (rows, validity, affinity, lost),
                    ),
                };
                match numbers {
                    Numbers::Ints => ints(&scratch.bits, validity, &mut scratch.serials),
                    Numbers::Any => scratch.as_numbers(),
                    Numbers::No => scratch.mixed(column, rows, affinity, lost),
                }
            }
            (Values::Int(_) | Values::Real(_), Text) | (Values::Any(_), _) => {
                scratch.mixed(column, rows, affinity, lost)
            }
        }
    }

    /// Returns `true` if any row is NULL.
    pub(super) fn has_null(&self) -> bool {
        match self {
            Stored::Null => true,
            Stored::Numbers { serials: Serials::Same(serial), .. } => *serial == 0,
            Stored::Numbers { serials: Serials::Each { serials, .. }, .. } => serials.contains(&0),
            Stored::Bytes { serials: BytesSerials::Same { .. }, .. } => false,
            Stored::Bytes { serials: BytesSerials::Each(serials), .. } => serials.contains(&0),
            Stored::Mixed { serials, .. } => serials.contains(&0),
        }
    }

    /// Returns the serial type of all rows and the size of all values, each if it is the same in all rows.
    pub(super) fn uniform(&self) -> (Option<u64>, Option<usize>) {
        match self {
            Stored::Null => (Some(0), Some(0)),
            Stored::Numbers { serials: Serials::Same(serial), .. } => {
                (Some(u64::from(*serial)), Some(FIXED_BYTES[*serial as usize] as usize))
            }
            Stored::Numbers { serials: Serials::Each { width, .. }, .. } => match *width {
                Width::Same(width) => (None, Some(width)),
                Width::Varies => (None, None),
            },
            Stored::Bytes { serials: BytesSerials::Same { serial, len }, .. } => (Some(*serial), Some(*len)),
            Stored::Bytes { .. } | Stored::Mixed { .. } => (None, None),
        }
    }

    /// Adds, for each row, the size of the column's serial type to `types`, and the size of its value to `payload`.
    pub(super) fn add_sizes(&self, types: &mut [u32], payload: &mut [u32]) {
        match self {
            Stored::Numbers { serials: Serials::Each { serials, .. }, .. } => {
                for (payload, &serial) in payload.iter_mut().zip(*serials) {
                    *payload = payload.saturating_add(FIXED_BYTES[serial as usize].into());
                }
                types.iter_mut().for_each(|types| *types += 1);
            }
            Stored::Bytes { serials: BytesSerials::Each(serials), .. } => {
                for (payload, &serial) in payload.iter_mut().zip(*serials) {
                    *payload = payload.saturating_add(bytes_of(serial));
                }
                if serials.iter().fold(0, |all, serial| all | serial) < 128 {
                    types.iter_mut().for_each(|types| *types += 1);
                } else {
                    types.iter_mut().zip(*serials).for_each(|(types, &serial)| *types += types_bytes(serial));
                }
            }
            _ => {
                for (row, (types, payload)) in types.iter_mut().zip(payload).enumerate() {
                    let serial = SerialType(self.serial(row));
                    *types += varint::len(serial.0) as u32;
                    let bytes = serial.content_bytes().unwrap_or(0);
                    *payload = payload.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
                }
            }
        }
    }

    /// Returns `true` if a column of a STRICT table accepts the value of `row`.
    pub(super) fn fits(&self, row: usize, strict: StrictType) -> bool {
        SerialType(self.serial(row)).class().is_some_and(|class| strict.fits(class))
    }

    /// Returns the serial type of `row`.
    #[inline]
    pub(super) fn serial(&self, row: usize) -> u64 {
        match self {
            Stored::Null => 0,
            Stored::Numbers { serials: Serials::Same(serial), .. } => u64::from(*serial),
            Stored::Numbers { serials: Serials::Each { serials, .. }, .. } => u64::from(serials[row]),
            Stored::Bytes { serials: BytesSerials::Same { serial, .. }, .. } => *serial,
            Stored::Bytes { serials: BytesSerials::Each(serials), .. } => u64::from(serials[row]),
            Stored::Mixed { serials, .. } => serials[row],
        }
    }

    /// Returns the source buffer and the byte range of the text of `row`, or `None` if the value is no text or is stored elsewhere.
    #[inline]
    pub(super) fn text(&self, row: usize) -> Option<(&'a [u8], (usize, usize))> {
        let Stored::Bytes { bytes, .. } = self else { return None };
        let range = bytes.range(row);
        let is_text = self.serial(row) % 2 == 1;
        is_text.then_some((bytes.data, (range.start, range.end)))
    }

    /// Returns the bytes of `row`'s value: a slice of the stored bytes, or of `number`.
    #[inline]
    pub(super) fn content<'b>(&'b self, row: usize, number: &'b mut [u8; 8]) -> &'b [u8] {
        match self {
            Stored::Null => &[],
            Stored::Numbers { bits, .. } => {
                *number = bits[row].to_be_bytes();
                &number[8 - FIXED_BYTES[self.serial(row) as usize] as usize..]
            }
            Stored::Bytes { bytes, .. } => {
                if self.serial(row) == 0 {
                    &[]
                } else {
                    bytes.get(row)
                }
            }
            Stored::Mixed { data, ends, .. } => {
                let start = if row == 0 { 0 } else { ends[row - 1] };
                &data[start..ends[row]]
            }
        }
    }
}

/// Returns the number of bytes of a string or NULL of this serial type.
#[inline(always)]
pub(super) fn bytes_of(serial: u32) -> u32 {
    serial.saturating_sub(12) / 2
}

/// Returns the number of bytes that a serial type takes in the record header, computed without branches, for vectorized loops.
#[inline(always)]
fn types_bytes(serial: u32) -> u32 {
    [7, 14, 21, 28].iter().fold(1, |bytes, bits| bytes + u32::from(serial >= 1 << bits))
}

/// Returns the stored form of unconverted integers. If they all have one sign and one width, and none is NULL, 0 or 1, no serial types are
/// computed.
fn ints<'a>(ints: &'a [i64], validity: Option<Bitmap<'_>>, serials: &'a mut Vec<u8>) -> Stored<'a> {
    let (min, max) = smallest_and_largest(ints);
    if validity.is_none() && min <= max {
        let (low, high) = (SerialType::of_int(min).0 as u8, SerialType::of_int(max).0 as u8);
        if min >= 0 && max <= 1 {
            serials.clear();
            serials.extend(ints.iter().map(|&i| 8 + i as u8));
            let serials = if low == high {
                Serials::Same(low)
            } else {
                Serials::Each { serials, width: Width::Same(0) }
            };
            return Stored::Numbers { serials, bits: ints };
        }
        // With one sign and one width, and without 0 and 1, all integers have the same serial type.
        if low == high && (min > 1 || max < 0) {
            return Stored::Numbers { serials: Serials::Same(low), bits: ints };
        }
    }
    serials.clear();
    serials.extend(ints.iter().map(|&i| SerialType::of_int(i).0 as u8));
    if let Some(validity) = validity {
        for (row, serial) in serials.iter_mut().enumerate() {
            *serial *= u8::from(validity.get(row));
        }
    }
    Stored::Numbers { serials: Serials::of(serials), bits: ints }
}

impl<'a> Serials<'a> {
    fn of(serials: &'a [u8]) -> Serials<'a> {
        let width_of = |serial: u8| FIXED_BYTES[serial as usize];
        let first = serials.first().copied().unwrap_or(0);
        if serials.iter().all(|&serial| serial == first) {
            return Serials::Same(first);
        }
        let same_width = serials.iter().all(|&serial| width_of(serial) == width_of(first));
        let width = if same_width { Width::Same(width_of(first) as usize) } else { Width::Varies };
        Serials::Each { serials, width }
    }
}

/// Returns the smallest and the largest integer, or `i64::MAX` and `i64::MIN` if `ints` is empty.
#[multiversion(targets("x86_64+avx2"))]
fn smallest_and_largest(ints: &[i64]) -> (i64, i64) {
    // A closure would be called instead of being inlined into the loop.
    let (mut min, mut max) = (i64::MAX, i64::MIN);
    for &int in ints {
        min = min.min(int);
        max = max.max(int);
    }
    (min, max)
}

/// Returns the value. Sets `lost` if there is a loss.
#[inline(always)]
fn note<'v>(lost: &Cell<bool>, (value, loss): (Value<'v>, Option<Loss>)) -> Value<'v> {
    if loss.is_some() {
        lost.set(true);
    }
    value
}

impl Scratch {
    /// Returns the stored form of strings. `base` is the serial type of an empty string.
    fn bytes<'a>(
        &'a mut self,
        bytes: Bytes<'a>,
        rows: usize,
        validity: Option<Bitmap<'_>>,
        base: u64,
    ) -> Stored<'a> {
        let serial_of = |len: usize| base + 2 * len as u64;
        if let (Spans::Fixed(len), None) = (bytes.spans, validity) {
            return Stored::Bytes { bytes, serials: BytesSerials::Same { serial: serial_of(len), len } };
        }
        let serials = &mut self.bytes_serials;
        serials.clear();
        // A record of more than 2 GB is refused, so the serial types of huge strings do not matter.
        let huge = u32::MAX - 1 + (base & 1) as u32;
        let serial = |len: u32| if len <= (u32::MAX - 13) / 2 { base as u32 + 2 * len } else { huge };
        match bytes.spans {
            Spans::Anywhere(spans) => serials.extend(spans[..rows].iter().map(|span| serial(span.len))),
            _ => serials.extend(
                (0..rows).map(|row| serial(u32::try_from(bytes.range(row).len()).unwrap_or(u32::MAX))),
            ),
        }
        if let Some(validity) = validity {
            for (row, serial) in serials.iter_mut().enumerate() {
                *serial *= u32::from(validity.get(row));
            }
        }
        let first = serials[0];
        // NULLs are excluded, as their spans are arbitrary.
        if first != 0 && serials.iter().all(|&serial| serial == first) {
            let same = BytesSerials::Same { serial: u64::from(first), len: bytes_of(first) as usize };
            return Stored::Bytes { bytes, serials: same };
        }
        Stored::Bytes { bytes, serials: BytesSerials::Each(serials) }
    }

    fn as_numbers(&self) -> Stored<'_> {
        Stored::Numbers { serials: Serials::of(&self.serials), bits: &self.bits }
    }

    /// Returns the stored form of the numbers and NULLs that a function returns for each row.
    fn numbers<'v>(
        &mut self,
        rows: usize,
        validity: Option<Bitmap<'_>>,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Stored<'_> {
        let all = self.try_numbers(rows, validity, value);
        debug_assert!(all, "numbers only");
        self.as_numbers()
    }

    /// Stores the numbers of texts in `data`, for `affinity`. The numbers of a column are mostly of one kind, so the kind of the first
    /// number is tried first.
    #[inline(always)]
    fn try_numbers_of_text(
        &mut self,
        (data, range): (&[u8], impl Fn(usize) -> Range<usize>),
        (rows, validity, affinity, lost): (usize, Option<Bitmap<'_>>, Affinity, &Cell<bool>),
    ) -> Numbers {
        let any =
            |part: Range<usize>| note(lost, affinity::part_to_number(data, part.start, part.end, affinity));
        let first = (0..rows).find(|&row| validity.is_none_or(|validity| validity.get(row)));
        let with_point = first.is_some_and(|row| data[range(row)].contains(&b'.'));
        if !with_point {
            let all = self.try_ints(rows, validity, |row| {
                let part = range(row);
                match affinity::whole(data, part.start, part.end) {
                    None => match any(part) {
                        Value::Int(int) => Some(int),
                        _ => None,
                    },
                    int => int,
                }
            });
            if all {
                return Numbers::Ints;
            }
        }
        let all = self.try_numbers(rows, validity, |row| {
            let part = range(row);
            affinity::decimal(data, part.start, part.end, affinity).unwrap_or_else(|| any(part))
        });
        if all { Numbers::Any } else { Numbers::No }
    }

    /// Stores the integers that a function returns. At the first result that is no integer, stops and returns `false`.
    #[inline]
    fn try_ints(
        &mut self,
        rows: usize,
        validity: Option<Bitmap<'_>>,
        int: impl Fn(usize) -> Option<i64>,
    ) -> bool {
        self.bits.resize(rows, 0);
        for (row, to) in self.bits.iter_mut().enumerate() {
            let present = validity.is_none_or(|validity| validity.get(row));
            let Some(int) = (if present { int(row) } else { Some(0) }) else { return false };
            *to = int;
        }
        true
    }

    /// Stores the numbers that a function returns. At the first result that is no number, stops and returns `false`.
    #[inline]
    fn try_numbers<'v>(
        &mut self,
        rows: usize,
        validity: Option<Bitmap<'_>>,
        value: impl Fn(usize) -> Value<'v>,
    ) -> bool {
        self.serials.resize(rows, 0);
        self.bits.resize(rows, 0);
        for (row, (to_serial, to_bits)) in self.serials.iter_mut().zip(&mut self.bits).enumerate() {
            let present = validity.is_none_or(|validity| validity.get(row));
            (*to_serial, *to_bits) = match if present { value(row) } else { Value::Null } {
                Value::Int(int) => (SerialType::of_int(int).0 as u8, int),
                Value::Real(real) if !real.is_nan() => (SerialType::REAL.0 as u8, real.to_bits() as i64),
                Value::Null | Value::Real(_) => (0, 0),
                Value::Text(_) | Value::Blob(_) => return false,
            };
        }
        true
    }

    /// Returns the stored form of any values, converted one at a time.
    pub(super) fn mixed(
        &mut self,
        column: &Column<'_>,
        rows: usize,
        affinity: Affinity,
        lost: &Cell<bool>,
    ) -> Stored<'_> {
        self.long_serials.clear();
        self.data.clear();
        self.ends.clear();
        for row in 0..rows {
            let value = match (column.get(row), affinity) {
                (Value::Text(text), Affinity::Integer | Affinity::Numeric | Affinity::Real) => {
                    note(lost, affinity::text_to_number_checked(text, affinity))
                }
                (value, _) => affinity::apply(value, affinity, &mut self.text),
            };
            self.long_serials.push(SerialType::of(&value).0);
            record::push_content(&value, &mut self.data);
            self.ends.push(self.data.len());
        }
        Stored::Mixed { serials: &self.long_serials, data: &self.data, ends: &self.ends }
    }
}
