//! Turns numbers into dates, times and durations, if the format of their cell shows them so.
//!
//! ```text
//!  45322.5  yyyy-mm-dd hh:mm   2024-01-31 12:00:00        0.5  hh:mm    12:00:00
//!  45322    d/m/yy             2024-01-31                 1.5  [h]:mm   36:00:00
//! ```
//!
//! A number counts days since the start of 1900 or 1904. No part of the number is lost: a number with a fraction is a date with a time,
//! even if the format shows only the date; and so is a number of whole days if the format shows only the time. A number below 1 is a time
//! of day, except where numbers count from 1904 and the format shows a date: then it is a time on 1904-01-01. Numbers beyond 9999-12-31 and
//! negative numbers are not dates: programs show `####`, and the number is loaded. Like Lotus 1-2-3, Excel takes 1900 for a leap year:
//! number 60 is 1900-02-29, and the days before it are those that Excel shows. Times are rounded to milliseconds, as in Excel; a float that
//! counts days is not more precise.

use std::fmt::Write as _;

use sqluice_core::calendar::{DAY_SECONDS, clock, date, digits, nanoseconds};

/// The number of days from 1899-12-30 to 1970-01-01.
const DAYS_OF_1900: i64 = 25_569;

/// The number of days from 1904-01-01 to 1970-01-01.
const DAYS_OF_1904: i64 = 24_107;

const DAY_MILLISECONDS: i64 = DAY_SECONDS * 1000;

/// The meaning that the format of a cell gives a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shown {
    #[default]
    Number,
    Date,
    Time,
    DateTime,
    /// A duration, which may have more than 24 hours.
    Duration,
}

/// The day from which the numbers of a workbook count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Epoch {
    #[default]
    Of1900,
    Of1904,
}

impl Shown {
    /// Returns the meaning of the built-in number format with this id.
    pub(super) fn of_built_in(id: u32) -> Shown {
        match id {
            14..=17 | 27..=31 | 34..=36 | 50..=54 | 57..=58 => Shown::Date,
            18..=21 | 32..=33 | 45 | 47 | 55..=56 => Shown::Time,
            22 => Shown::DateTime,
            46 => Shown::Duration,
            _ => Shown::Number,
        }
    }

    /// Returns the meaning of a custom format such as `dd/mm/yyyy`. Only its first section is used, which is for positive numbers.
    pub(super) fn of_code(code: &str) -> Shown {
        let (mut days, mut months, mut clock) = (false, false, false);
        let mut characters = code.chars();
        while let Some(character) = characters.next() {
            match character {
                ';' => break,
                '"' => _ = characters.by_ref().find(|character| *character == '"'),
                '\\' | '_' | '*' => _ = characters.next(),
                '[' => {
                    let inside: String =
                        characters.by_ref().take_while(|character| *character != ']').collect();
                    let mut letters = inside.chars().map(|letter| letter.to_ascii_lowercase());
                    let first = letters.next();
                    if matches!(first, Some('h' | 'm' | 's')) && letters.all(|letter| Some(letter) == first) {
                        return Shown::Duration;
                    }
                }
                'G' | 'g'
                    if code.len() >= 7
                        && characters
                            .as_str()
                            .get(..6)
                            .is_some_and(|rest| rest.eq_ignore_ascii_case("eneral")) =>
                {
                    _ = characters.nth(5);
                }
                'y' | 'Y' | 'd' | 'D' => days = true,
                'm' | 'M' => months = true,
                'h' | 'H' | 's' | 'S' => clock = true,
                '0' | '#' | '?' if !(days || months || clock) => return Shown::Number,
                _ => {}
            }
        }
        // `m` means minutes if the format has hours or seconds.
        match (days || months && !clock, clock) {
            (true, true) => Shown::DateTime,
            (true, false) => Shown::Date,
            (false, true) => Shown::Time,
            (false, false) => Shown::Number,
        }
    }

    /// Writes a number as the date, time or duration that its format shows. Returns `false`, and writes nothing, if it is a plain number.
    pub(super) fn write(self, number: f64, epoch: Epoch, out: &mut String) -> bool {
        // The number of 10000-01-01 in the system of 1900, which is the first that is not a date.
        const NUMBER_END: f64 = 2_958_466.0;
        let is_moment = match self {
            Shown::Number => false,
            Shown::Duration => number.abs() < NUMBER_END,
            _ => (0.0..NUMBER_END).contains(&number),
        };
        if !is_moment {
            return false;
        }
        let milliseconds = (number * DAY_MILLISECONDS as f64).round() as i64;
        if self == Shown::Duration {
            write_duration(milliseconds, out);
            return true;
        }
        let (day, time) = (milliseconds / DAY_MILLISECONDS, milliseconds % DAY_MILLISECONDS);
        // In the system of 1900, day 0 is not a date; in the system of 1904, it is the first date.
        let is_time = number < 1.0 && (self == Shown::Time || epoch == Epoch::Of1900);
        if is_time && day == 0 {
            write_time(time, out);
            return true;
        }
        let start = out.len();
        if !write_day(day, epoch, out) {
            out.truncate(start);
            return false;
        }
        if time != 0 || self != Shown::Date {
            out.push(' ');
            write_time(time, out);
        }
        true
    }
}

fn write_day(day: i64, epoch: Epoch, out: &mut String) -> bool {
    let since_1970 = match epoch {
        Epoch::Of1904 => day - DAYS_OF_1904,
        Epoch::Of1900 if day == 60 => {
            out.push_str("1900-02-29");
            return true;
        }
        Epoch::Of1900 => day - DAYS_OF_1900 + i64::from(day < 60),
    };
    date(since_1970, out).is_some()
}

fn write_time(milliseconds: i64, out: &mut String) {
    clock(milliseconds / 1000, out);
    nanoseconds(milliseconds % 1000 * 1_000_000, out);
}

/// Writes a duration: hours, minutes and seconds, such as `36:00:00`.
pub(super) fn write_duration(milliseconds: i64, out: &mut String) {
    if milliseconds < 0 {
        out.push('-');
    }
    let milliseconds = milliseconds.unsigned_abs().cast_signed();
    let seconds = milliseconds / 1000;
    _ = write!(out, "{:02}", seconds / 3600);
    out.push(':');
    digits(seconds / 60 % 60, 2, out);
    out.push(':');
    digits(seconds % 60, 2, out);
    nanoseconds(milliseconds % 1000 * 1_000_000, out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(number: f64, code: &str, epoch: Epoch) -> String {
        let mut text = String::new();
        match Shown::of_code(code).write(number, epoch, &mut text) {
            true => text,
            false => format!("{number}"),
        }
    }

    #[test]
    fn the_format_of_a_cell_makes_its_number_a_date_a_time_or_a_duration() {
        for (code, expected) in [
            ("General", Shown::Number),
            ("0.00", Shown::Number),
            ("#,##0.00 [$€-407]", Shown::Number),
            ("0.00E+00", Shown::Number),
            ("0 \"days\"", Shown::Number),
            ("\"d\"0", Shown::Number),
            ("[Red]0;[Blue]-0", Shown::Number),
            ("@", Shown::Number),
            ("# ?/?", Shown::Number),
            ("0\\d", Shown::Number),
            ("yyyy-mm-dd", Shown::Date),
            ("[$-409]d-mmm-yy;@", Shown::Date),
            ("mmm", Shown::Date),
            ("dd/mm/yyyy hh:mm", Shown::DateTime),
            ("yyyy\\-mm\\-dd\\Thh:mm:ss.000", Shown::DateTime),
            ("h:mm AM/PM", Shown::Time),
            ("mm:ss.0", Shown::Time),
            ("[h]:mm", Shown::Duration),
            ("[mm]:ss", Shown::Duration),
            ("[Color 10]d.m.", Shown::Date),
            ("General;d", Shown::Number),
        ] {
            assert_eq!(Shown::of_code(code), expected, "{code}");
        }
    }

    #[test]
    fn numbers_become_the_dates_that_excel_shows() {
        let of_1900 = |number, code| shown(number, code, Epoch::Of1900);
        assert_eq!(of_1900(1.0, "d/m/yy"), "1900-01-01");
        assert_eq!(of_1900(59.0, "d/m/yy"), "1900-02-28");
        assert_eq!(of_1900(60.0, "d/m/yy"), "1900-02-29");
        assert_eq!(of_1900(61.0, "d/m/yy"), "1900-03-01");
        assert_eq!(of_1900(45_322.0, "d/m/yy"), "2024-01-31");
        assert_eq!(of_1900(45_322.5, "d/m/yy"), "2024-01-31 12:00:00");
        assert_eq!(of_1900(45_322.0, "d/m/yy h:mm"), "2024-01-31 00:00:00");
        assert_eq!(of_1900(0.75, "h:mm"), "18:00:00");
        assert_eq!(of_1900(1.75, "h:mm"), "1900-01-01 18:00:00");
        assert_eq!(of_1900(1.75, "[h]:mm"), "42:00:00");
        assert_eq!(of_1900(-0.5, "[h]:mm"), "-12:00:00");
        assert_eq!(of_1900(0.5 + 0.5 / 86_400.0, "h:mm:ss.0"), "12:00:00.500");
        assert_eq!(of_1900(2_958_465.0, "d/m/yy"), "9999-12-31");
        assert_eq!(of_1900(2_958_466.0, "d/m/yy"), "2958466");
        assert_eq!(of_1900(-1.0, "d/m/yy"), "-1");
        let of_1904 = |number, code| shown(number, code, Epoch::Of1904);
        assert_eq!(of_1904(0.0, "d/m/yy"), "1904-01-01");
        assert_eq!(of_1904(43_860.0, "d/m/yy"), "2024-01-31");
        assert_eq!(of_1904(0.25, "h:mm"), "06:00:00");
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn any_number_with_any_format_becomes_text_or_stays_a_number(number: f64, code in "[ydmhsGe0#;\"\\\\\\[\\]_ .:é]{0,12}") {
            for epoch in [Epoch::Of1900, Epoch::Of1904] {
                let mut text = String::new();
                let is_moment = Shown::of_code(&code).write(number, epoch, &mut text);
                prop_assert_eq!(is_moment, !text.is_empty());
            }
        }
    }
}
