//! Values with given quantiles: `quantiles`, `int_quantiles`, `keys`; and `later`, which adds a random distance to a date or time.
//!
//! ```text
//!  quantiles(0, 10, 100)
//!  value   0 ───── 10 ─────────────── 100
//!  share   0       0.5                1          half of the rows have values up to 10
//! ```
//!
//! Between two neighbouring quantiles the values are evenly spread.

use std::sync::Arc;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;

use super::calendar::{self, DAY, DAY_BYTES, SECOND_BYTES};
use super::moments::moment as moment_of;
use super::spread::{self, Counted};
use super::{Arguments, Fault, Function, Generate, fill_all, size_of_all};
use crate::generator::{ByShare, Class, Domain, Scope, Size, World};
use crate::parse::{ExprNode, Literal};
use crate::random::{below64, unit};
use crate::vector::{RowRange, SLACK, Vector, VectorKind};

pub(super) const QUANTILES: Function = Function {
    name: "quantiles",
    signature: "quantiles(a, b, ...)",
    about: "a number, a day or a second: equally many rows lie between any two neighbouring quantiles",
    example: "quantiles(1.5, 12, 19.5, 99)",
    build: |arguments| build(arguments, false),
};

pub(super) const INT_QUANTILES: Function = Function {
    name: "int_quantiles",
    signature: "int_quantiles(a, b, ...)",
    about: "a number as quantiles() gives it, rounded to an integer",
    example: "int_quantiles(0.5, 3.5, 20.5, 99.5)",
    build: |arguments| build(arguments, true),
};

pub(super) const KEYS: Function = Function {
    name: "keys",
    signature: "keys(a, b, ...)",
    about: "different integers that ascend with the row number and have these quantiles; if the table has more rows, they continue beyond the last quantile",
    example: "keys(1, 5000, 20000)",
    build: |arguments| {
        arguments.count_within(2, POINTS_MAX)?;
        let points = (0..arguments.arguments.len()).map(|index| arguments.int(index));
        let points: Vec<i64> = points.collect::<Result<_, _>>()?;
        ascend(arguments, &points)?;
        Ok(Arc::new(Keys { points, table: Counted::of(arguments) }))
    },
};

pub(super) const LATER: Function = Function {
    name: "later",
    signature: "later(x, n)",
    about: "the date or time n seconds after x, or n days after x if x is a day, in the form of x",
    example: "later(customer.joined, int_quantiles(0, 2, 30))",
    build: |arguments| {
        arguments.count(2)?;
        let parts = [arguments.compile(0)?, arguments.compile(1)?];
        if !parts[0].class().is_text() {
            return Err(arguments.wrong(0, "a day or a second"));
        }
        if !parts[1].class().is_number() {
            return Err(arguments.wrong(1, "a number"));
        }
        Ok(Arc::new(Later { parts }))
    },
};

/// The maximum number of quantiles.
const POINTS_MAX: usize = 10_000;

/// The largest n for which `pool(n, int_quantiles(...))` has exactly n different values.
pub const POOL_INTS_MAX: u64 = 1 << 16;

fn ascend<T: PartialOrd + std::fmt::Display>(arguments: &Arguments<'_>, points: &[T]) -> Result<(), Fault> {
    match points.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(index) => {
            let message =
                format!("quantiles must ascend, but {} follows {}", points[index + 1], points[index]);
            Err(arguments.fault(arguments.place(index + 1), message))
        }
        None => Ok(()),
    }
}

/// The form of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Real,
    Int,
    Day,
    Second,
}

fn build(arguments: &Arguments<'_>, whole: bool) -> Result<Arc<dyn Generate>, Fault> {
    arguments.count_within(2, POINTS_MAX)?;
    let form = match &arguments.expr(0).node {
        ExprNode::Literal(Literal::Text(text)) if !whole && text.len() == DAY_BYTES => Form::Day,
        ExprNode::Literal(Literal::Text(_)) if !whole => Form::Second,
        _ if whole => Form::Int,
        _ => Form::Real,
    };
    let point = |index: usize| match form {
        Form::Real | Form::Int => arguments.real(index),
        Form::Day | Form::Second => {
            let text = arguments.text(index)?;
            let width = if form == Form::Day { DAY_BYTES } else { SECOND_BYTES };
            let parsed = calendar::parse(text.as_bytes()).filter(|_| text.len() == width);
            let wanted = &"YYYY-MM-DD hh:mm:ss"[..width];
            let moment =
                parsed.ok_or_else(|| arguments.wrong(index, &format!("a text of the form '{wanted}'")))?;
            Ok(if form == Form::Day { moment / u64::from(DAY) } else { moment } as f64)
        }
    };
    let points: Vec<f64> = (0..arguments.arguments.len()).map(point).collect::<Result<_, _>>()?;
    ascend(arguments, &points)?;
    Ok(Arc::new(Quantiles { points, form, table: Counted::of(arguments) }))
}

/// Returns the value at a share of the rows, interpolated between equidistant quantiles.
#[inline]
fn at_quantile(points: &[f64], share: u64) -> f64 {
    let place = u128::from(share) * (points.len() - 1) as u128;
    let (index, rest) = ((place >> 64) as usize, unit(place as u64));
    let (low, high) = (points[index], points[index + 1]);
    (low * (1.0 - rest) + high * rest).clamp(low, high)
}

#[derive(Debug)]
struct Quantiles {
    /// At least two quantiles; the quantiles of days are day numbers.
    points: Vec<f64>,
    form: Form,
    table: Counted,
}

/// Rounds a value between quantiles to an integer, at most `last`.
#[inline]
fn whole(value: f64, last: f64) -> i64 {
    (value + 0.5).floor().min(last) as i64
}

impl Quantiles {
    /// Returns the largest integer value. Values are below the last quantile, before they are rounded: if it is 5.5, the result is 5.
    fn last(&self) -> f64 {
        (self.points[self.points.len() - 1] + 0.5).ceil() - 1.0
    }
}

impl ByShare for Quantiles {
    fn make(&self, _: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let values = shares.iter().map(|share| at_quantile(&self.points, *share));
        match self.form {
            Form::Real => {
                out.reals(rows.len()).iter_mut().zip(values).for_each(|(slot, value)| *slot = value)
            }
            Form::Int => {
                let last = self.last();
                out.ints(rows.len())
                    .iter_mut()
                    .zip(values)
                    .for_each(|(slot, value)| *slot = whole(value, last));
            }
            Form::Day | Form::Second => {
                const { assert!(SLACK >= SECOND_BYTES) };
                let is_day = self.form == Form::Day;
                let (width, step) = if is_day { (DAY_BYTES, u64::from(DAY)) } else { (SECOND_BYTES, 1) };
                let bytes = out.fixed(VectorKind::Text, width, rows.len());
                for (index, value) in values.enumerate() {
                    calendar::write(value.round() as u64 * step, &mut bytes[index * width..]);
                }
            }
        }
        Ok(())
    }

    fn different_ints(&self, count: u64) -> Option<Vec<i64>> {
        let last = self.last();
        let bounds = (whole(self.points[0], last), last as i64);
        let enough = i128::from(bounds.1) - i128::from(bounds.0) + 1 >= i128::from(count);
        if self.form != Form::Int || count > POOL_INTS_MAX || !enough {
            return None;
        }
        let values =
            (0..count).map(|number| whole(at_quantile(&self.points, spread::middle(number, count)), last));
        let mut ints: Vec<i64> = values.collect();
        // Equal values are raised until all differ; values above the last quantile are then lowered.
        for at in 1..ints.len() {
            ints[at] = ints[at].max(ints[at - 1].saturating_add(1));
        }
        let mut most = bounds.1;
        for int in ints.iter_mut().rev().take_while(|int| **int > bounds.0) {
            *int = (*int).min(most);
            most = int.saturating_sub(1);
        }
        Some(ints)
    }
}

impl Generate for Quantiles {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        spread::fill(self, &self.table, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        spread::fill_at(self, &self.table, at, rows, out)
    }

    fn size(&self) -> Size {
        match self.form {
            Form::Real => Size::exactly(8),
            Form::Int => {
                Size { mean: super::numbers::int_bytes(self.points[self.points.len() / 2] as i64), max: 8 }
            }
            Form::Day => Size::exactly(DAY_BYTES as u64),
            Form::Second => Size::exactly(SECOND_BYTES as u64),
        }
    }

    fn class(&self) -> Class {
        match self.form {
            Form::Real => Class::Real,
            Form::Int => Class::Int,
            Form::Day | Form::Second => Class::Text,
        }
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        Some(self)
    }
}

/// Ascending integers with the given quantiles.
#[derive(Debug)]
struct Keys {
    points: Vec<i64>,
    table: Counted,
}

impl Keys {
    /// Returns the lowest integer that a row may get. The integers of all earlier rows are below this integer.
    fn begin(&self, count: u64, row: u64) -> i64 {
        let parts = (self.points.len() - 1) as u64;
        // Between two neighbouring quantiles lies a part of the rows; the parts are equally large, except for rounding.
        let first = |part: u64| (u128::from(count) * u128::from(part) / u128::from(parts)) as u64;
        let part = ((u128::from(row) * u128::from(parts)) / u128::from(count.max(1)))
            .min(u128::from(parts) - 1) as u64;
        let part = if row < first(part) {
            part - 1
        } else if part + 1 < parts && row >= first(part + 1) {
            part + 1
        } else {
            part
        };
        let (low, high) = (self.point(count, part), self.point(count, part + 1));
        let (rows, at) = ((first(part + 1) - first(part)).max(1), row - first(part));
        let span = i128::from(high) - i128::from(low);
        (i128::from(low) + span * i128::from(at) / i128::from(rows)) as i64
    }

    /// Returns the lowest integer of a part: its quantile, or more if the rows of earlier parts need more integers than lie below the
    /// quantile. If `part` is the number of parts, returns the integer after the last quantile.
    fn point(&self, count: u64, part: u64) -> i64 {
        let parts = (self.points.len() - 1) as u64;
        let first = |part: u64| (u128::from(count) * u128::from(part) / u128::from(parts)) as i64;
        let mut low = self.points[0];
        for next in 1..=part {
            let rows = first(next) - first(next - 1);
            let end = self.points[next as usize].saturating_add(i64::from(next == parts));
            low = end.max(low.saturating_add(rows));
        }
        low
    }
}

impl Generate for Keys {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let numbers: Vec<u64> = (rows.first..).take(rows.count).collect();
        self.nth(at, &numbers, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        self.nth(at, rows, out)
    }

    fn size(&self) -> Size {
        Size { mean: super::numbers::int_bytes(self.points[self.points.len() / 2]), max: 8 }
    }

    fn class(&self) -> Class {
        Class::Int
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

impl Domain for Keys {
    fn count(&self, world: &World) -> Result<u64> {
        Ok(self.table.rows(world).max(1))
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        let count = self.table.rows(at.world);
        for (slot, &row) in out.ints(numbers.len()).iter_mut().zip(numbers) {
            let begin = self.begin(count, row);
            let width = (i128::from(self.begin(count, row + 1)) - i128::from(begin)).max(1);
            *slot = begin.wrapping_add(below64(at.key.word(row), width as u64) as i64);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Later {
    parts: [Arc<dyn Generate>; 2],
}

impl Later {
    fn make(moments: &Vector, steps: &Vector, count: usize, out: &mut Vector) {
        out.values();
        for row in 0..count {
            let (Value::Text(text), step) = (moments.get(row), steps.get(row)) else {
                out.push(Value::Null);
                continue;
            };
            let step = match step {
                Value::Int(int) => Some(int),
                Value::Real(real) => Some(real.round() as i64),
                _ => None,
            };
            let is_day = text.len() == DAY_BYTES;
            let seconds = step.map(|step| step.saturating_mul(if is_day { i64::from(DAY) } else { 1 }));
            let (Some(from), Some(seconds)) = (moment_of(Value::Text(text)), seconds) else {
                out.push(Value::Null);
                continue;
            };
            match super::moments::literal(
                from.saturating_add(seconds),
                if is_day { super::Form::Day } else { super::Form::Second },
            ) {
                Literal::Text(text) => out.push(Value::Text(text.as_bytes())),
                _ => out.push(Value::Null),
            }
        }
        out.settle();
    }
}

impl Generate for Later {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let parts = fill_all(&self.parts, at, rows)?;
        Later::make(&parts[0], &parts[1], rows.count, out);
        Ok(())
    }

    fn size(&self) -> Size {
        Size { mean: SECOND_BYTES as u64, max: size_of_all(&self.parts).max + 2 * SECOND_BYTES as u64 }
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn nullable(&self) -> bool {
        // The result is also NULL if x is not a date or time.
        self.parts.iter().any(|part| part.nullable())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_their_quantiles() {
        let points = [0.0, 10.0, 100.0];
        assert_eq!(at_quantile(&points, 0), 0.0);
        assert_eq!(at_quantile(&points, 1 << 63), 10.0);
        assert!(at_quantile(&points, u64::MAX) > 99.99);
        assert!((at_quantile(&points, 1 << 62) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn keys_ascend_without_duplicates_for_any_number_of_rows() {
        for points in [vec![1, 100], vec![-5, 0, 1000, 1001], vec![7, 7], vec![i64::MIN / 2, i64::MAX / 2]] {
            let keys = Keys { points: points.clone(), table: Counted::default() };
            for count in [1, 2, 3, 10, 100, 1001] {
                let begins: Vec<i64> = (0..=count).map(|row| keys.begin(count, row)).collect();
                assert!(begins.windows(2).all(|pair| pair[0] < pair[1]), "{points:?}, {count}: {begins:?}");
                assert!(begins[0] >= points[0]);
            }
        }
    }
}
