//! The mask `shift()`: moves a date or time ("moment") by a distance that depends on a person, so that the dates of one person keep their
//! distances.
//!
//! | stored as | the shift changes |
//! |---|---|
//! | text `YYYY-MM-DD`, or an integer or text `YYYYMMDD` | the day |
//! | text `YYYY-MM-DD hh:mm:ss.fff`, also with `T` or a time zone; an integer or text `YYYYMMDDhhmmss` | day, time and fraction |
//! | another number of 10 million or more, an integer also as text | seconds, milli-, micro- or nanoseconds since 1970 |
//! | a number that is a Julian day of the years 1800 to 2199 | the day, and the time of a real number |
//! | a year from 1800 to 2199, or a year and a month | the year, or the month, by at least one |
//! | 0 and -1, which stand for an unknown moment | nothing |
//!
//! No other number is a moment. A number below 10 million that is neither a year, a month nor a Julian day is too small for a moment of our
//! time. It may be a count or an identifier, and equal shifts would show the differences of such numbers.

use sqluice_core::batch::Value;

use super::equality::{Equality, ValueHash};
use super::key::MaskKey;
use crate::functions::{moment_of_text, moment_text, shifted_day};
use crate::random::below64;

const DAY: i64 = 86_400;
const NANOS: i128 = 1_000_000_000;
/// The smallest integer that is taken for seconds since 1970: a time in April 1970.
const SECONDS_MIN: u64 = 10_000_000;
/// The end of the year 2199, in seconds since 1970.
const SECONDS_MAX: u64 = 7_258_118_399;
/// The units in which an integer may count time, as units per second: seconds, milli-, micro- and nanoseconds.
const UNITS: [u64; 4] = [1, 1000, 1_000_000, 1_000_000_000];
/// The years in which a number is taken for a date or time.
const YEARS: std::ops::RangeInclusive<i64> = 1800..=2199;
/// The Julian days of [`YEARS`].
const JULIAN: std::ops::Range<f64> = 2_378_496.5..2_524_593.5;
/// The length of a day and a time as text, in bytes.
const SECOND_BYTES: usize = "2000-01-01 00:00:00".len();
/// The maximum number of digits of a fraction of a second.
const FRACTION_MAX: usize = 9;

/// The mask `shift(days, person)`.
#[derive(Clone)]
pub(super) struct Shift {
    hash: ValueHash,
    /// The maximum number of days, back or ahead; at least 1.
    days: u64,
}

/// The time by which all dates of a person move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Distance {
    /// The number of days, never 0.
    pub(super) days: i64,
    /// The exact shift in nanoseconds: in the direction of `days`, and less than a day shorter.
    pub(super) nanos: i128,
}

/// The result of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// The value was masked, and the new value was passed to the caller's function.
    Yes,
    /// The value is a text or a blob that is not a date or time.
    NoMoment,
    /// The value is a number that is not a date or time.
    NoMomentNumber,
}

impl Shift {
    pub(super) fn new(key: &MaskKey, days: u64) -> Shift {
        Shift { hash: ValueHash::new(key, "shift"), days }
    }

    /// Returns the time by which the dates of `person` move.
    #[inline]
    pub(super) fn of(&self, person: Value<'_>, equality: Equality, folded: &mut Vec<u8>) -> Distance {
        let hash = match person {
            Value::Null => self.hash.of(Value::Blob(b"no person"), equality, folded),
            person => self.hash.of(person, equality, folded),
        };
        let drawn = below64(hash, 2 * self.days).cast_signed();
        let days = self.days.cast_signed();
        let days = if drawn < days { drawn - days } else { drawn - days + 1 };
        // The shift is not a whole number of days, so that times of the day are masked, too.
        let off = 1 + i128::from(below64(
            sqluice_core::splitmix::mix(hash),
            DAY.cast_unsigned() * NANOS as u64 - 1,
        ));
        Distance { days, nanos: i128::from(days * DAY) * NANOS - i128::from(days.signum()) * off }
    }

    /// Calls `put` with the shifted date or time, or with the old value if it is 0 or -1, which stand for an unknown date.
    pub(super) fn moment(old: Value<'_>, by: Distance, put: &mut impl FnMut(Value<'_>)) -> Moved {
        let number = match old {
            Value::Int(int) => moved_int(int, by).map(Value::Int),
            Value::Real(real) => moved_real(real, by).map(Value::Real),
            Value::Text(text) => {
                let mut made = Vec::with_capacity(text.len());
                if !Shift::text(text, by, &mut made) {
                    return Moved::NoMoment;
                }
                put(Value::Text(&made));
                return Moved::Yes;
            }
            Value::Null | Value::Blob(_) => return Moved::NoMoment,
        };
        number.map_or(Moved::NoMomentNumber, |number| {
            put(number);
            Moved::Yes
        })
    }

    /// Appends the shifted date or time as text. Returns `false` and appends nothing if `old` is not a date or time.
    #[inline]
    pub(super) fn text(old: &[u8], by: Distance, out: &mut Vec<u8>) -> bool {
        if let Ok(day) = <&[u8; 10]>::try_from(old)
            && let Some(moved) = shifted_day(day, by.days)
        {
            out.extend_from_slice(&moved);
            return true;
        }
        let made = moved_second(old, by).or_else(|| moved_digits(old, by));
        made.map(|made| out.extend_from_slice(made.as_bytes())).is_some()
    }
}

/// Converts a shift to units of which a second has `units_of_second`, rounded down.
fn in_units(by: Distance, units_of_second: u64) -> i128 {
    by.nanos.div_euclid(NANOS / i128::from(units_of_second))
}

/// Converts days to months or years, rounded, but never to 0. `each` is the number of days in a month or year.
fn rounded(days: i64, each: f64) -> i64 {
    days.signum() * (days.abs() as f64 / each).round().max(1.0) as i64
}

/// Returns the shifted date or time as an integer of the same form; `None` if `int` is not a date or time.
fn moved_int(int: i64, by: Distance) -> Option<i64> {
    if matches!(int, -1 | 0) {
        return Some(int);
    }
    let (year, month) = (int / 100, int % 100);
    if YEARS.contains(&int) {
        return Some(int + rounded(by.days, 365.2425));
    }
    if YEARS.contains(&year) && (1..=12).contains(&month) {
        let months = year * 12 + month - 1 + rounded(by.days, 30.436_875);
        return Some(months.div_euclid(12) * 100 + months.rem_euclid(12) + 1);
    }
    if let Some(day) = dashed(int) {
        return shifted_day(&day, by.days).and_then(|moved| digits_of(&moved));
    }
    if let Some(day) = dashed(int / 1_000_000) {
        let (day, time) = (String::from_utf8_lossy(&day), int % 1_000_000);
        let text = format!("{day} {:02}:{:02}:{:02}", time / 10_000, time / 100 % 100, time % 100);
        if let Some(moved) = moved_second(text.as_bytes(), by) {
            return digits_of(moved.as_bytes());
        }
    }
    if JULIAN.contains(&(int as f64)) {
        return Some(int + by.days);
    }
    let size = int.unsigned_abs();
    let unit = UNITS.into_iter().find(|unit| size / unit <= SECONDS_MAX)?;
    if size < SECONDS_MIN {
        return None;
    }
    i64::try_from(i128::from(int) + in_units(by, unit)).ok()
}

/// Converts the integer `YYYYMMDD` to the text `YYYY-MM-DD`; `None` if it is not a day of [`YEARS`].
fn dashed(int: i64) -> Option<[u8; 10]> {
    if !YEARS.contains(&(int / 10_000)) {
        return None;
    }
    let text = format!("{:04}-{:02}-{:02}", int / 10_000, int / 100 % 100, int % 100);
    text.as_bytes().try_into().ok().filter(|day: &[u8; 10]| moment_of_text(day).is_some())
}

/// Returns the digits of a text as one number, without its other characters; `None` if the number exceeds 64 bits.
fn digits_of(text: &[u8]) -> Option<i64> {
    let mut digits = text.iter().filter(|byte| byte.is_ascii_digit());
    digits.try_fold(0_i64, |all, byte| all.checked_mul(10)?.checked_add(i64::from(byte - b'0')))
}

/// Returns the shifted date or time as a real of the same form; `None` if `real` is not a date or time.
fn moved_real(real: f64, by: Distance) -> Option<f64> {
    if JULIAN.contains(&real) {
        return Some(real + by.nanos as f64 / (DAY as f64 * NANOS as f64));
    }
    if real.fract() == 0.0 && real.abs() < 9e18 {
        return moved_int(real as i64, by).map(|moved| moved as f64);
    }
    let size = real.abs();
    let unit = UNITS.into_iter().find(|unit| size / *unit as f64 <= SECONDS_MAX as f64)?;
    (size >= SECONDS_MIN as f64).then(|| real + by.nanos as f64 * (unit as f64 / NANOS as f64))
}

/// Returns a shifted day and time as text. Returns `None` if `old` is not a day with a time, or if anything but a time zone follows.
fn moved_second(old: &[u8], by: Distance) -> Option<String> {
    let (minute, rest) = old.split_at_checked("2000-01-01 00:00".len())?;
    if !matches!(minute[10], b' ' | b'T' | b't') {
        return None;
    }
    let mut whole: [u8; SECOND_BYTES] = *b"0000-00-00 00:00:00";
    whole[..10].copy_from_slice(&minute[..10]);
    whole[11..16].copy_from_slice(&minute[11..]);
    let (has_second, rest) = match rest {
        [b':', tens, ones, rest @ ..] => {
            whole[17..].copy_from_slice(&[*tens, *ones]);
            (true, rest)
        }
        rest => (false, rest),
    };
    let (fraction, zone) = match rest {
        [b'.', rest @ ..] if has_second => {
            rest.split_at(rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len()))
        }
        rest => (&[][..], rest),
    };
    let has_point = has_second && rest.first() == Some(&b'.');
    if !is_zone(zone) || fraction.len() > FRACTION_MAX || (has_point && fraction.is_empty()) {
        return None;
    }
    let scale = 10_u64.pow(fraction.len() as u32);
    let units = moment_of_text(&whole).map(|second| i128::from(second) * i128::from(scale))?;
    let units = units + i128::from(digits_of(fraction)?) + in_units(by, scale);
    let second = u64::try_from(units.div_euclid(scale.into())).ok()?;
    let text = moment_text(second, false);
    // The years end with 9999.
    if moment_of_text(text.as_bytes()) != Some(second) {
        return None;
    }
    let (day, time) = text.split_at(10);
    let mut made =
        format!("{day}{}{}", char::from(minute[10]), &time[1..if has_second { time.len() } else { 6 }]);
    if has_point {
        made += &format!(".{:0width$}", units.rem_euclid(scale.into()), width = fraction.len());
    }
    Some(made + std::str::from_utf8(zone).ok()?)
}

/// Returns `true` if a text is a time zone: empty, `Z`, `UTC`, `GMT` or an offset such as `+02:00`.
fn is_zone(zone: &[u8]) -> bool {
    match zone.trim_ascii_start() {
        [] => zone.is_empty(),
        [b'Z' | b'z'] | b"UTC" | b"GMT" => true,
        [b'+' | b'-', offset @ ..] => {
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            match offset {
                [hours @ .., b':', _, _] if hours.len() == 2 => {
                    offset.iter().filter(|byte| is_digit(byte)).count() == 4
                }
                _ => matches!(offset.len(), 2 | 4) && offset.iter().all(is_digit),
            }
        }
        _ => false,
    }
}

/// Returns a shifted date or time as text if `old` is a number or a year and a month (`YYYY-MM`).
fn moved_digits(old: &[u8], by: Distance) -> Option<String> {
    let text = std::str::from_utf8(old).ok()?;
    if let [year @ .., b'-', _, _] = old
        && year.len() == 4
        && old.iter().filter(|byte| byte.is_ascii_digit()).count() == 6
    {
        let moved = moved_int(digits_of(old)?, by)?;
        return Some(format!("{:04}-{:02}", moved / 100, moved % 100));
    }
    let int: i64 = text.parse().ok().filter(|int: &i64| int.to_string() == text)?;
    moved_int(int, by).map(|moved| moved.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by(days: i64) -> Distance {
        Distance {
            days,
            nanos: i128::from(days * DAY) * NANOS - i128::from(days.signum()) * (4_321 * NANOS + 250_000_001),
        }
    }

    fn moved(old: Value<'_>, by: Distance) -> Result<String, Moved> {
        let mut found = String::new();
        match Shift::moment(old, by, &mut |value| {
            found = match value {
                Value::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                Value::Int(int) => int.to_string(),
                Value::Real(real) => real.to_string(),
                _ => panic!(),
            }
        }) {
            Moved::Yes => Ok(found),
            not => Err(not),
        }
    }

    #[test]
    fn shifted_dates_and_times_are_those_of_sqlites_date_functions() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let ask = |sql: &str, text: &str, by: i128| {
            connection.query_row(sql, (text, by as i64), |row| row.get::<_, String>(0)).unwrap()
        };
        for days in [-400, -1, 1, 59, 365] {
            let by = by(days);
            let seconds = in_units(by, 1);
            for text in ["2024-02-29", "1999-12-31"] {
                let expected = ask("SELECT date(?1, ?2 || ' days')", text, days.into());
                assert_eq!(moved(Value::Text(text.as_bytes()), by), Ok(expected.clone()));
                let compact = |text: &str| text.replace('-', "");
                assert_eq!(moved(Value::Int(compact(text).parse().unwrap()), by), Ok(compact(&expected)));
                assert_eq!(moved(Value::Text(compact(text).as_bytes()), by), Ok(compact(&expected)));
            }
            for (text, zone) in [
                ("2024-02-29 00:00:01", ""),
                ("1999-12-31 23:59:59", "Z"),
                ("2020-05-06 07:08:09", "+02:00"),
                ("2020-05-06 07:08:09", " UTC"),
            ] {
                let expected = ask("SELECT datetime(?1, ?2 || ' seconds')", text, seconds);
                assert_eq!(
                    moved(Value::Text(format!("{text}{zone}").as_bytes()), by),
                    Ok(format!("{expected}{zone}"))
                );
                let (old, new) = (text.replace(' ', "T"), expected.replace(' ', "T"));
                assert_eq!(moved(Value::Text(old.as_bytes()), by), Ok(new));
                let expected = ask("SELECT strftime('%Y%m%d%H%M%S', ?1, ?2 || ' seconds')", text, seconds);
                let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                assert_eq!(moved(Value::Int(digits.parse().unwrap()), by), Ok(expected));
            }
            for unit in UNITS {
                for second in [1_700_000_000_i64, -300_000_000, 63_072_000] {
                    let old = second * unit as i64;
                    let expected = i128::from(old) + in_units(by, unit);
                    if second > 100_000_000 || unit == 1 {
                        assert_eq!(moved(Value::Int(old), by), Ok(expected.to_string()));
                        assert_eq!(
                            moved(Value::Text(old.to_string().as_bytes()), by),
                            Ok(expected.to_string())
                        );
                    }
                }
            }
        }
        assert_eq!(
            moved(Value::Text(b"2024-01-31 10:00:00.500"), by(1)),
            Ok("2024-02-01 08:47:59.249".to_owned())
        );
        assert_eq!(moved(Value::Text(b"2024-01-31 10:00"), by(1)), Ok("2024-02-01 08:47".to_owned()));
        assert_eq!(moved(Value::Text(b"2024-01"), by(59)), Ok("2024-03".to_owned()));
        for text in [
            "",
            "yesterday",
            "2023-02-30",
            "2024-01-011",
            "9999-12-31",
            "2024-01-31 Ann Meier",
            "2024-01-31 25:00:00",
            "2024-01-31 10:00:00 Ann",
            "2024-01-31T10:00:00.",
            "1961x",
            "0061",
        ] {
            assert_eq!(moved(Value::Text(text.as_bytes()), by(1)), Err(Moved::NoMoment), "{text}");
        }
    }

    #[test]
    fn small_numbers_are_shifted_as_years_and_julian_days_or_refused() {
        for unknown in [0, -1] {
            assert_eq!(moved(Value::Int(unknown), by(9)), Ok(unknown.to_string()));
            assert_eq!(moved(Value::Real(unknown as f64), by(9)), Ok(unknown.to_string()));
        }
        for (old, days, expected) in [
            (1961, 30, "1962"),
            (1961, -30, "1960"),
            (1961, 800, "1963"),
            (196_112, 30, "196201"),
            (2_451_545, -7, "2451538"),
        ] {
            assert_eq!(moved(Value::Int(old), by(days)), Ok(expected.to_owned()), "{old}");
            assert_eq!(
                moved(Value::Text(old.to_string().as_bytes()), by(days)),
                Ok(expected.to_owned()),
                "{old}"
            );
        }
        assert_eq!(moved(Value::Real(1961.0), by(30)), Ok("1962".to_owned()));
        for none in [1, 42, 107, 1799, 2200, 19_500, 43_831, 196_113, 9_999_999, i64::MAX, i64::MIN] {
            assert_eq!(moved(Value::Int(none), by(9)), Err(Moved::NoMomentNumber), "{none}");
        }
        assert_eq!(moved(Value::Real(0.5), by(9)), Err(Moved::NoMomentNumber));
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn a_shifted_number_differs_and_shows_no_time_of_day(old: i64, small in -100_000_000..100_000_000_i64, secret: [u8; 16]) {
            let shift = Shift::new(&MaskKey::new(secret).unwrap(), 30);
            for old in [old, small, small % 10_000] {
                let by = shift.of(Value::Null, Equality::default(), &mut Vec::new());
                if let Ok(new) = moved(Value::Int(old), by) && !matches!(old, 0 | -1) {
                    let new: i64 = new.parse().unwrap();
                    prop_assert!(new != old);
                    // The shift of a number of seconds is not a whole number of days, so the time of day changes. Greater numbers, which
                    // count parts of a second, are not tested.
                    let is_unix = old.unsigned_abs() >= SECONDS_MIN && new.abs_diff(old) > 36_525;
                    prop_assert!(!is_unix || new.rem_euclid(DAY) != old.rem_euclid(DAY) || old.unsigned_abs() > SECONDS_MAX);
                }
            }
        }
    }

    #[test]
    fn the_shift_of_a_person_is_at_most_the_given_days_and_never_zero() {
        let shift = Shift::new(&MaskKey::new([1; 16]).unwrap(), 3);
        let mut seen = [0; 7];
        for person in 0..6000 {
            let of = |value| shift.of(value, Equality::default(), &mut Vec::new());
            assert_eq!(of(Value::Int(person)), of(Value::Real(person as f64)));
            let Distance { days, nanos } = of(Value::Int(person));
            let day = i128::from(DAY) * NANOS;
            assert!(
                nanos != 0
                    && nanos.signum() as i64 == days.signum()
                    && nanos.abs() < i128::from(days.abs()) * day
            );
            assert!(nanos.abs() >= i128::from(days.abs() - 1) * day && nanos % day != 0);
            seen[(days + 3) as usize] += 1;
        }
        assert_eq!(seen[3], 0);
        assert!(seen.iter().enumerate().all(|(at, count)| at == 3 || *count > 850), "{seen:?}");
    }
}
