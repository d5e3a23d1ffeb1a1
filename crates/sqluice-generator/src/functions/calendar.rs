//! Days and seconds as text, and as numbers that can be drawn and added to.

use crate::vector::SLACK;

/// Seconds of a day.
pub(super) const DAY: u32 = 86_400;
/// Bytes of a day as text.
pub(super) const DAY_BYTES: usize = "2000-01-01".len();
/// Bytes of a day and a second as text.
pub(super) const SECOND_BYTES: usize = "2000-01-01 00:00:00".len();

/// A day or a second, if it is one.
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
    // Whatever else is wrong (31 June, 25 o'clock, a slash) does not come back as it went in.
    let mut written = [0; SECOND_BYTES + SLACK];
    write(moment, &mut written);
    (written[..text.len()] == *text).then_some(moment)
}

/// The seconds since 0000-03-01 of a day or a second as text, as [`moment_text`] writes it.
pub fn moment_of_text(text: &[u8]) -> Option<u64> {
    if [DAY_BYTES, SECOND_BYTES].contains(&text.len()) { parse(text) } else { None }
}

/// A number of seconds since 0000-03-01, of the years from 1 to 9999, as text: as a day, or as a second.
pub fn moment_text(seconds: u64, is_day: bool) -> String {
    let mut text = [0; SECOND_BYTES + SLACK];
    write(seconds, &mut text);
    let width = if is_day { DAY_BYTES } else { SECOND_BYTES };
    String::from_utf8_lossy(&text[..width]).into_owned()
}

/// The day or second `steps` days or seconds after `text`, in the same form; years from 1 to 9999.
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

/// The day that many days after another one; years from 1 to 9999.
pub(crate) fn shifted_day(day: &[u8; DAY_BYTES], days: i64) -> Option<[u8; DAY_BYTES]> {
    let moment = parse(day)?.checked_add_signed(days.checked_mul(DAY.into())?)?;
    let (first, last) = (day_number(1, 1, 1), day_number(9999, 12, 31));
    let mut written = [0; SECOND_BYTES + SLACK];
    write(moment.clamp(first * u64::from(DAY), last * u64::from(DAY)), &mut written);
    let is_in_range = (first..=last).contains(&(moment / u64::from(DAY)));
    written.first_chunk().copied().filter(|_| is_in_range)
}

/// Days since 0000-03-01 in the Gregorian calendar. Years that begin in March end with the day that only some have.
fn day_number(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let month = (month + 9) % 12;
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1
}

/// Year, month and day of a day's number: the inverse of [`day_number`].
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

/// Writes day and second.
#[inline(always)]
pub(super) fn write(moment: u64, out: &mut [u8]) {
    let two = |number: u32| [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
    // Days of 10,000 years and seconds of a day fit easily.
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
    fn days_are_what_sqlite_says_they_are() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mut next = connection.prepare("SELECT date('0001-01-01', ?1 || ' days')").unwrap();
        let first = day_number(1, 1, 1);
        // A step that has no factor in common with weeks, months or years.
        for day in (0..3_652_059_u32).step_by(97) {
            let expected: String = next.query_row([day], |row| row.get(0)).unwrap();
            let mut text = [0; SECOND_BYTES];
            write((first + u64::from(day)) * u64::from(DAY), &mut text);
            assert_eq!(&text[..DAY_BYTES], expected.as_bytes());
            assert_eq!(parse(expected.as_bytes()), Some((first + u64::from(day)) * u64::from(DAY)));
        }
    }

    #[test]
    fn days_and_seconds_are_shifted_over_the_ends_of_months_and_years() {
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
    fn what_is_no_day_or_second_is_refused() {
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
