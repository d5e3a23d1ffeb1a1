//! The Gregorian calendar: days and seconds since 1970 as years, months and days, and as ISO 8601 text.

/// The number of seconds of a day.
pub const DAY_SECONDS: i64 = 86_400;

/// The days whose year has four digits, 0000-01-01 to 9999-12-31, counted from 1970-01-01.
const FOUR_DIGITS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;

/// Returns the year, month and day that is this number of days after 1970-01-01. The number is between -2^62 and 2^62.
pub fn year_month_day(days: i64) -> (i64, i64, i64) {
    // Days since 0000-03-01, in eras of 400 years, as in "chrono-Compatible Low-Level Date Algorithms": if years begin in March, the
    // leap day is their last.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Appends the date that is `days` days after 1970-01-01. Returns `None`, and appends nothing, if its year does not have four digits.
pub fn date(days: i64, out: &mut String) -> Option<()> {
    FOUR_DIGITS.contains(&days).then(|| {
        let (year, month, day) = year_month_day(days);
        digits(year, 4, out);
        out.push('-');
        digits(month, 2, out);
        out.push('-');
        digits(day, 2, out);
    })
}

/// Appends the time of day that is `seconds` after midnight, as `HH:MM:SS`.
pub fn clock(seconds: i64, out: &mut String) {
    digits(seconds / 3600, 2, out);
    out.push(':');
    digits(seconds / 60 % 60, 2, out);
    out.push(':');
    digits(seconds % 60, 2, out);
}

/// Appends a fraction of a second, given in nanoseconds: a point and 3, 6 or 9 digits, as few as it needs. Zero appends nothing.
pub fn nanoseconds(fraction: i64, out: &mut String) {
    let (value, width) = match fraction {
        0 => return,
        _ if fraction % 1_000_000 == 0 => (fraction / 1_000_000, 3),
        _ if fraction % 1000 == 0 => (fraction / 1000, 6),
        _ => (fraction, 9),
    };
    out.push('.');
    digits(value, width, out);
}

/// Appends the last `width` digits of a number that is not negative, with zeros before a shorter number.
pub fn digits(value: i64, width: u32, out: &mut String) {
    for place in (0..width).rev() {
        out.push(char::from(b'0' + (value / 10i64.pow(place) % 10) as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_only_if_its_year_has_four_digits() {
        let written = |days| {
            let mut out = String::new();
            date(days, &mut out).map(|()| out)
        };
        for (days, expected) in [
            (-719_529, None),
            (-719_528, Some("0000-01-01")),
            (-1, Some("1969-12-31")),
            (11_016, Some("2000-02-29")),
            (47_541, Some("2100-03-01")),
            (2_932_896, Some("9999-12-31")),
            (2_932_897, None),
            (i64::MAX, None),
            (i64::MIN, None),
        ] {
            assert_eq!(written(days).as_deref(), expected, "{days}");
        }
        assert_eq!(year_month_day(-719_529), (-1, 12, 31));
        assert_eq!(year_month_day(2_932_897), (10_000, 1, 1));
    }
}
