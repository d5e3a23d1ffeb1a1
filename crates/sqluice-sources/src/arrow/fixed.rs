//! Writes fixed-size binaries that are UUIDs or intervals of Parquet.
//!
//! ```text
//!  UUID        16 bytes, in the order of the text: 550e8400-e29b-41d4-a716-446655440000
//!  INTERVAL    months | days | milliseconds, little-endian, 32 bits each: P1M2DT3.500S
//! ```

use std::fmt::Write;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::IntervalUnit;

use super::moment;

/// Writes a UUID as text.
pub(super) fn uuid(array: &dyn Array, at: usize, out: &mut String) {
    for (index, byte) in array.as_fixed_size_binary().value(at).iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        let _ = write!(out, "{byte:02x}");
    }
}

/// Writes an interval as text. With `MonthDayNano` the numbers are unsigned, as Parquet specifies. The other units come from an Arrow schema
/// in the file, and the writers of such files also store negative numbers.
pub(super) fn interval(array: &dyn Array, unit: IntervalUnit, at: usize, out: &mut String) {
    let bytes = array.as_fixed_size_binary().value(at);
    let [months, days, milliseconds] = [0, 4, 8].map(|start| {
        let number = bytes.get(start..).and_then(|rest| rest.first_chunk());
        let number = u32::from_le_bytes(number.copied().unwrap_or_default());
        match unit {
            IntervalUnit::MonthDayNano => i64::from(number),
            IntervalUnit::YearMonth | IntervalUnit::DayTime => i64::from(number.cast_signed()),
        }
    });
    moment::interval(months, days, milliseconds * 1_000_000, out);
}
