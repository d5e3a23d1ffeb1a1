//! Values between two values of the same row: `int(low, high)` and similar functions whose bounds are columns.

use std::sync::Arc;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;

use super::calendar::{self, DAY, DAY_BYTES, SECOND_BYTES};
use super::{Arguments, Fault, Generate, fill_all, size_of_all};
use crate::generator::{Class, Scope, Size};
use crate::random::{below64, unit};
use crate::vector::{RowRange, SLACK, Vector};

/// The kind of the bounds and the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundsKind {
    Int,
    Real,
    Date,
    Timestamp,
}

/// Values between two bounds. A value is NULL if a bound is NULL or of another kind. If the upper bound is below the lower bound, the value
/// is the lower bound.
#[derive(Debug)]
pub(super) struct Between {
    kind: BoundsKind,
    bounds: [Arc<dyn Generate>; 2],
}

impl Between {
    pub(super) fn build(kind: BoundsKind, arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
        let bounds = [arguments.compile(0)?, arguments.compile(1)?];
        for (index, bound) in bounds.iter().enumerate() {
            let (fits, expected) = match kind {
                BoundsKind::Int | BoundsKind::Real => (bound.class().is_number(), "a number"),
                BoundsKind::Date => (bound.class().is_text(), "a day"),
                BoundsKind::Timestamp => (bound.class().is_text(), "a moment"),
            };
            if !fits {
                return Err(arguments.wrong(index, expected));
            }
        }
        Ok(Arc::new(Between { kind, bounds }))
    }

    fn value(&self, bits: u64, low: Value<'_>, high: Value<'_>, out: &mut Vector) {
        let width = if self.kind == BoundsKind::Date { DAY_BYTES } else { SECOND_BYTES };
        match self.kind {
            BoundsKind::Int => match (int(low), int(high)) {
                (Some(low), Some(high)) => {
                    let span = high.max(low).wrapping_sub(low) as u64;
                    let drawn = span.checked_add(1).map_or(bits, |count| below64(bits, count));
                    out.push(Value::Int(low.wrapping_add(drawn as i64)));
                }
                _ => out.push(Value::Null),
            },
            BoundsKind::Real => match (real(low), real(high)) {
                (Some(low), Some(high)) => {
                    let (share, high) = (unit(bits), high.max(low));
                    out.push(Value::Real((low * (1.0 - share) + high * share).clamp(low, high)));
                }
                _ => out.push(Value::Null),
            },
            BoundsKind::Date | BoundsKind::Timestamp => match (moment(low, width), moment(high, width)) {
                (Some(low), Some(high)) => {
                    let step = if self.kind == BoundsKind::Date { u64::from(DAY) } else { 1 };
                    let drawn = below64(bits, (high.max(low) - low) / step + 1) * step;
                    let mut text = [0; SECOND_BYTES + SLACK];
                    calendar::write(low + drawn, &mut text);
                    out.push(Value::Text(&text[..width]));
                }
                _ => out.push(Value::Null),
            },
        }
    }
}

fn int(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        Value::Real(real) => Some(real as i64),
        _ => None,
    }
}

fn real(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int as f64),
        Value::Real(real) => Some(real),
        _ => None,
    }
}

/// Parses the first `width` bytes of a text as a day or second, or the first 10 bytes of a shorter text as a day. Returns seconds since
/// 0000-03-01, for a day those of its midnight, or `None` if the value is no day or second.
fn moment(value: Value<'_>, width: usize) -> Option<u64> {
    let Value::Text(text) = value else { return None };
    match text.get(..width) {
        Some(text) => calendar::parse(text),
        None => calendar::parse(text.get(..DAY_BYTES)?),
    }
}

impl Generate for Between {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let bounds = fill_all(&self.bounds, at.child(0), rows)?;
        out.values();
        for (index, row) in (rows.first..).take(rows.count).enumerate() {
            self.value(at.key.word(row), bounds[0].get(index), bounds[1].get(index), out);
        }
        out.settle();
        Ok(())
    }

    fn size(&self) -> Size {
        let Size { mean, max } = size_of_all(&self.bounds);
        Size { mean: mean / 2, max }
    }

    fn class(&self) -> Class {
        match self.kind {
            BoundsKind::Int => Class::Int,
            BoundsKind::Real => Class::Real,
            BoundsKind::Date | BoundsKind::Timestamp => Class::Text,
        }
    }

    fn nullable(&self) -> bool {
        self.bounds.iter().any(|bound| bound.nullable())
    }
}
