//! Conversions of dates and times: texts such as `2000-01-01` (a day) and `2000-01-01 00:00:00` (a second), and seconds since 0000-03-01.

use crate::vector::SLACK;

/// The number of seconds in a day.
pub(super) const DAY: u32 = 86_400;
/// The length of a day as text, in bytes.
pub(super) const DAY_BYTES: usize = "2000-01-01".len();
/// The length of a day with a time as text, in bytes.
pub(super) const SECOND_BYTES: usize = "2000-01-01 00:00:00".len();

/// Parses a day, or a day and a time. Returns seconds since 0000-03-01; `None` if the text has another form or the day or time does not
/// exist.
pub(super) fn parse(text: &[u8]) -> Option<u64> {
    let number = |at: usize, digits: usize| {
        let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        text.get(at..at + digits)?.iter().try_fold(0, |number, &byte| Some(number * 10 + digit(byte)?))
    };
    let seconds = if text.len() == DAY_BYTES {
        0
    } else {
        (number(11, 2)? * 60 + number(14, 2)?) * 60 + number(17, 2)?
    };
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    if year == 0 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let moment = day_number(year, month, day) * u64::from(DAY) + seconds;
    // For an invalid date or time (31 June, 25 o'clock, a slash), the text written for the number differs from the given text.
    let mut written = [0; SECOND_BYTES + SLACK];
    write(moment, &mut written);
    (written[..text.len()] == *text).then_some(moment)
}

/// Parses a text in the form that [`moment_text`] writes, and returns the seconds since 0000-03-01; `None` for any other text.
pub fn moment_of_text(text: &[u8]) -> Option<u64> {
    if [DAY_BYTES, SECOND_BYTES].contains(&text.len()) { parse(text) } else { None }
}

/// Formats seconds since 0000-03-01, in the years from 1 to 9999, as a day or as a second.
pub fn moment_text(seconds: u64, is_day: bool) -> String {
    let mut text = [0; SECOND_BYTES + SLACK];
    write(seconds, &mut text);
    let width = if is_day { DAY_BYTES } else { SECOND_BYTES };
    String::from_utf8_lossy(&text[..width]).into_owned()
}

/// Adds `steps` to a text, in days if `text` is a day, else in seconds; `None` if `text` is not valid or the result is not in the years 1
/// to 9999.
pub(crate) fn shifted(text: &str, steps: i64) -> Option<String> {
    let width = text.len();
    let step = if width == DAY_BYTES { i64::from(DAY) } else { 1 };
    let moment = parse(text.as_bytes())?.checked_add_signed(steps.checked_mul(step)?)?;
    let mut written = [0; SECOND_BYTES + SLACK];
    write(moment, &mut written);
    let written = &written[..width];
    parse(written)?;
    String::from_utf8(written.to_vec()).ok()
}

/// Returns the day `days` days after `day`; `None` if `day` is not valid or the result is not in the years 1 to 9999.
pub(crate) fn shifted_day(day: &[u8; DAY_BYTES], days: i64) -> Option<[u8; DAY_BYTES]> {
    let moment = parse(day)?.checked_add_signed(days.checked_mul(DAY.into())?)?;
    let (first, last) = (day_number(1, 1, 1), day_number(9999, 12, 31));
    let mut written = [0; SECOND_BYTES + SLACK];
    write(moment.clamp(first * u64::from(DAY), last * u64::from(DAY)), &mut written);
    let is_in_range = (first..=last).contains(&(moment / u64::from(DAY)));
    written.first_chunk().copied().filter(|_| is_in_range)
}

/// Returns the number of days since 0000-03-01 in the Gregorian calendar. If years begin in March, the leap day is their last.
fn day_number(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let month = (month + 9) % 12;
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1
}

/// Returns year, month and day of a day's number: the inverse of [`day_number`].
#[inline(always)]
fn date(day: u32) -> (u32, u32, u32) {
    let era = day / 146_097;
    let day = day % 146_097;
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (year * 365 + year / 4 - year / 100);
    let month = (day * 5 + 2) / 153;
    let day = day - (month * 153 + 2) / 5 + 1;
    (era * 400 + year + u32::from(month >= 10), if month < 10 { month + 3 } else { month - 9 }, day)
}

/// Writes `moment`, seconds since 0000-03-01, as the text of a second; its first [`DAY_BYTES`] bytes are the day.
#[inline(always)]
pub(super) fn write(moment: u64, out: &mut [u8]) {
    let two = |number: u32| [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
    // The days of 10,000 years and the seconds of a day fit in 32 bits.
    let (year, month, day) = date((moment / u64::from(DAY)) as u32);
    let second = (moment % u64::from(DAY)) as u32;
    let ([a, b], [c, d], [e, f], [g, h]) = (two(year / 100), two(year % 100), two(month), two(day));
    let ([i, j], [k, l], [m, n]) = (two(second / 3600), two(second / 60 % 60), two(second % 60));
    out[..SECOND_BYTES]
        .copy_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h, b' ', i, j, b':', k, l, b':', m, n]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_and_parsed_as_by_the_date_functions_of_sqlite() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut next = connection.prepare("SELECT date('0001-01-01', ?1 || ' days')").unwrap();
        let first = day_number(1, 1, 1);
        // The step has no factor in common with weeks, months or years.
        for day in (0..3_652_059_u32).step_by(97) {
            let expected: String = next.query_row([day], |row| row.get(0)).unwrap();
            let mut text = [0; SECOND_BYTES];
            write((first + u64::from(day)) * u64::from(DAY), &mut text);
            assert_eq!(&text[..DAY_BYTES], expected.as_bytes());
            assert_eq!(parse(expected.as_bytes()), Some((first + u64::from(day)) * u64::from(DAY)));
        }
    }

    #[test]
    fn dates_and_timestamps_are_shifted_over_the_ends_of_months_and_years() {
        for (text, steps, expected) in [
            ("2024-02-28", 1, Some("2024-02-29")),
            ("2024-01-01", -1, Some("2023-12-31")),
            ("1999-12-31 23:59:59", 1, Some("2000-01-01 00:00:00")),
            ("9999-12-31", 1, None),
            ("0001-01-01", -1, None),
            ("2023-02-30", 1, None),
        ] {
            assert_eq!(shifted(text, steps).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_valid_date_or_timestamp_are_refused() {
        for text in [
            "2023-02-29",
            "1900-02-29",
            "2000-13-01",
            "2000-00-01",
            "2000-01-00",
            "2000/01/01",
            "0000-03-01",
            "+200-01-01",
            "2000-01-01 24:00:00",
            "2000-01-01 23:60:00",
            "2000-01-01T00:00:00",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert!(parse(b"2000-02-29").is_some() && parse(b"9999-12-31 23:59:59").is_some());
    }
}
