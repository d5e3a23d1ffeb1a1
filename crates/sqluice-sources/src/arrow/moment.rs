//! Writes dates, times, timestamps and intervals as ISO 8601 text.
//!
//! ```text
//!  2024-02-29    23:59:59.123    2024-02-29 23:59:59.123    2024-02-29 23:59:59.123+00:00    P1M2DT3.500S
//! ```
//!
//! A fraction of a second has 3, 6 or 9 digits: the fewest that are exact, and none if it is zero. So the texts of a column sort by time,
//! except intervals. Years are 0 to 9999. Dates in other years have no such text, and SQLite does not support them.

use std::fmt::Write;

use arrow_schema::TimeUnit;

pub(super) use sqluice_core::calendar::date;
use sqluice_core::calendar::{DAY_SECONDS, clock, nanoseconds};

const BILLION: i64 = 1_000_000_000;

/// Returns the number of units in a second.
pub(super) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => BILLION,
    }
}

/// Writes a time of day. Returns `None` if the value is not a time of day.
pub(super) fn time(value: i64, unit: TimeUnit, out: &mut String) -> Option<()> {
    let (seconds, fraction) = (value.div_euclid(per_second(unit)), value.rem_euclid(per_second(unit)));
    (0..DAY_SECONDS).contains(&seconds).then(|| {
        clock(seconds, out);
        nanoseconds(fraction * (BILLION / per_second(unit)), out);
    })
}

/// Writes a timestamp: `value` units after the start of 1970. With `utc`, the text ends in the offset of UTC.
pub(super) fn timestamp(value: i64, unit: TimeUnit, utc: bool, out: &mut String) -> Option<()> {
    let day = DAY_SECONDS * per_second(unit);
    date(value.div_euclid(day), out)?;
    out.push(' ');
    time(value.rem_euclid(day), unit, out)?;
    out.push_str(if utc { "+00:00" } else { "" });
    Some(())
}

/// Writes an interval of months, days and nanoseconds.
pub(super) fn interval(months: i64, days: i64, nanoseconds_in_all: i64, out: &mut String) {
    out.push('P');
    if months != 0 {
        let _ = write!(out, "{months}M");
    }
    if days != 0 {
        let _ = write!(out, "{days}D");
    }
    if nanoseconds_in_all != 0 || (months, days) == (0, 0) {
        out.push_str(if nanoseconds_in_all < 0 { "T-" } else { "T" });
        let nanos = nanoseconds_in_all.unsigned_abs();
        let _ = write!(out, "{}", nanos / BILLION as u64);
        nanoseconds((nanos % BILLION as u64) as i64, out);
        out.push('S');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::Connection;

    /// Returns SQLite's text for the time `seconds` seconds after the start of 1970.
    fn in_sqlite(seconds: i64) -> Option<String> {
        let connection = Connection::open_in_memory().unwrap();
        let sql = "SELECT strftime('%Y-%m-%d %H:%M:%S', ?1, 'unixepoch')";
        let text: Option<String> = connection.query_row(sql, [seconds], |row| row.get(0)).unwrap();
        text.filter(|text| !text.starts_with('-'))
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn timestamps_are_written_as_by_sqlite(seconds in -63_000_000_000..260_000_000_000i64) {
            let mut text = String::new();
            let written = timestamp(seconds, TimeUnit::Second, false, &mut text).map(|()| text);
            prop_assert_eq!(written, in_sqlite(seconds));
        }

        #[test]
        fn no_number_makes_formatting_a_date_or_timestamp_panic(value: i64) {
            for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
                let _ = timestamp(value, unit, true, &mut String::new());
                let _ = date(value, &mut String::new());
            }
        }
    }

    #[test]
    fn fractions_of_seconds_have_the_fewest_groups_of_three_digits() {
        let of = |nanos| {
            let mut text = String::new();
            time(nanos, TimeUnit::Nanosecond, &mut text).unwrap();
            text
        };
        assert_eq!(
            [of(0), of(500_000_000), of(1_000), of(1)],
            ["00:00:00", "00:00:00.500", "00:00:00.000001", "00:00:00.000000001"]
        );
    }
}
