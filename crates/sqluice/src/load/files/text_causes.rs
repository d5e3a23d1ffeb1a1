//! Columns that are text although nearly all of their values are numbers, and numbers that a declared type changes. The sample alone shows
//! them, so the rest of a file costs nothing.

use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::{Column, Value, Values};
use sqluice_core::error::Place;
use sqluice_sources::infer::{Evidence, Inferred};

/// A field just misses a numeric type if at most one of this many values is no number.
pub(crate) const ONE_OF: u64 = 5;

/// The number of values that are no numbers after which a field is given up, if these values also outnumber the numbers.
const OTHERS_MIN: u64 = 16;

/// The largest number of bytes of a value that is shown.
const SHOWN_BYTES: usize = 60;

/// The counts of numbers and of other values in a field, and the first values that keep the field from a numeric type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Miss {
    /// The value that made the field text.
    first: Option<Found>,
    /// The first number whose text a numeric type would not give back: `1.10`.
    changed: Option<Found>,
    /// The evidence of the values that are numbers.
    near: Evidence,
    /// The number of values that SQLite takes for numbers.
    pub(crate) numbers: u64,
    /// The number of values that SQLite does not take for numbers.
    pub(crate) others: u64,
    /// `true` if the field has codes: numbers that begin with a zero or a plus.
    codes: bool,
    /// `true` if the field is text by far, and its values are no longer counted.
    given_up: bool,
}

/// A value of the sample.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) value: String,
    /// The record of the value, counted from 0.
    pub(crate) row: u64,
    /// The place of the value, once the place was looked for.
    pub(crate) place: Option<Place>,
}

impl Found {
    fn new(value: Value<'_>, row: u64) -> Found {
        let text = match value {
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Int(int) => int.to_string(),
            Value::Real(real) => real.to_string(),
            Value::Null | Value::Blob(_) => String::new(),
        };
        let value = match text.len() {
            0..=SHOWN_BYTES => text,
            _ => format!("{}...", &text[..text.floor_char_boundary(SHOWN_BYTES)]),
        };
        Found { value, row, place: None }
    }

    pub(crate) fn line(&self) -> Option<u64> {
        self.place.as_ref().and_then(|place| place.line)
    }
}

impl Miss {
    /// Adds the first `rows` values of a column to `evidence`; the first of them is in record `first_row`.
    pub(crate) fn see(
        &mut self,
        evidence: &mut Evidence,
        column: &Column<'_>,
        rows: usize,
        typed: bool,
        first_row: u64,
    ) {
        let before = *evidence;
        match typed {
            true => evidence.see_typed(column, rows),
            false => evidence.see(column, rows),
        }
        if self.given_up {
            return;
        }
        if evidence.conclude() != Inferred::Text {
            self.numbers += present(column, rows);
            return;
        }
        let mut at = before;
        if before.conclude() != Inferred::Text {
            (self.first, self.near) = (None, before);
        }
        for row in 0..rows {
            let value = column.get(row);
            if matches!(value, Value::Null) {
                continue;
            }
            if self.first.is_none() {
                at.add_value(value, typed);
                if at.conclude() == Inferred::Text {
                    self.first = Some(Found::new(value, first_row + row as u64));
                }
            }
            self.count(value, typed, first_row + row as u64);
            if self.others > OTHERS_MIN && self.others > self.numbers {
                self.given_up = true;
                return;
            }
        }
    }

    fn count(&mut self, value: Value<'_>, typed: bool, row: u64) {
        let number = match value {
            Value::Text(text) => !matches!(text_to_number(text, Affinity::Numeric), Value::Text(_)),
            _ => true,
        };
        if !number {
            self.others += 1;
            return;
        }
        self.numbers += 1;
        let mut alone = Evidence::new();
        alone.add_value(value, typed);
        match (value, alone.conclude()) {
            (Value::Text(text), Inferred::Text) => {
                self.codes |= is_code(text);
                self.changed.get_or_insert_with(|| Found::new(value, row));
            }
            _ => self.near.merge(alone),
        }
    }

    /// Returns the value that made the field text, if the field just missed a numeric type.
    pub(crate) fn just_missed(&self) -> Option<&Found> {
        let nearly = self.numbers >= (ONE_OF - 1) * self.others.max(1);
        self.first.as_ref().filter(|_| nearly && !self.given_up && !self.codes)
    }

    /// Returns the numeric type that the field just missed.
    pub(crate) fn near(&self) -> Inferred {
        match (self.near.conclude(), self.changed.is_some()) {
            (Inferred::Integer, false) => Inferred::Integer,
            _ => Inferred::Real,
        }
    }

    /// Returns the first number whose text a numeric type would not give back. If the user declares a numeric type, only codes count: other
    /// changes are the purpose of such a type.
    pub(crate) fn changed(&self, is_number_type: bool) -> Option<&Found> {
        self.changed.as_ref().filter(|found| !is_number_type || is_code(found.value.as_bytes()))
    }

    pub(crate) fn found(&mut self) -> impl Iterator<Item = &mut Found> {
        self.first.iter_mut().chain(&mut self.changed)
    }
}

/// Returns `true` if a number is written as only codes are: `007`, `+49`.
fn is_code(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(digits, [b'+', ..] | [b'0', b'0'..=b'9', ..])
}

/// Returns the number of values that are not NULL.
fn present(column: &Column<'_>, rows: usize) -> u64 {
    match (column.values, column.validity) {
        (Values::Null, _) => 0,
        (_, None) => rows as u64,
        (_, Some(validity)) => (0..rows).filter(|row| validity.get(*row)).count() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(values: &[&str]) -> (Miss, Inferred) {
        let (mut miss, mut evidence) = (Miss::default(), Evidence::new());
        for (row, values) in values.chunks(3).enumerate() {
            let texts: Vec<Value<'_>> = values.iter().map(|text| Value::Text(text.as_bytes())).collect();
            let column = Column::new(Values::Any(&texts));
            miss.see(&mut evidence, &column, texts.len(), false, row as u64 * 3);
        }
        (miss, evidence.conclude())
    }

    #[test]
    fn a_column_that_just_missed_names_the_value_that_decided() {
        for (values, first, row, near) in [
            (&["1", "2", "3", "4", "n/a", "5"][..], "n/a", 4, Inferred::Integer),
            (&["x", "1.5", "2", "2.5", "3"], "x", 0, Inferred::Real),
            (&["1.9", "1.8", "1.10", "1.7"], "1.10", 2, Inferred::Real),
            (&["1", "2", "3", "12345678901234567890"], "12345678901234567890", 3, Inferred::Real),
        ] {
            let (miss, concluded) = miss(values);
            assert_eq!(concluded, Inferred::Text, "{values:?}");
            let found = miss.just_missed().unwrap_or_else(|| panic!("{values:?}: {miss:?}"));
            assert_eq!((found.value.as_str(), found.row, miss.near()), (first, row, near), "{values:?}");
        }
    }

    #[test]
    fn codes_names_and_mixtures_miss_nothing() {
        for values in [
            &["007", "123", "456", "789"][..],
            &["1", "2", "+49", "4"],
            &["a", "b", "c"],
            &["1", "a", "2", "b"],
            &["2024-01-01", "2024-01-02"],
        ] {
            let (miss, concluded) = miss(values);
            assert_eq!(concluded, Inferred::Text);
            assert!(miss.just_missed().is_none(), "{values:?}: {miss:?}");
        }
    }
}
