//! What the values of a column say about its type.
//!
//! ```text
//!  INTEGER  0 | -?[1-9][0-9]*                    that fits 64 bits
//!  REAL     -?(0|[1-9][0-9]*)(\.[0-9]+)?         of at most 15 significant digits, no negative zero
//!  TEXT     all else: 007  +1  -0  1e5  .5  5.  0x1f  inf
//! ```
//!
//! A column is of the first type that takes each of its values; NULL says nothing, and nothing but NULL makes TEXT. In a REAL
//! column, zeros may end the decimals only where all values have the same number of them: 17.00 and 24.50, but not 1.9
//! and 1.10, which are as likely versions.
//!
//! Why so: it must be possible to print what is stored and get back each byte of each field. The digits of an integer do that. A
//! float keeps any 15 significant digits, so printing it with as many decimals as the column has gives the field
//! back; where these vary, the shortest decimal that reads as the float does, as no field ends in a zero. (Beyond 17
//! decimals it is not known that SQLite rounds to the nearest float, so each such field is printed, to see.)
//!
//! Where the source tells numbers from text, as JSON does, a number is one however it is written: integers are INTEGER, floats are
//! REAL, and with them integers up to 2^53, which floats hold; a text makes TEXT, whatever it says, and so does a number that neither
//! holds, which such a source gives as text.
//!
//! The evidence of some values is a point of a lattice, the least that holds each of them:
//!
//! ```text
//!  faults         not an integer | not a float | ends in a zero      joined by: or
//!  decimals       fewest, most                                       joined by: min, max
//! ```
//!
//! Invariant: `merge` is commutative, associative and idempotent, so order does not matter. All points that mean TEXT for ever
//! are one, so those that saw no need to look further agree with those that did.

use std::ops::Range;

use crate::affinity::{Affinity, POINT, Padded, repeat, text_to_number};
use crate::batch::{Column, Span, Spans, Values};
use sqluice_format::value::Value;

/// Significant digits that every float keeps.
const DIGITS_MAX: usize = 15;

/// Decimals with which SQLite's arithmetic, 96 bits of a power of ten, can't but round as it should.
const DECIMALS_PROVEN: usize = 17;

/// Decimals of a REAL at most: soon after, floats keep fewer digits.
const DECIMALS_MAX: usize = 300;

/// Up to this integer, floats hold each.
const HELD_MAX: u64 = 1 << 53;

/// A value is no 64-bit integer.
const NOT_INTEGER: u8 = 1;
/// A value is no float.
const NOT_REAL: u8 = 2;
/// It is neither.
const NO_NUMBER: u8 = NOT_INTEGER | NOT_REAL;
/// A value has decimals that end in a zero.
const ENDS_IN_ZERO: u8 = 4;

/// Rows that are looked at before a column that is TEXT by now is left alone: as many as a word of a bitmap has.
const ROWS_AT_ONCE: usize = 64;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inferred {
    /// 64-bit integers.
    Integer,
    /// Floats, and integers among them.
    Real,
    /// Anything.
    Text,
}

impl Inferred {
    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Inferred::Integer => "INTEGER",
            Inferred::Real => "REAL",
            Inferred::Text => "TEXT",
        }
    }
}

/// What the values seen so far say; see the module's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    faults: u8,
    decimals_min: u16,
    decimals_max: u16,
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence::NONE
    }
}

impl Evidence {
    /// No value.
    const NONE: Evidence = Evidence { faults: 0, decimals_min: u16::MAX, decimals_max: 0 };

    /// Whatever comes, the column is TEXT.
    const TEXT: Evidence =
        Evidence { faults: NO_NUMBER | ENDS_IN_ZERO, decimals_min: 0, decimals_max: u16::MAX };

    /// The evidence of no value at all.
    pub fn new() -> Evidence {
        Evidence::NONE
    }

    /// That of a column whose values are all of a declared type: INTEGER and REAL are themselves, any other makes TEXT.
    pub fn of_declared(declared: &str) -> Evidence {
        match declared {
            "INTEGER" => Evidence::of_number(0, 0),
            "REAL" => Evidence::of_number(NOT_INTEGER, 0),
            _ => Evidence::TEXT,
        }
    }

    /// Whether no value has been seen.
    pub fn is_empty(&self) -> bool {
        *self == Evidence::NONE
    }

    /// Whether the column is TEXT, whatever comes.
    pub fn is_final(&self) -> bool {
        *self == Evidence::TEXT
    }

    /// The type, if there are no more values.
    pub fn conclude(&self) -> Inferred {
        if self.is_empty() || self.is_final() {
            Inferred::Text
        } else if self.faults & NOT_INTEGER == 0 {
            Inferred::Integer
        } else {
            Inferred::Real
        }
    }

    /// One more value.
    pub fn add(&mut self, text: &[u8]) {
        self.merge(Evidence::of(text));
    }

    /// The values of both.
    pub fn merge(&mut self, other: Evidence) {
        let faults = self.faults | other.faults;
        let decimals_min = self.decimals_min.min(other.decimals_min);
        let decimals_max = self.decimals_max.max(other.decimals_max);
        let no_number = faults & NO_NUMBER == NO_NUMBER;
        let zeros_lost = faults & ENDS_IN_ZERO != 0 && decimals_min < decimals_max;
        *self = match no_number || zeros_lost {
            true => Evidence::TEXT,
            false => Evidence { faults, decimals_min, decimals_max },
        };
    }

    /// The texts among the first `rows` values of a column; values that have a type already say nothing.
    pub fn see(&mut self, column: &Column<'_>, rows: usize) {
        let Values::Text(text) = column.values else {
            return (0..rows).for_each(|row| {
                if let Value::Text(text) = column.get(row) {
                    self.add(text);
                }
            });
        };
        for start in (0..rows).step_by(ROWS_AT_ONCE) {
            if self.is_final() {
                return;
            }
            let present = column.validity.map_or(u64::MAX, |validity| validity.0[start / ROWS_AT_ONCE]);
            let rows = start..rows.min(start + ROWS_AT_ONCE);
            match text.spans {
                Spans::Anywhere(spans) => {
                    let range = |span: &Span| span.start as usize..(span.start + span.len) as usize;
                    self.see_some(text.data, spans[rows].iter().map(range), present);
                }
                _ => self.see_some(text.data, rows.map(|row| text.range(row)), present),
            }
        }
    }

    /// The first `rows` values of a column of which the source knows what is a number and what is text.
    pub fn see_typed(&mut self, column: &Column<'_>, rows: usize) {
        if self.is_final() {
            return;
        }
        let present = |row: &usize| column.validity.is_none_or(|validity| validity.get(*row));
        match column.values {
            Values::Null => {}
            Values::Int(ints) => {
                let held = |row: usize| !present(&row) || ints[row].unsigned_abs() <= HELD_MAX;
                if (0..rows).any(|row| present(&row)) {
                    let faults = if (0..rows).all(held) { 0 } else { NOT_REAL };
                    self.merge(Evidence::of_number(faults, 0));
                }
            }
            Values::Text(_) | Values::Blob(_) => {
                if (0..rows).any(|row| present(&row)) {
                    *self = Evidence::TEXT;
                }
            }
            Values::Real(_) | Values::Any(_) => {
                (0..rows).for_each(|row| self.see_value(column.get(row), true));
            }
        }
    }

    /// A value; `typed` says that text is no number.
    pub(super) fn see_value(&mut self, value: Value<'_>, typed: bool) {
        match value {
            Value::Text(text) if !typed => self.add(text),
            Value::Null => {}
            _ if !typed => {}
            Value::Int(int) if int.unsigned_abs() <= HELD_MAX => self.merge(Evidence::of_number(0, 0)),
            Value::Int(_) => self.merge(Evidence::of_number(NOT_REAL, 0)),
            Value::Real(_) => self.merge(Evidence::of_number(NOT_INTEGER, 0)),
            Value::Text(_) | Value::Blob(_) => *self = Evidence::TEXT,
        }
    }

    /// Some rows, of which a word of a bitmap says which are not NULL. A function of its own, or it runs out of registers.
    #[inline(never)]
    fn see_some(&mut self, data: &[u8], ranges: impl Iterator<Item = Range<usize>>, present: u64) {
        let mut seen = Seen::default();
        for (bit, Range { start, end }) in ranges.enumerate() {
            if present >> bit & 1 == 0 {
                continue;
            }
            let padded = Padded::part(data, start, end);
            let text = &data[start..end];
            if !padded.is_some_and(|padded| seen.add(text, padded)) {
                self.add_long(text);
            }
        }
        self.merge(seen.evidence());
    }

    #[cold]
    #[inline(never)]
    fn add_long(&mut self, text: &[u8]) {
        self.merge(Evidence::of_long(text));
    }

    fn of(text: &[u8]) -> Evidence {
        let mut seen = Seen::default();
        match Padded::alone(text) {
            Some(padded) if seen.add(text, padded) => seen.evidence(),
            _ => Evidence::of_long(text),
        }
    }

    /// Of text that [`Seen::add`] does not take.
    #[cold]
    fn of_long(text: &[u8]) -> Evidence {
        number(text).unwrap_or(Evidence::TEXT)
    }

    const fn of_number(faults: u8, decimals: usize) -> Evidence {
        Evidence { faults, decimals_min: decimals as u16, decimals_max: decimals as u16 }
    }
}

/// What some short values say: a lattice that takes fewer steps a value.
#[derive(Clone, Copy, Default)]
struct Seen {
    faults: u8,
    /// Bit `n`: a value has `n` decimals.
    decimals: u16,
}

impl Seen {
    /// Takes a value of digits with at most one point among them, without a branch for each rule; `false` for all else.
    #[inline(always)]
    fn add(&mut self, text: &[u8], Padded { negative, bytes, word }: Padded) -> bool {
        let zero_first = text[text.len() - bytes] == b'0';
        // The top bit of each byte that is no digit. No carry leaves a byte.
        let others = (((word & repeat(0x7f)) + repeat(0x76)) | word) & repeat(0x80);
        if others == 0 {
            let no_number = zero_first & (negative | (bytes > 1));
            let too_long = bytes > DIGITS_MAX;
            self.faults |= (u8::from(no_number) * NO_NUMBER) | (u8::from(too_long) * NOT_REAL);
            self.decimals |= 1;
            return true;
        }
        // Both halves in one: bits 6 of its bytes are the lower half's, bits 7 the upper one's.
        let others = (others as u64) >> 1 | (others >> 64) as u64;
        let lowest = others.trailing_zeros() as usize;
        let point = lowest / 8 + lowest % 2 * 8;
        if others & (others - 1) != 0 || text[text.len() + point - 16] != b'.' {
            return false;
        }
        // Beside the point, 16 bytes have 15 digits.
        let decimals = 15 - point;
        let whole = bytes - 1 - decimals;
        // A branch, as a column has either none of these or few.
        let minus_zero = negative & zero_first && word == ZERO[point];
        let no_number = (whole == 0) | (decimals == 0) | (zero_first & (whole > 1)) | minus_zero;
        let ends_in_zero = word >> 120 == 0;
        self.faults |=
            NOT_INTEGER | (u8::from(no_number) * NOT_REAL) | (u8::from(ends_in_zero) * ENDS_IN_ZERO);
        self.decimals |= 1 << decimals;
        true
    }

    fn evidence(self) -> Evidence {
        if self.decimals == 0 {
            return Evidence::NONE;
        }
        let mut evidence = Evidence {
            faults: self.faults,
            decimals_min: self.decimals.trailing_zeros() as u16,
            decimals_max: 15 - self.decimals.leading_zeros() as u16,
        };
        // In the form that TEXT has.
        evidence.merge(Evidence::NONE);
        evidence
    }
}

/// [`Padded::word`] of a zero with a point, by the place of that.
const ZERO: [u128; 16] = {
    let mut zeros = [0; 16];
    let mut point = 0;
    while point < 16 {
        zeros[point] = (POINT as u128) << (8 * point);
        point += 1;
    }
    zeros
};

/// A number that [`Seen::add`] does not take, as it is too long; `None` where it is none.
fn number(text: &[u8]) -> Option<Evidence> {
    let text = str::from_utf8(text).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let negative = digits.len() < text.len();
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let Some(fraction) = fraction else {
        // It has 17 digits or more, so it is not -0.
        return text.parse::<i64>().is_ok().then_some(Evidence::of_number(NOT_REAL, 0));
    };
    if !is_digits(fraction) || fraction.len() > DECIMALS_MAX {
        return None;
    }
    let significant = match whole {
        "0" => fraction.trim_start_matches('0').len(),
        _ => whole.len() + fraction.len(),
    };
    let kept = significant <= DIGITS_MAX && !(negative && significant == 0);
    if !kept || (fraction.len() > DECIMALS_PROVEN && !prints_back(text, fraction.len())) {
        return None;
    }
    let ends_in_zero = u8::from(fraction.ends_with('0')) * ENDS_IN_ZERO;
    Some(Evidence::of_number(NOT_INTEGER | ends_in_zero, fraction.len()))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the float that is stored for the text prints as just that, in both ways that a column may need.
fn prints_back(text: &str, decimals: usize) -> bool {
    let real = match text_to_number(text.as_bytes(), Affinity::Real) {
        Value::Real(real) => real,
        Value::Int(int) => int as f64,
        _ => return false,
    };
    format!("{real:.decimals$}") == text && (text.ends_with('0') || real.to_string() == text)
}
