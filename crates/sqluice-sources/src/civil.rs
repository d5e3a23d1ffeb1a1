//! Dates and times of the calendar as ISO 8601 text.

/// The number of seconds of a day.
pub(crate) const DAY_SECONDS: i64 = 86_400;

/// Writes the date `days` days after 1970-01-01. `None`: its year does not have four digits.
pub(crate) fn date(days: i64, out: &mut String) -> Option<()> {
    // Days since 0000-03-01, in eras of 400 years, as in "chrono-Compatible Low-Level Date Algorithms".
    let days = days.checked_add(719_468)?;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (0..=9999).contains(&year).then(|| {
        digits(year, 4, out);
        out.push('-');
        digits(month, 2, out);
        out.push('-');
        digits(day, 2, out);
    })
}

/// Writes the hours, minutes and seconds of a time of day.
pub(crate) fn clock(seconds: i64, out: &mut String) {
    digits(seconds / 3600, 2, out);
    out.push(':');
    digits(seconds / 60 % 60, 2, out);
    out.push(':');
    digits(seconds % 60, 2, out);
}

/// Writes a fraction of a second, in nanoseconds: 3, 6 or 9 digits, as few as it needs, and none if it is zero.
pub(crate) fn nanoseconds(fraction: i64, out: &mut String) {
    let (value, width) = match fraction {
        0 => return,
        _ if fraction % 1_000_000 == 0 => (fraction / 1_000_000, 3),
        _ if fraction % 1000 == 0 => (fraction / 1000, 6),
        _ => (fraction, 9),
    };
    out.push('.');
    digits(value, width, out);
}

/// Writes a number that is not negative with zeros before it.
pub(crate) fn digits(value: i64, width: u32, out: &mut String) {
    for place in (0..width).rev() {
        out.push(char::from(b'0' + (value / 10i64.pow(place) % 10) as u8));
    }
}
