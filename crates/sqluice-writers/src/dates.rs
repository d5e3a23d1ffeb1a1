//! Parses ISO 8601 text to days or microseconds since 1970: `2024-02-29`, `2024-02-29 12:30`, `2024-02-29T12:30:05.25`.

use jiff::civil::{Date, DateTime};

/// Returns the days since 1970 of a date; `None` if the text is not exactly a date.
pub fn days(text: &[u8]) -> Option<i32> {
    let date: Date = std::str::from_utf8(text).ok().filter(|text| text.len() == 10)?.parse().ok()?;
    Some(days_of(date))
}

/// Returns the microseconds since 1970 of a date, or of a date with a time. Returns `None` if the text is neither, has a time zone, or
/// has fractions of a microsecond.
pub fn micros(text: &[u8]) -> Option<i64> {
    if let Some(days) = days(text) {
        return Some(i64::from(days) * 86_400_000_000);
    }
    let text = std::str::from_utf8(text).ok()?;
    let separator = text.as_bytes().get(10)?;
    if !matches!(separator, b' ' | b'T')
        || text.ends_with(|c: char| !c.is_ascii_digit())
        || text.contains(['+', '['])
    {
        return None;
    }
    let moment: DateTime = text.parse().ok()?;
    let time = moment.time();
    let nanos = i64::from(time.subsec_nanosecond());
    let seconds = (i64::from(time.hour()) * 60 + i64::from(time.minute())) * 60 + i64::from(time.second());
    (nanos % 1000 == 0)
        .then_some((i64::from(days_of(moment.date())) * 86_400 + seconds) * 1_000_000 + nanos / 1000)
}

/// Returns the days since 1970 ([days_from_civil](https://howardhinnant.github.io/date_algorithms.html#days_from_civil)).
fn days_of(date: Date) -> i32 {
    let (year, month, day) = (i32::from(date.year()), i32::from(date.month()), i32::from(date.day()));
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_timestamps_are_days_and_microseconds_since_1970() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("2024-02-29", Some(19_782)),
            ("1969-12-31", Some(-1)),
            ("0001-01-01", Some(-719_162)),
            ("2023-02-29", None),
            ("2024-2-9", None),
            ("2024-02-29 ", None),
            ("20240229", None),
            ("", None),
        ] {
            assert_eq!(days(text.as_bytes()), expected, "{text}");
        }
        let day = 86_400_000_000;
        for (text, expected) in [
            ("1970-01-02", Some(day)),
            ("1970-01-02 00:00", Some(day)),
            ("1970-01-01T00:00:01.5", Some(1_500_000)),
            ("1970-01-01 23:59:59.999999", Some(day - 1)),
            ("1970-01-01 00:00:00.1234567", None),
            ("1970-01-01 00:00:00Z", None),
            ("1970-01-01 00:00:00+01:00", None),
            ("1970-01-01 24:00", None),
            ("1970-01-01x00:00", None),
        ] {
            assert_eq!(micros(text.as_bytes()), expected, "{text}");
        }
    }
}
