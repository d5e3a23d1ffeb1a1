//! Days and moments, as the texts that SQLite's date functions read: `date`, `timestamp`.

use std::sync::Arc;

use super::bounds::{self, Between};
use super::{Arguments, Fault, Function, Generate, SMALL};
use crate::error::Result;
use crate::r#gen::generator::{Class, Domain, Scope, Size, World};
use crate::r#gen::parse::{Literal, Node};
use crate::r#gen::random::{Key, below32, below64};
use crate::r#gen::vector::{Kind, Rows, SLACK, Vector};

pub(super) const DATE: Function = Function {
    name: "date",
    signature: "date(a, b)",
    about: "a day from a to b, both included, as text",
    example: "date('2000-01-01', '2029-12-31')",
    build: |arguments| {
        arguments.count(2)?;
        if arguments.varies(0) || arguments.varies(1) {
            return Between::build(bounds::Kind::Date, arguments);
        }
        let (first, last) = (moment(arguments, 0, DAY_BYTES)?, moment(arguments, 1, DAY_BYTES)?);
        build(arguments, Moments { first, last, step: DAY })
    },
};

pub(super) const TIMESTAMP: Function = Function {
    name: "timestamp",
    signature: "timestamp(a, b)",
    about: "a second from a to b, both included, as text",
    example: "timestamp('2000-01-01 00:00:00', '2029-12-31 23:59:59')",
    build: |arguments| {
        arguments.count(2)?;
        if arguments.varies(0) || arguments.varies(1) {
            return Between::build(bounds::Kind::Timestamp, arguments);
        }
        let (first, last) = (moment(arguments, 0, SECOND_BYTES)?, moment(arguments, 1, SECOND_BYTES)?);
        build(arguments, Moments { first, last, step: 1 })
    },
};

pub(super) const DAY: u32 = 86_400;
pub(super) const DAY_BYTES: usize = "2000-01-01".len();
pub(super) const SECOND_BYTES: usize = "2000-01-01 00:00:00".len();

fn build(arguments: &Arguments<'_>, moments: Moments) -> Result<Arc<dyn Generate>, Fault> {
    if moments.last < moments.first {
        return Err(arguments.fault(arguments.place(1), "the second argument is no earlier than the first"));
    }
    Ok(Arc::new(moments))
}

/// Argument `index`, written in `bytes` bytes, in seconds since 0000-03-01.
fn moment(arguments: &Arguments<'_>, index: usize, bytes: usize) -> Result<u64, Fault> {
    let form = &"YYYY-MM-DD hh:mm:ss"[..bytes];
    let parsed = match &arguments.expr(index).node {
        Node::Literal(Literal::Text(text)) if text.len() == bytes => parse(text.as_bytes()),
        _ => None,
    };
    parsed.ok_or_else(|| arguments.wrong(index, &format!("a text of the form '{form}' from year 1 on")))
}

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

/// The day or second that is so many days or seconds after one, in the same form; years from 1 to 9999.
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

/// Moments in seconds since 0000-03-01, `step` apart.
#[derive(Debug)]
struct Moments {
    first: u64,
    last: u64,
    step: u32,
}

impl Moments {
    fn bytes(&self) -> usize {
        if self.step == DAY { DAY_BYTES } else { SECOND_BYTES }
    }
}

impl Moments {
    /// Makes the values of `row_count` rows.
    #[inline(always)]
    fn make(&self, key: Key, rows: impl Iterator<Item = u64>, row_count: usize, out: &mut Vector) {
        const { assert!(SLACK >= SECOND_BYTES) };
        let (first, step, width) = (self.first, u64::from(self.step), self.bytes());
        let count = (self.last - first) / step + 1;
        let out = out.fixed(Kind::Text, width, row_count);
        for (index, row) in rows.enumerate() {
            let bits = key.word(row);
            let drawn = if count <= SMALL {
                u64::from(below32(bits as u32, count as u32))
            } else {
                below64(bits, count)
            };
            write(first + drawn * step, &mut out[index * width..]);
        }
    }
}

impl Generate for Moments {
    fn fill(&self, at: Scope<'_>, rows: Rows, out: &mut Vector) -> Result<()> {
        self.make(at.key, (rows.first..).take(rows.count), rows.count, out);
        Ok(())
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        self.make(at.key, rows.iter().copied(), rows.len(), out);
        Ok(())
    }

    fn size(&self) -> Size {
        Size::exactly(self.bytes() as u64)
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

impl Domain for Moments {
    fn count(&self, _: &World) -> Result<u64> {
        Ok((self.last - self.first) / u64::from(self.step) + 1)
    }

    fn nth(&self, _: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        let width = self.bytes();
        let bytes = out.fixed(Kind::Text, width, numbers.len());
        for (index, number) in numbers.iter().enumerate() {
            write(self.first + number * u64::from(self.step), &mut bytes[index * width..]);
        }
        Ok(())
    }
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
