//! Dates and times in a given format, converted to the ISO 8601 text that SQLite's date functions read.
//!
//! ```text
//!  %d.%m.%Y            31.1.2024                 2024-01-31
//!  %m/%d/%y %I:%M %p   01/31/24 01:45 PM         2024-01-31 13:45:00
//!  %F %T.%f            2024-01-31 13:45:00.5     2024-01-31 13:45:00.500
//!  %FT%T%z             2024-01-31T13:45:00+01:00 2024-01-31 12:45:00+00:00
//! ```
//!
//! A fraction has 3, 6 or 9 digits, as few as it needs, and none if it is zero. Times with an offset become UTC. So the texts of a column
//! sort by time, and have the same form as the texts of Parquet and Arrow.
//!
//! A number may lack its leading zeros, unless it is a year or another digit follows it: `%Y%m%d` takes eight digits, `%d.%m.%Y` also
//! `1.2.2024`.
//! So a text has only one reading. All other characters of the format must stand in the text; case does not matter in names.
//!
//! Invariant: SQLite's `date` and `strftime` find the same day and time in each converted text.

use std::fmt;

use jiff::{SignedDuration, civil};
use sqluice_core::error::Message;

use super::Fault;

/// The directives of a format, for messages.
pub const DIRECTIVES: &str = "%Y year, %y year of two digits (69 to 99 are 1969 to 1999), %m month, %b or %B its English name, short or long, \
                              %d or %e day, %j day of the year, %a or %A name of the weekday, %H hour, %I hour of 12 with %p AM or PM, \
                              %M minute, %S second, %f its fraction, %z zone such as +0100 or Z, %Z UTC or GMT, %F for %Y-%m-%d, \
                              %T for %H:%M:%S, %% a percent sign";

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The part of a date that a directive gives. A format gives each part at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatePart {
    Year,
    Month,
    Day,
    DayOfYear,
    Weekday,
    Hour,
    Half,
    Minute,
    Second,
    Fraction,
    Zone,
}

impl DatePart {
    fn words(self) -> &'static str {
        match self {
            DatePart::Year => "the year",
            DatePart::Month => "the month",
            DatePart::Day => "the day",
            DatePart::DayOfYear => "the day of the year",
            DatePart::Weekday => "the weekday",
            DatePart::Hour => "the hour",
            DatePart::Half => "AM or PM",
            DatePart::Minute => "the minute",
            DatePart::Second => "the second",
            DatePart::Fraction => "the fraction of a second",
            DatePart::Zone => "the zone",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Literal(Vec<u8>),
    /// `min` to `max` digits.
    Number {
        part: DatePart,
        min: usize,
        max: usize,
    },
    /// The last two digits of the year.
    ShortYear,
    /// The hour of a 12-hour clock.
    Hour12 {
        min: usize,
    },
    /// A day with an optional blank before it.
    PaddedDay {
        min: usize,
    },
    MonthName,
    WeekdayName,
    Half,
    Fraction,
    Offset,
    ZoneName,
}

/// A format of dates, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateFormat {
    text: String,
    items: Vec<Item>,
    has_time: bool,
    has_zone: bool,
}

/// The parts of a date and time that a text has.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    year: u32,
    month: u32,
    day: u32,
    day_of_year: Option<u32>,
    weekday: Option<u32>,
    hour: u32,
    /// `true` if the hour is of a 12-hour clock.
    of_twelve: bool,
    afternoon: bool,
    minute: u32,
    second: u32,
    nanoseconds: u32,
    /// The offset from UTC, in minutes.
    offset: i64,
}

impl DateFormat {
    /// Parses a format, or returns the reason why it can't be used, and a hint.
    pub(super) fn parse(text: &str) -> Result<DateFormat, (String, Message)> {
        let directives = || Message::from(format!("directives are {DIRECTIVES}"));
        let expanded = text.replace("%%", "\0").replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S");
        let (mut items, mut parts) = (Vec::new(), Vec::new());
        let mut rest = expanded.as_str();
        while let Some(first) = rest.chars().next() {
            if first != '%' {
                let end = rest.find('%').unwrap_or(rest.len());
                items.push(Item::Literal(rest[..end].replace('\0', "%").into_bytes()));
                rest = &rest[end..];
                continue;
            }
            let mut after = rest[1..].chars();
            let (part, item) = match after.next().and_then(directive) {
                Some(known) => known,
                None => {
                    let directive: String = rest.chars().take(2).collect();
                    let directive = directive.replace('\0', "%");
                    return Err((format!("{directive:?} is not a directive that is known"), directives()));
                }
            };
            if parts.contains(&part) {
                return Err((format!("it has {} twice", part.words()), directives()));
            }
            parts.push(part);
            items.push(item);
            rest = after.as_str();
        }
        if let Some(why) = incomplete(&parts) {
            return Err((why, directives()));
        }
        let items = fixed_before_digits(items)?;
        let (has_time, has_zone) = (parts.contains(&DatePart::Hour), parts.contains(&DatePart::Zone));
        Ok(DateFormat { text: text.to_owned(), items, has_time, has_zone })
    }

    /// Returns `true` if the format has a time of day.
    pub(super) fn has_time(&self) -> bool {
        self.has_time
    }

    /// Appends the converted date of a text.
    pub(super) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut moment = self.read(text).ok_or(Fault::Mismatch)?;
        moment.complete()?;
        moment.shift_to_utc().ok_or(Fault::NoSuchTime("in UTC it is beyond the years 1 to 9999"))?;
        moment.write_date(out);
        if !self.has_time {
            return Ok(());
        }
        moment.write_time(out);
        moment.write_fraction(out);
        if self.has_zone {
            out.extend_from_slice(b"+00:00");
        }
        Ok(())
    }

    fn read(&self, text: &[u8]) -> Option<Moment> {
        let mut moment = Moment::default();
        let mut rest = text;
        for item in &self.items {
            moment.take(item, &mut rest)?;
        }
        rest.is_empty().then_some(moment)
    }
}

/// Returns the meaning of the character behind a percent sign.
fn directive(letter: char) -> Option<(DatePart, Item)> {
    let number = |part, max| (part, Item::Number { part, min: 1, max });
    Some(match letter {
        'Y' => (DatePart::Year, Item::Number { part: DatePart::Year, min: 4, max: 4 }),
        'y' => (DatePart::Year, Item::ShortYear),
        'm' => number(DatePart::Month, 2),
        'b' | 'B' => (DatePart::Month, Item::MonthName),
        'd' => number(DatePart::Day, 2),
        'e' => (DatePart::Day, Item::PaddedDay { min: 1 }),
        'j' => number(DatePart::DayOfYear, 3),
        'a' | 'A' => (DatePart::Weekday, Item::WeekdayName),
        'H' => number(DatePart::Hour, 2),
        'I' => (DatePart::Hour, Item::Hour12 { min: 1 }),
        'p' => (DatePart::Half, Item::Half),
        'M' => number(DatePart::Minute, 2),
        'S' => number(DatePart::Second, 2),
        'f' => (DatePart::Fraction, Item::Fraction),
        'z' => (DatePart::Zone, Item::Offset),
        'Z' => (DatePart::Zone, Item::ZoneName),
        _ => return None,
    })
}

/// Returns the reason why a format is incomplete, or has parts that do not go together.
fn incomplete(parts: &[DatePart]) -> Option<String> {
    let has = |part| parts.contains(&part);
    if has(DatePart::DayOfYear) && (has(DatePart::Month) || has(DatePart::Day)) {
        return Some("it has the day of the year beside month or day".to_owned());
    }
    let mut needed = vec![DatePart::Year];
    if !has(DatePart::DayOfYear) {
        needed.extend([DatePart::Month, DatePart::Day]);
    }
    let needs = [
        (DatePart::Half, DatePart::Hour),
        (DatePart::Minute, DatePart::Hour),
        (DatePart::Second, DatePart::Minute),
        (DatePart::Fraction, DatePart::Second),
        (DatePart::Zone, DatePart::Hour),
    ];
    needed.extend(needs.into_iter().filter(|(part, _)| has(*part)).map(|(_, needed)| needed));
    needed.into_iter().find(|part| !has(*part)).map(|part| format!("{} is missing in it", part.words()))
}

/// Makes each number of the format take its largest number of digits if a digit may follow it. Returns an error if a fraction, which has
/// one to nine digits, stands before a digit, or if the format has only one of `%I` and `%p`.
fn fixed_before_digits(mut items: Vec<Item>) -> Result<Vec<Item>, (String, Message)> {
    let is_twelve = |item: &Item| matches!(item, Item::Hour12 { .. });
    if items.contains(&Item::Half) != items.iter().any(is_twelve) {
        let why = "%I and %p belong together".to_owned();
        return Err((why, "use both, or %H for hours from 0 to 23".into()));
    }
    for index in 1..items.len() {
        let is_digit = match &items[index] {
            Item::Literal(text) => text.first().is_some_and(u8::is_ascii_digit),
            Item::Number { .. }
            | Item::ShortYear
            | Item::Hour12 { .. }
            | Item::PaddedDay { .. }
            | Item::Fraction => true,
            _ => false,
        };
        match &mut items[index - 1] {
            Item::Number { min, max, .. } if is_digit => *min = *max,
            Item::PaddedDay { min } | Item::Hour12 { min } if is_digit => *min = 2,
            Item::Fraction if is_digit => {
                let why = "%f takes all digits that follow".to_owned();
                return Err((why, "put a separator behind %f, which is not a digit".into()));
            }
            _ => {}
        }
    }
    Ok(items)
}

impl Moment {
    /// Reads an item of the format from the start of a text.
    fn take(&mut self, item: &Item, rest: &mut &[u8]) -> Option<()> {
        match item {
            Item::Literal(text) => *rest = rest.strip_prefix(text.as_slice())?,
            Item::Number { part, min, max } => {
                let number = number(rest, *min, *max)?;
                match part {
                    DatePart::Year => self.year = number,
                    DatePart::Month => self.month = number,
                    DatePart::Day => self.day = number,
                    DatePart::DayOfYear => self.day_of_year = Some(number),
                    DatePart::Hour => self.hour = number,
                    DatePart::Minute => self.minute = number,
                    _ => self.second = number,
                }
            }
            Item::ShortYear => {
                let year = number(rest, 2, 2)?;
                self.year = if year < 69 { 2000 + year } else { 1900 + year };
            }
            Item::Hour12 { min } => (self.hour, self.of_twelve) = (number(rest, *min, 2)?, true),
            Item::PaddedDay { min } => {
                let padded = rest.strip_prefix(b" ");
                *rest = padded.unwrap_or(rest);
                self.day = if padded.is_some() { number(rest, 1, 1)? } else { number(rest, *min, 2)? };
            }
            Item::MonthName => self.month = name(rest, &MONTHS)? + 1,
            Item::WeekdayName => self.weekday = Some(name(rest, &WEEKDAYS)?),
            Item::Half => self.afternoon = word(rest, &["AM", "PM"])? == 1,
            Item::Fraction => {
                let before = rest.len();
                let digits = number(rest, 1, 9)?;
                self.nanoseconds = digits * 10u32.pow(9 - u32::try_from(before - rest.len()).ok()?);
            }
            Item::Offset => self.offset = offset(rest)?,
            Item::ZoneName => drop(word(rest, &["UTC", "GMT", "Z"])?),
        }
        Some(())
    }

    /// Turns local time into UTC; `None` if the result lies beyond the years 1 to 9999.
    fn shift_to_utc(&mut self) -> Option<()> {
        if self.offset == 0 {
            return Some(());
        }
        let part = |number: u32| i8::try_from(number).ok();
        let date =
            civil::Date::new(i16::try_from(self.year).ok()?, part(self.month)?, part(self.day)?).ok()?;
        let time = civil::Time::new(part(self.hour)?, part(self.minute)?, part(self.second)?, 0).ok()?;
        let utc = date.to_datetime(time).checked_sub(SignedDuration::from_mins(self.offset)).ok()?;
        self.year = u32::try_from(utc.year()).ok().filter(|year| *year > 0)?;
        (self.month, self.day) = (utc.month().unsigned_abs().into(), utc.day().unsigned_abs().into());
        (self.hour, self.minute) = (utc.hour().unsigned_abs().into(), utc.minute().unsigned_abs().into());
        Some(())
    }

    /// Computes the missing parts, and checks that the date and time exist.
    fn complete(&mut self) -> Result<(), Fault> {
        if let Some(day) = self.day_of_year {
            self.day = day;
            self.month = 1;
            while self.month < 12 && self.day > self.month_days() {
                self.day -= self.month_days();
                self.month += 1;
            }
        }
        if !(1..=12).contains(&self.month) {
            return Err(Fault::NoSuchTime("a year has 12 months"));
        }
        if !(1..=self.month_days()).contains(&self.day) {
            return Err(Fault::NoSuchTime("that month has no such day"));
        }
        if self.weekday.is_some_and(|weekday| weekday != self.weekday()) {
            return Err(Fault::NoSuchTime("that day is another weekday"));
        }
        if self.of_twelve {
            if !(1..=12).contains(&self.hour) {
                return Err(Fault::NoSuchTime("hours are 1 to 12"));
            }
            self.hour = self.hour % 12 + if self.afternoon { 12 } else { 0 };
        }
        if self.hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(Fault::NoSuchTime("a day ends at 23:59:59"));
        }
        Ok(())
    }

    fn month_days(&self) -> u32 {
        let is_leap =
            self.year.is_multiple_of(4) && !self.year.is_multiple_of(100) || self.year.is_multiple_of(400);
        match self.month {
            2 => 28 + u32::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Returns the number of days after Sunday, by Sakamoto's rule.
    fn weekday(&self) -> u32 {
        const SHIFTS: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
        // The calendar repeats after 400 years, so 400 may be added. January of year 0 counts as year -1, which `u32` can't hold.
        let year = self.year + 400 - u32::from(self.month < 3);
        (year + year / 4 - year / 100 + year / 400 + SHIFTS[self.month as usize - 1] + self.day) % 7
    }

    fn write_date(&self, out: &mut Vec<u8>) {
        two(self.year / 100, out);
        two(self.year % 100, out);
        out.push(b'-');
        two(self.month, out);
        out.push(b'-');
        two(self.day, out);
    }

    fn write_time(&self, out: &mut Vec<u8>) {
        for (before, number) in [(b' ', self.hour), (b':', self.minute), (b':', self.second)] {
            out.push(before);
            two(number, out);
        }
    }

    fn write_fraction(&self, out: &mut Vec<u8>) {
        let nanoseconds = format!("{:09}", self.nanoseconds);
        let digits = nanoseconds.trim_end_matches('0').len().next_multiple_of(3);
        if digits > 0 {
            out.push(b'.');
            out.extend_from_slice(&nanoseconds.as_bytes()[..digits]);
        }
    }
}

fn two(number: u32, out: &mut Vec<u8>) {
    out.extend([number / 10 % 10, number % 10].map(|digit| b'0' + digit as u8));
}

/// Reads a number of `min` to `max` digits.
fn number(rest: &mut &[u8], min: usize, max: usize) -> Option<u32> {
    let digits = rest.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = rest.split_at(digits);
    *rest = after;
    let number = number.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    (digits >= min).then_some(number)
}

/// Reads one of `words`, and returns its index.
fn word(rest: &mut &[u8], words: &[&str]) -> Option<u32> {
    for (index, word) in (0..).zip(words) {
        let start = rest.get(..word.len());
        if start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes())) {
            *rest = &rest[word.len()..];
            return Some(index);
        }
    }
    None
}

/// Reads one of `names`, in full or its first three letters, and returns its index.
fn name(rest: &mut &[u8], names: &[&str]) -> Option<u32> {
    word(rest, names).or_else(|| {
        let short: Vec<&str> = names.iter().map(|name| &name[..3]).collect();
        word(rest, &short)
    })
}

/// Reads an offset from UTC, in minutes: `Z`, `+01`, `+0100`, `+01:00`.
fn offset(rest: &mut &[u8]) -> Option<i64> {
    /// The largest offset that SQLite reads.
    const HOURS_MAX: u32 = 14;
    if word(rest, &["Z"]).is_some() {
        return Some(0);
    }
    let sign = match word(rest, &["+", "-"])? {
        0 => 1,
        _ => -1,
    };
    let hours = number(rest, 2, 2)?;
    let minutes = match rest {
        [b':', after @ ..] => {
            *rest = after;
            number(rest, 2, 2)?
        }
        [b'0'..=b'9', ..] => number(rest, 2, 2)?,
        _ => 0,
    };
    (hours <= HOURS_MAX && minutes < 60).then_some(sign * i64::from(hours * 60 + minutes))
}

impl fmt::Display for DateFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
