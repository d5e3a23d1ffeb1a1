//! Numbers: `row`, `int`, `real`, `decimal`.

use std::sync::Arc;

use sqluice_core::error::Result;

use super::bounds::{Between, BoundsKind};
use super::{Function, Generate, SMALL};
use crate::generator::{Class, Domain, Scope, Size, World, draw, draw_at};
use crate::random::{below32, below64};
use crate::vector::{RowRange, Vector};
use sqluice_format::value::SerialType;

pub(super) const ROW: Function = Function {
    name: "row",
    signature: "row()",
    about: "the number of the row, counted from 1",
    example: "row()",
    build: |arguments| {
        arguments.count(0)?;
        Ok(Arc::new(Row))
    },
};

pub(super) const INT: Function = Function {
    name: "int",
    signature: "int(a, b)",
    about: "an integer from a to b, both included, each as likely as the others",
    example: "int(18, 99)",
    build: |arguments| {
        arguments.count(2)?;
        if arguments.varies(0) || arguments.varies(1) {
            return Between::build(BoundsKind::Int, arguments);
        }
        let (low, high) = arguments.ordered((arguments.int(0)?, arguments.int(1)?))?;
        Ok(Arc::new(Int { low, high }))
    },
};

pub(super) const REAL: Function = Function {
    name: "real",
    signature: "real(a, b)",
    about: "a real from a to b, evenly spread",
    example: "real(0, 99.5)",
    build: |arguments| {
        arguments.count(2)?;
        if arguments.varies(0) || arguments.varies(1) {
            return Between::build(BoundsKind::Real, arguments);
        }
        let (low, high) = arguments.ordered((arguments.real(0)?, arguments.real(1)?))?;
        Ok(Arc::new(Real { low, high }))
    },
};

/// The maximum number of decimal places.
const PLACES_MAX: i64 = 9;

pub(super) const DECIMAL: Function = Function {
    name: "decimal",
    signature: "decimal(a, b, places)",
    about: "a number from a to b with the given number of decimal places, all equally likely",
    example: "decimal(0.99, 199.99, 2)",
    build: |arguments| {
        arguments.count(3)?;
        let (low, high) = arguments.ordered((arguments.real(0)?, arguments.real(1)?))?;
        let scale = 10_f64.powi(arguments.int_within(2, 0, PLACES_MAX)? as i32);
        // Up to 2^53 a real can represent every integer.
        let most = 9_007_199_254_740_992.0;
        let (low, high) = ((low * scale).round(), (high * scale).round());
        if low.abs() > most || high.abs() > most {
            return Err(arguments.fault(arguments.at(), "more digits than a real can hold"));
        }
        Ok(Arc::new(Decimal { low: low as i64, high: high as i64, scale }))
    },
};

/// Returns the size of an integer in a record, in bytes.
pub(super) fn int_bytes(int: i64) -> u64 {
    SerialType::of_int(int).content_bytes().unwrap_or(8)
}

#[derive(Debug)]
struct Row;

impl Generate for Row {
    fn fill(&self, _: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let first = rows.first as i64 + 1;
        for (index, slot) in out.ints(rows.count).iter_mut().enumerate() {
            *slot = first + index as i64;
        }
        Ok(())
    }

    fn fill_at(&self, _: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        for (slot, &row) in out.ints(rows.len()).iter_mut().zip(rows) {
            *slot = row as i64 + 1;
        }
        Ok(())
    }

    fn class(&self) -> Class {
        Class::Int
    }

    fn size(&self) -> Size {
        Size { mean: 4, max: 8 }
    }

    fn counts_rows(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Int {
    low: i64,
    high: i64,
}

impl Generate for Int {
    fn fill(&self, Scope { key, .. }: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let out = out.ints(rows.count);
        let low = self.low;
        // The number of values minus one, since the number may be 2^64.
        let span = self.high.wrapping_sub(low) as u64;
        if span < SMALL {
            let count = span as u32 + 1;
            key.map32(rows.first, out, |bits| low.wrapping_add(i64::from(below32(bits, count))));
        } else if let Some(count) = span.checked_add(1) {
            key.map64(rows.first, out, |bits| low.wrapping_add(below64(bits, count) as i64));
        } else {
            key.map64(rows.first, out, |bits| bits as i64);
        }
        Ok(())
    }

    fn class(&self) -> Class {
        Class::Int
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }

    fn size(&self) -> Size {
        Size { mean: int_bytes(self.low).max(int_bytes(self.high)), max: 8 }
    }
}

impl Domain for Int {
    fn count(&self, _: &World) -> Result<u64> {
        Ok((self.high.wrapping_sub(self.low) as u64).saturating_add(1))
    }

    fn nth(&self, _: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        for (slot, &number) in out.ints(numbers.len()).iter_mut().zip(numbers) {
            *slot = self.low.wrapping_add(number as i64);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Real {
    low: f64,
    high: f64,
}

impl Generate for Real {
    fn fill(&self, Scope { key, .. }: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let (low, high) = (self.low, self.high);
        key.map64(rows.first, out.reals(rows.count), |bits| {
            // A real in 1..2 from 52 random bits, less 1. `high - low` could be infinite, the weighted sum can't.
            let share = f64::from_bits(0x3ff0_0000_0000_0000 | bits >> 12) - 1.0;
            let real = low * (1.0 - share) + high * share;
            // Clamps the rounding error. `max` and `min` are slower, since they check for NaN.
            let real = if real < low { low } else { real };
            if real > high { high } else { real }
        });
        Ok(())
    }

    fn class(&self) -> Class {
        Class::Real
    }

    fn size(&self) -> Size {
        Size { mean: 8, max: 8 }
    }
}

/// Decimal numbers, stored as multiples of `1 / scale`.
#[derive(Debug)]
struct Decimal {
    low: i64,
    high: i64,
    scale: f64,
}

impl Generate for Decimal {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        draw(self, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        draw_at(self, at, rows, out)
    }

    fn size(&self) -> Size {
        Size::exactly(8)
    }

    fn class(&self) -> Class {
        Class::Real
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

impl Domain for Decimal {
    fn count(&self, _: &World) -> Result<u64> {
        Ok((self.high - self.low) as u64 + 1)
    }

    fn nth(&self, _: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        for (slot, &number) in out.reals(numbers.len()).iter_mut().zip(numbers) {
            // Dividing, not multiplying by the reciprocal, gives the real that the decimal digits parse to.
            *slot = (self.low + number as i64) as f64 / self.scale;
        }
        Ok(())
    }
}
