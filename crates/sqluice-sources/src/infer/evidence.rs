//! The evidence that the values of a column give about its type.
//!
//! ```text
//!  INTEGER  0 | -?[1-9][0-9]*   that fits 64 bits
//!  REAL     one common printer prints each value, byte by byte, from the float that SQLite stores for it:
//!
//!           the fewest digits that read as the float   1.0 2.55 1e-05 52.55889892578125   Python
//!                                                      1 2.55 1e-7                        JavaScript
//!           17 digits, 15 digits, 6 digits, ...        100000 1e+05 0.10000000000000001   R, C: %.17g, %.15g, %g
//!           a fixed number of decimals                 17.00 24.50                        C: %.2f
//!           a fixed number before an exponent          1.70e+01 2.45e+01                  C: %.2e
//!
//!  TEXT     all else: 007  +1  -0  1e5  .5  5.  0x1f  inf    1.9 beside 1.10    1 beside 2.0
//! ```
//!
//! A column has the first type that takes each of its values. NULL is no evidence; a column of NULLs is TEXT.
//!
//! The reason: it must be possible to print the text of each field again, byte by byte, from the value that SQLite stores. For an integer
//! in the form above this is always possible. For floats it is possible if one printer (a program that prints floats by one rule) prints
//! the texts of all values. In detail:
//!
//! * Every float keeps a decimal of up to 15 significant digits: the fewest digits that read as the float are the decimal's own. (Beyond 17
//!   decimals, SQLite is not known to round to the nearest float.) Other values are printed and compared.
//! * Printers differ in whole numbers, `1` or `1.0`; in the powers of ten from which on they write exponents; and in the form of exponents.
//!   The values of a column must agree in these: exponents stand beyond some power of ten, or, as R writes them, where they make a value
//!   shorter.
//! * `1e5` may be a code. No printer leaves out the plus of an exponent below 7 (Java) or 16 (Rust). If no value has a point, only
//!   exponents that printers use count, and integers beyond 64 bits are text.
//! * SQLite stores no sign of a zero, so `-0.0` is text.
//!
//! If the source distinguishes numbers from text, as JSON does, a number is a number however it is written: integers are INTEGER; floats
//! are REAL, and so are integers up to 2^53 beside them, which floats hold. A text makes the column TEXT, whatever its content. A number
//! that neither type holds also makes the column TEXT: the source gives such a number as text.
//!
//! The evidence of some values is a point of a lattice, the least point that holds each value: flags are joined by or, the sets of possible
//! printers and styles by and, the extremes of lengths by min and max.
//!
//! Invariant: `merge` is commutative, associative and idempotent, so the order of values does not matter. All points that mean TEXT for
//! ever are one point, so threads that stop looking agree with threads that go on. (A column that is TEXT only because no value has a
//! decimal point may become REAL by a later value.)

use std::ops::Range;

use sqluice_core::affinity::{Padded, Short};
use sqluice_core::batch::{Column, Span, Spans, Values};

use super::printers::{Notation, Printer, Printers, Styles};
use super::short::Seen;
use super::written::Written;
use sqluice_format::value::Value;

/// The largest integer up to which floats hold all integers.
const HELD_MAX: u64 = 1 << 53;

/// The least exponent that printers write without a plus, if they write `1` for a whole number: Rust writes `1e16`.
const BARE_EXPONENT_MIN: u16 = 16;

/// The least exponent that Java writes. Java always writes a point: `1.0E7`.
const BARE_EXPONENT_MIN_OF_JAVA: u16 = 7;

/// The least positive exponent of printers that write other values without an exponent: R writes `1e+05`.
const EXPONENT_MIN: u16 = 5;

/// The least negative exponent, negated, of printers that write other values without an exponent: R writes `1e-04`.
const NEGATIVE_EXPONENT_MIN: u16 = 4;

/// A value is not a 64-bit integer.
const NOT_INTEGER: u16 = 1;
/// The source distinguishes numbers from text, and a value is a number.
const TYPED: u16 = 1 << 1;
/// A value has a point.
const WITH_POINT: u16 = 1 << 2;
/// A value is a whole number without a point: `1`.
const BARE: u16 = 1 << 3;
/// A value is a whole number with a point: `1.0`.
const POINT_ZERO: u16 = 1 << 4;
/// The decimals of a value end in a zero: `1.50`.
const ENDS_IN_ZERO: u16 = 1 << 5;
/// A value has a whole number before an exponent: `1e-5`.
const EXPONENT_BARE: u16 = 1 << 6;
/// A value has a whole number with a point before an exponent: `1.0e-5`.
const EXPONENT_POINT_ZERO: u16 = 1 << 7;
/// The decimals of a value before an exponent end in a zero, or the number is zero: `1.50e-5`.
const EXPONENT_ENDS_IN_ZERO: u16 = 1 << 8;
/// A value has an exponent.
const WITH_EXPONENT: u16 = 1 << 9;
/// A value has no exponent.
const WITHOUT_EXPONENT: u16 = 1 << 10;
/// R would have written a value in the other notation, with or without an exponent.
const NOT_AS_R: u16 = 1 << 11;
const ALL_FLAGS: u16 = (1 << 12) - 1;

/// The number of rows between two checks whether a column is TEXT by now: the bits of a word of a bitmap.
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
    /// Returns the name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Inferred::Integer => "INTEGER",
            Inferred::Real => "REAL",
            Inferred::Text => "TEXT",
        }
    }
}

/// The evidence that the values of a column so far give about its type; see the module's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    flags: u16,
    /// The printers that may have printed all values.
    printers: Printers,
    /// The styles in which the printers may have written exponents.
    styles: Styles,
    /// The numbers of decimals of values without an exponent.
    decimals: Lengths,
    /// The numbers of decimals of values with an exponent.
    mantissa_decimals: Lengths,
    /// The largest number of digits before the point, in values without an exponent.
    whole_max: u16,
    /// The exponent of ten, negated, of the smallest value below 0.001, except 0, in values without an exponent.
    small_max: u16,
    /// The smallest written exponent that is not negative.
    exponent_min: u16,
    /// The smallest absolute value of a written negative exponent.
    negative_exponent_min: u16,
}

/// The fewest and the most digits of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lengths {
    min: u16,
    max: u16,
}

impl Lengths {
    /// The value of `Lengths` before any value is added.
    const NONE: Lengths = Lengths { min: u16::MAX, max: 0 };
    const ALL: Lengths = Lengths { min: 0, max: u16::MAX };

    const fn of(digits: usize) -> Lengths {
        Lengths { min: digits as u16, max: digits as u16 }
    }

    fn merge(self, other: Lengths) -> Lengths {
        Lengths { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    fn differ(self) -> bool {
        self.min < self.max
    }
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence::NONE
    }
}

impl Evidence {
    /// The evidence before any value is added.
    const NONE: Evidence = Evidence {
        flags: 0,
        printers: Printers::ALL,
        styles: Styles::ALL,
        decimals: Lengths::NONE,
        mantissa_decimals: Lengths::NONE,
        whole_max: 0,
        small_max: 0,
        exponent_min: u16::MAX,
        negative_exponent_min: u16::MAX,
    };

    /// The column is TEXT, whatever values follow.
    const TEXT: Evidence = Evidence {
        flags: ALL_FLAGS,
        printers: Printers::NONE,
        styles: Styles::NONE,
        decimals: Lengths::ALL,
        mantissa_decimals: Lengths::ALL,
        whole_max: u16::MAX,
        small_max: u16::MAX,
        exponent_min: 0,
        negative_exponent_min: 0,
    };

    /// The column has integers that no float holds: it is INTEGER as long as no other values follow.
    const ONLY_INTEGER: Evidence = Evidence { flags: ALL_FLAGS & !NOT_INTEGER, ..Evidence::TEXT };

    /// The evidence of a float in a source that distinguishes numbers from text.
    const TYPED_REAL: Evidence = Evidence { flags: TYPED | NOT_INTEGER | WITH_POINT, ..Evidence::NONE };

    /// Creates the evidence of a column to which no value has been added yet.
    pub fn new() -> Evidence {
        Evidence::NONE
    }

    /// Returns the evidence of a column whose values have a declared type: INTEGER and REAL stay as they are, any other type makes TEXT.
    pub fn of_declared(declared: &str) -> Evidence {
        match declared {
            "INTEGER" => Evidence::of_typed_int(0),
            "REAL" => Evidence::TYPED_REAL,
            _ => Evidence::TEXT,
        }
    }

    fn of_typed_int(magnitude: u64) -> Evidence {
        let printers = if magnitude <= HELD_MAX { Printers::ALL } else { Printers::NONE };
        Evidence { flags: TYPED, printers, ..Evidence::NONE }
    }

    /// Returns `true` if no value has been seen.
    pub fn is_empty(&self) -> bool {
        *self == Evidence::NONE
    }

    /// Returns `true` if the column is TEXT, whatever values follow.
    pub fn is_final(&self) -> bool {
        *self == Evidence::TEXT
    }

    /// Returns the type of the column if no more values follow.
    pub fn conclude(&self) -> Inferred {
        if self.is_empty() || self.is_final() {
            Inferred::Text
        } else if self.flags & NOT_INTEGER == 0 {
            Inferred::Integer
        } else if self.may_be_codes() {
            Inferred::Text
        } else {
            Inferred::Real
        }
    }

    /// Returns the type of the column if its values are known to be numbers, however they are written.
    pub fn conclude_number(&self) -> Inferred {
        match self.conclude() {
            Inferred::Text if self.is_empty() => Inferred::Integer,
            Inferred::Integer => Inferred::Integer,
            Inferred::Real | Inferred::Text => Inferred::Real,
        }
    }

    /// Returns `true` if the values are numbers that come back when the stored values are printed with the fewest digits.
    pub(super) fn reads_back(&self) -> bool {
        match self.conclude() {
            Inferred::Integer => true,
            Inferred::Real => self.printers.has(Printer::Shortest),
            Inferred::Text => false,
        }
    }

    /// Returns `true` if a value is a whole number without a point.
    pub(super) fn has_bare(&self) -> bool {
        self.flags & BARE != 0
    }

    /// Returns `true` if a value has a point or an exponent.
    pub(super) fn has_pointed(&self) -> bool {
        self.flags & (WITH_POINT | WITH_EXPONENT) != 0
    }

    /// Returns `true` if a value is a whole number with a point, such as `2.0`.
    pub(super) fn has_point_zero(&self) -> bool {
        self.flags & (POINT_ZERO | EXPONENT_POINT_ZERO) != 0
    }

    /// Returns `true` if the values are integers, and at least one of them is an integer that no float holds.
    pub(super) fn has_unheld(&self) -> bool {
        self.conclude() == Inferred::Integer && !self.printers.has(Printer::Shortest)
    }

    /// Returns `true` if the numbers may be codes: no value has a point, and either no value has an exponent, or an exponent does not have
    /// the form that printers write (for example `1e4`, as they write `10000`).
    fn may_be_codes(&self) -> bool {
        let has = |exponent| exponent != u16::MAX;
        self.flags & WITH_POINT == 0
            && (self.flags & WITH_EXPONENT == 0
                || has(self.exponent_min)
                    && (self.exponent_min < EXPONENT_MIN || self.styles.and(Styles::PLUS).is_empty())
                || self.negative_exponent_min < NEGATIVE_EXPONENT_MIN)
    }

    /// Adds a value.
    pub fn add(&mut self, text: &[u8]) {
        let mut seen = Seen::default();
        match Padded::alone(text) {
            Some(padded) if seen.add(text, padded) => self.merge(Evidence::of_seen(&seen)),
            _ => self.add_long(text),
        }
    }

    /// Adds the evidence of other values of the same column. The result is the evidence of all values of both.
    pub fn merge(&mut self, other: Evidence) {
        let mut all = Evidence {
            flags: self.flags | other.flags,
            printers: self.printers.and(other.printers),
            styles: self.styles.and(other.styles),
            decimals: self.decimals.merge(other.decimals),
            mantissa_decimals: self.mantissa_decimals.merge(other.mantissa_decimals),
            whole_max: self.whole_max.max(other.whole_max),
            small_max: self.small_max.max(other.small_max),
            exponent_min: self.exponent_min.min(other.exponent_min),
            negative_exponent_min: self.negative_exponent_min.min(other.negative_exponent_min),
        };
        all.printers = all.printers.retain(|printer| all.agrees_with(printer));
        *self = match (all.printers.is_empty(), all.flags & NOT_INTEGER != 0) {
            (true, true) => Evidence::TEXT,
            (true, false) => Evidence::ONLY_INTEGER,
            (false, _) => all,
        };
    }

    /// Returns `true` if a printer may have written all values in this form, apart from their digits. More values never turn `false` into
    /// `true`.
    fn agrees_with(&self, printer: Printer) -> bool {
        let has = |flags| self.flags & flags != 0;
        let shortest = || {
            let points = has(POINT_ZERO) && has(BARE);
            let exponent_points = has(EXPONENT_POINT_ZERO) && has(BARE | EXPONENT_BARE);
            !has(ENDS_IN_ZERO | EXPONENT_ENDS_IN_ZERO) && !points && !exponent_points
        };
        let as_r =
            || !has(NOT_AS_R | POINT_ZERO | EXPONENT_POINT_ZERO) && !self.styles.and(Styles::C).is_empty();
        match printer {
            Printer::Decimals => !has(WITH_EXPONENT) && !self.decimals.differ(),
            Printer::Scientific => {
                let exponents = !has(WITHOUT_EXPONENT) && !self.styles.is_empty();
                exponents && self.mantissa_decimals.min > 0 && !self.mantissa_decimals.differ()
            }
            Printer::Shortest => {
                shortest()
                    && (!has(WITH_EXPONENT)
                        || as_r()
                        || (self.has_threshold() && self.has_style_of_threshold()))
            }
            Printer::Fifteen => shortest() && as_r(),
        }
    }

    /// Returns `true` if a value may have an exponent exactly when it is beyond some power of ten.
    fn has_threshold(&self) -> bool {
        let begins_as_printers_do =
            self.flags & WITHOUT_EXPONENT == 0 || self.negative_exponent_min >= NEGATIVE_EXPONENT_MIN;
        begins_as_printers_do
            && self.whole_max <= self.exponent_min
            && self.small_max < self.negative_exponent_min
    }

    fn has_style_of_threshold(&self) -> bool {
        let bare_min = match self.flags & (BARE | EXPONENT_BARE) {
            0 => BARE_EXPONENT_MIN_OF_JAVA,
            _ => BARE_EXPONENT_MIN,
        };
        let styles = if self.exponent_min < bare_min { Styles::PLUS } else { Styles::ALL };
        !self.styles.and(styles).is_empty()
    }

    /// Adds the first `rows` values of a column. `typed` is `true` if the source knows which values are numbers and which are text.
    pub(super) fn see_batch(&mut self, column: &Column<'_>, rows: usize, typed: bool) {
        match typed {
            true => self.see_typed(column, rows),
            false => self.see(column, rows),
        }
    }

    /// Adds the texts among the first `rows` values of a column. Values that have a type already are no evidence.
    pub fn see(&mut self, column: &Column<'_>, rows: usize) {
        let Values::Text(text) = column.values else {
            return (0..rows).for_each(|row| {
                if let Value::Text(text) = column.get(row) {
                    self.add(text);
                }
            });
        };
        let mut seen = Seen::default();
        for start in (0..rows).step_by(ROWS_AT_ONCE) {
            if seen.no_number || self.is_final() {
                break;
            }
            let present = column.validity.map_or(u64::MAX, |validity| validity.0[start / ROWS_AT_ONCE]);
            let rows = start..rows.min(start + ROWS_AT_ONCE);
            match text.spans {
                Spans::Anywhere(spans) => {
                    let range = |span: &Span| span.start as usize..(span.start + span.len) as usize;
                    self.see_some(&mut seen, text.data, spans[rows].iter().map(range), present);
                }
                _ => self.see_some(&mut seen, text.data, rows.map(|row| text.range(row)), present),
            }
        }
        self.merge(Evidence::of_seen(&seen));
    }

    /// Adds the first `rows` values of a column whose source distinguishes numbers from text.
    pub fn see_typed(&mut self, column: &Column<'_>, rows: usize) {
        if self.is_final() {
            return;
        }
        let present = |row: &usize| column.validity.is_none_or(|validity| validity.get(*row));
        match column.values {
            Values::Null => {}
            Values::Int(ints) => {
                let magnitudes = (0..rows).filter(present).map(|row| ints[row].unsigned_abs());
                if let Some(magnitude) = magnitudes.max() {
                    self.merge(Evidence::of_typed_int(magnitude));
                }
            }
            Values::Text(_) | Values::Blob(_) => {
                if (0..rows).any(|row| present(&row)) {
                    *self = Evidence::TEXT;
                }
            }
            Values::Real(_) => {
                if (0..rows).any(|row| present(&row)) {
                    self.merge(Evidence::TYPED_REAL);
                }
            }
            Values::Any(_) => (0..rows).for_each(|row| self.add_value(column.get(row), true)),
        }
    }

    /// Adds the first `rows` values of a column with results of expressions: a text is read as a field of CSV, and a number is a number.
    pub fn see_results(&mut self, column: &Column<'_>, rows: usize) {
        match column.values {
            Values::Text(_) => self.see(column, rows),
            Values::Any(_) => (0..rows).for_each(|row| self.add_result(column.get(row))),
            _ => self.see_typed(column, rows),
        }
    }

    /// Adds a value of a column with results of expressions.
    pub fn add_result(&mut self, value: Value<'_>) {
        self.add_value(value, !matches!(value, Value::Text(_)));
    }

    /// Adds a value. If `typed`, a text is no number; if not, only texts are evidence.
    pub fn add_value(&mut self, value: Value<'_>, typed: bool) {
        match value {
            Value::Text(text) if !typed => self.add(text),
            Value::Null => {}
            _ if !typed => {}
            Value::Int(int) => self.merge(Evidence::of_typed_int(int.unsigned_abs())),
            Value::Real(_) => self.merge(Evidence::TYPED_REAL),
            Value::Text(_) | Value::Blob(_) => *self = Evidence::TEXT,
        }
    }

    /// Adds the rows whose bits are set in `present`, a word of a bitmap. It is not inlined, because the loop would run out of registers.
    #[inline(never)]
    fn see_some(
        &mut self,
        all: &mut Seen,
        data: &[u8],
        ranges: impl Iterator<Item = Range<usize>>,
        present: u64,
    ) {
        let mut seen = *all;
        for (bit, Range { start, end }) in ranges.enumerate() {
            if present >> bit & 1 == 0 {
                continue;
            }
            if Short::part(data, start, end).is_some_and(|short| seen.add_short(short)) {
                continue;
            }
            let padded = Padded::part(data, start, end);
            let text = &data[start..end];
            if !padded.is_some_and(|padded| seen.add(text, padded)) {
                self.add_long(text);
            }
        }
        *all = seen;
    }

    fn of_seen(seen: &Seen) -> Evidence {
        if seen.no_number {
            return Evidence::TEXT;
        }
        let (decimals, zeros) = (seen.decimals(), seen.zeros());
        if decimals == 0 {
            return Evidence::NONE;
        }
        let with_point = decimals > 1;
        let flags = [
            (WITHOUT_EXPONENT, true),
            (NOT_INTEGER | WITH_POINT, with_point),
            (BARE, decimals & 1 != 0),
            (POINT_ZERO, zeros & 2 != 0),
            (ENDS_IN_ZERO, zeros > 3),
            (NOT_AS_R, seen.not_as_r),
        ];
        Evidence {
            flags: flags.into_iter().filter(|(_, is)| *is).fold(0, |flags, (flag, _)| flags | flag),
            decimals: Lengths {
                min: decimals.trailing_zeros() as u16,
                max: 15 - decimals.leading_zeros() as u16,
            },
            whole_max: 31 - seen.wholes.leading_zeros() as u16,
            small_max: seen.small_max,
            ..Evidence::NONE
        }
    }

    /// Adds a text that [`Seen::add`] does not take.
    #[cold]
    #[inline(never)]
    fn add_long(&mut self, text: &[u8]) {
        if *self == Evidence::ONLY_INTEGER && is_integer(text) {
            return;
        }
        // Printers that are excluded already are not tried.
        let evidence = Written::read(text).and_then(|written| Evidence::of_written(written, self.printers));
        self.merge(evidence.unwrap_or(Evidence::TEXT));
    }

    fn of_written(written: Written<'_>, printers: Printers) -> Option<Evidence> {
        let has_zero_at_end = written.fraction.is_some_and(|fraction| fraction.ends_with('0'));
        let [bare, point_zero, ends_in_zero, with] = match written.exponent {
            None => [BARE, POINT_ZERO, ENDS_IN_ZERO, WITHOUT_EXPONENT],
            Some(_) => [EXPONENT_BARE, EXPONENT_POINT_ZERO, EXPONENT_ENDS_IN_ZERO, WITH_EXPONENT],
        };
        let notation = written.notation();
        // R writes a number such as 12.5 without an exponent, so it is not compared. (12.50 is not written by R, and has its own flag.)
        let is_mixed = written.exponent.is_none() && written.fraction.is_some() && written.whole != "0";
        let as_r = |notation: Notation| notation.is_shorter_with_exponent() == written.exponent.is_some();
        let not_as_r = !is_mixed && !notation.is_none_or(as_r);
        let flags = [
            (with, true),
            (NOT_INTEGER, !written.is_integer()),
            (WITH_POINT, written.fraction.is_some()),
            (bare, written.fraction.is_none()),
            (point_zero, written.fraction == Some("0")),
            (ends_in_zero, has_zero_at_end && written.fraction != Some("0")),
            (NOT_AS_R, not_as_r),
            // A zero with an exponent has no power of ten to compare.
            (EXPONENT_ENDS_IN_ZERO, notation.is_none() && written.exponent.is_some()),
        ];
        let mut evidence = Evidence {
            flags: flags.into_iter().filter(|(_, is)| *is).fold(0, |flags, (flag, _)| flags | flag),
            printers: written.printers(printers)?,
            styles: written.styles(),
            ..Evidence::NONE
        };
        let decimals = Lengths::of(written.decimals());
        match written.exponent.map(|exponent| exponent.value) {
            None => {
                evidence.decimals = decimals;
                evidence.whole_max = written.whole.len() as u16;
                evidence.small_max = written
                    .zeros_after_point()
                    .filter(|zeros| *zeros >= 3)
                    .map_or(0, |zeros| zeros as u16 + 1);
            }
            Some(exponent) => {
                evidence.mantissa_decimals = decimals;
                match exponent {
                    0.. => evidence.exponent_min = exponent as u16,
                    _ => evidence.negative_exponent_min = exponent.unsigned_abs() as u16,
                }
            }
        }
        Some(evidence)
    }
}

/// Returns `true` if a long text is a 64-bit integer in its usual notation.
fn is_integer(text: &[u8]) -> bool {
    let first = if text.first() == Some(&b'-') { text.get(1) } else { text.first() };
    first.is_some_and(|first| (b'1'..=b'9').contains(first))
        && str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok())
}
