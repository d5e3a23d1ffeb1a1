//! Dates and times ("moments") that are computed from others: `after`, `latest`.
//!
//! ```text
//!  after(x, a, b, last):     ── x ────── x + a days ────── x + b days ────── last ──>
//!                                        └─ the result is here ─┘
//! ```
//!
//! A moment is a day or a second as a text, or seconds since 1970 as an integer. The result may have another form than the argument.

use std::sync::Arc;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;

use super::calendar::{self, DAY, DAY_BYTES, SECOND_BYTES};
use super::{Arguments, Fault, Function, Generate, fill_all, size_of_all};
use crate::generator::{Class, Scope, Size};
use crate::parse::{ExprNode, Literal};
use crate::random::below64;
use crate::vector::{RowRange, SLACK, Vector, VectorKind};

pub(super) const AFTER: Function = Function {
    name: "after",
    signature: "after(x, a, b, last)",
    about: "a date or time from a to b days after x, but not after last, or exactly a days after x if last is earlier; it has the form of last: a day, a second, or seconds since 1970",
    example: "after(customer.joined, 0, 30, '2025-12-31 23:59:59')",
    build: |arguments| {
        arguments.count(4)?;
        let from = moments(arguments, 0)?;
        let (least, most) = arguments.ordered((days(arguments, 1)?, days(arguments, 2)?))?;
        let (form, last) = match &arguments.expr(3).node {
            ExprNode::Literal(Literal::Text(text)) if text.len() == DAY_BYTES => {
                (Form::Day, calendar::parse(text.as_bytes()))
            }
            ExprNode::Literal(Literal::Text(text)) => (Form::Second, calendar::parse(text.as_bytes())),
            ExprNode::Literal(Literal::Int(int)) => (Form::Int, of_epoch(*int)),
            _ => (Form::Int, None),
        };
        let expected = "a day, a second or seconds since 1970";
        let last = last.ok_or_else(|| arguments.wrong(3, expected))? as i64;
        Ok(Arc::new(After { from: [from], least, most, last, form }))
    },
};

pub(super) const LATEST: Function = Function {
    name: "latest",
    signature: "latest(x, y, ...)",
    about: "the latest of several dates and times; NULLs are ignored",
    example: "latest(customer.joined, '2019-01-01')",
    build: |arguments| {
        arguments.count_within(1, 100)?;
        let of = (0..arguments.arguments.len()).map(|index| moments(arguments, index));
        Ok(Arc::new(Latest { of: of.collect::<Result<_, _>>()? }))
    },
};

/// The maximum distance between two moments, in days: 10,000 years.
const DAYS_MAX: i64 = 3_652_425;

/// Returns argument `index`, a number of days, converted to seconds.
fn days(arguments: &Arguments<'_>, index: usize) -> Result<i64, Fault> {
    Ok(arguments.int_within(index, -DAYS_MAX, DAYS_MAX)? * i64::from(DAY))
}

/// Builds the generator of argument `index`, whose values must be dates or times.
fn moments(arguments: &Arguments<'_>, index: usize) -> Result<Arc<dyn Generate>, Fault> {
    let made = arguments.compile(index)?;
    match made.class() {
        Class::Text | Class::Int | Class::Any | Class::Null => Ok(made),
        Class::Real | Class::Blob => Err(arguments.wrong(index, "moments")),
    }
}

/// The form of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Day,
    Second,
    Int,
}

/// 1970 in seconds since 0000-03-01, the unit of all moments.
const EPOCH: i64 = 719_468 * DAY as i64;

fn of_epoch(int: i64) -> Option<u64> {
    let moment = u64::try_from(int.checked_add(EPOCH)?).ok()?;
    (FIRST..=LAST).contains(&(moment as i64)).then_some(moment)
}

/// The first second of the year 1, and the last second of the year 9999, in seconds since 0000-03-01.
const FIRST: i64 = 306 * DAY as i64;
const LAST: i64 = (306 + 3_652_059) * DAY as i64 - 1;

/// Converts a value in any form to seconds since 0000-03-01; `None` if it is not a date or time.
pub(super) fn moment(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Text(text) => calendar::parse(text.get(..SECOND_BYTES).unwrap_or(text)),
        Value::Int(int) => of_epoch(int),
        _ => None,
    }
    .map(|moment| moment as i64)
}

/// Converts a literal to seconds since 0000-03-01. The literal is the text of a day or second, or an integer with seconds since 1970; for
/// any other literal, returns `None`.
pub(crate) fn seconds(literal: &Literal) -> Option<i64> {
    match literal {
        Literal::Text(text) if [DAY_BYTES, SECOND_BYTES].contains(&text.len()) => {
            moment(Value::Text(text.as_bytes()))
        }
        Literal::Int(int) => moment(Value::Int(*int)),
        _ => None,
    }
}

/// Formats seconds since 0000-03-01 as a literal of the given form.
pub(crate) fn literal(seconds: i64, form: Form) -> Literal {
    let seconds = seconds.clamp(FIRST, LAST);
    if form == Form::Int {
        return Literal::Int(seconds - EPOCH);
    }
    let mut text = [0; SECOND_BYTES + SLACK];
    calendar::write(seconds as u64, &mut text);
    let width = if form == Form::Day { DAY_BYTES } else { SECOND_BYTES };
    Literal::Text(String::from_utf8_lossy(&text[..width]).into_owned())
}

/// The values of `after(x, ...)`; NULL if x is not a date or time.
#[derive(Debug)]
struct After {
    from: [Arc<dyn Generate>; 1],
    /// The minimum distance, in seconds.
    least: i64,
    most: i64,
    last: i64,
    form: Form,
}

impl After {
    fn bytes(&self) -> usize {
        if self.form == Form::Day { DAY_BYTES } else { SECOND_BYTES }
    }

    fn drawn(&self, bits: u64, from: i64) -> i64 {
        let (mut low, mut high) = (from + self.least, (from + self.most).min(self.last));
        let step = if self.form == Form::Day { i64::from(DAY) } else { 1 };
        // As a text, a day sorts before all seconds of the day. So later days are rounded up, and earlier days down.
        high -= high.rem_euclid(step);
        low += if self.least < 0 { -low.rem_euclid(step) } else { (step - low.rem_euclid(step)) % step };
        let count = (high - low).max(0) / step + 1;
        (low + below64(bits, count as u64) as i64 * step).clamp(FIRST, LAST)
    }

    fn make(&self, from: &Vector, words: impl Iterator<Item = u64>, count: usize, out: &mut Vector) {
        let moments = || (0..count).map(|row| moment(from.get(row)));
        if moments().any(|moment| moment.is_none()) {
            out.values();
            for (bits, moment) in words.zip(moments()) {
                let Some(from) = moment else {
                    out.push(Value::Null);
                    continue;
                };
                match literal(self.drawn(bits, from), self.form) {
                    Literal::Int(int) => out.push(Value::Int(int)),
                    Literal::Text(text) => out.push(Value::Text(text.as_bytes())),
                    _ => out.push(Value::Null),
                }
            }
            out.settle();
            return;
        }
        let drawn = words.zip(moments()).map(|(bits, from)| self.drawn(bits, from.unwrap_or(FIRST)));
        if self.form == Form::Int {
            for (slot, moment) in out.ints(count).iter_mut().zip(drawn) {
                *slot = moment - EPOCH;
            }
            return;
        }
        let width = self.bytes();
        let out = out.fixed(VectorKind::Text, width, count);
        for (index, moment) in drawn.enumerate() {
            calendar::write(moment as u64, &mut out[index * width..]);
        }
    }
}

impl Generate for After {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let from = &fill_all(&self.from, at.child(0), rows)?[0];
        self.make(from, (rows.first..).map(|row| at.key.word(row)), rows.count, out);
        Ok(())
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let mut from = Vector::default();
        // `fill` derives the same key through `fill_all`, so both functions give a row the same value.
        self.from[0].fill_at(at.child(0).child(0), rows, &mut from)?;
        self.make(&from, rows.iter().map(|&row| at.key.word(row)), rows.len(), out);
        Ok(())
    }

    fn size(&self) -> Size {
        match self.form {
            Form::Int => Size { mean: 4, max: 8 },
            Form::Day | Form::Second => Size { mean: self.bytes() as u64, max: 2 * SECOND_BYTES as u64 },
        }
    }

    fn class(&self) -> Class {
        if self.form == Form::Int { Class::Int } else { Class::Text }
    }

    fn nullable(&self) -> bool {
        self.from[0].nullable()
    }
}

/// The values of `latest(...)`; NULL if all arguments are NULL.
#[derive(Debug)]
struct Latest {
    of: Vec<Arc<dyn Generate>>,
}

impl Generate for Latest {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let all = fill_all(&self.of, at, rows)?;
        out.values();
        for row in 0..rows.count {
            let latest = all.iter().map(|values| values.get(row)).max_by_key(|value| moment(*value));
            out.push(latest.filter(|value| moment(*value).is_some()).unwrap_or(Value::Null));
        }
        out.settle();
        Ok(())
    }

    fn size(&self) -> Size {
        let Size { mean, max } = size_of_all(&self.of);
        Size { mean: mean / self.of.len() as u64, max }
    }

    fn class(&self) -> Class {
        self.of.iter().fold(Class::Null, |class, of| class.or(of.class()))
    }

    fn nullable(&self) -> bool {
        self.of.iter().all(|of| of.nullable())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_texts_and_integers_are_those_of_sqlites_unixepoch() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        for (text, literal_of) in
            [("1970-01-01 00:00:00", Form::Second), ("2025-12-31 23:59:59", Form::Second)]
        {
            let epoch: i64 = connection.query_row("SELECT unixepoch(?1)", [text], |row| row.get(0)).unwrap();
            let of_text = seconds(&Literal::Text(text.to_owned())).unwrap();
            assert_eq!(seconds(&Literal::Int(epoch)), Some(of_text));
            assert_eq!(literal(of_text, Form::Int), Literal::Int(epoch));
            assert_eq!(literal(of_text, literal_of), Literal::Text(text.to_owned()));
        }
        assert_eq!(literal(i64::MIN, Form::Day), Literal::Text("0001-01-01".to_owned()));
        assert_eq!(literal(i64::MAX, Form::Second), Literal::Text("9999-12-31 23:59:59".to_owned()));
        assert_eq!(seconds(&Literal::Int(i64::MAX)), None);
    }

    #[test]
    fn after_gives_no_earlier_time_for_positive_days_and_no_later_time_for_negative_days() {
        let noon = seconds(&Literal::Text("2024-05-05 12:00:00".to_owned())).unwrap();
        for form in [Form::Day, Form::Second, Form::Int] {
            for (least, most, last) in
                [(0, 0, 0), (0, 3, 1), (1, 2, -5), (0, 400, 9), (-3, 0, 9), (-3, -1, 9)]
            {
                let from: [Arc<dyn Generate>; 1] = [super::super::choice::constant(&Literal::Null)];
                let day = i64::from(DAY);
                let after =
                    After { from, least: least * day, most: most * day, last: noon + last * day, form };
                for bits in [0, 1 << 40, 1 << 63, u64::MAX] {
                    let drawn = after.drawn(bits, noon);
                    assert!(if most > 0 { drawn >= noon } else { true }, "{form:?} {least} {most} {last}");
                    assert!(if least < 0 { drawn <= noon } else { drawn >= noon }, "{form:?} {least} {most}");
                }
            }
        }
    }
}
