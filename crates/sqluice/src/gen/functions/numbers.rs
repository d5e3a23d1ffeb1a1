//! Numbers: `row`, `int`, `real`.

use std::sync::Arc;

use super::{Function, Generate, SMALL, Size};
use crate::r#gen::random::{Key, below32, below64};
use crate::r#gen::vector::{Rows, Vector};
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
        let (low, high) = arguments.ordered((arguments.real(0)?, arguments.real(1)?))?;
        Ok(Arc::new(Real { low, high }))
    },
};

/// Bytes that an integer takes in a record.
pub(super) fn int_bytes(int: i64) -> u64 {
    SerialType::of_int(int).content_bytes().unwrap_or(8)
}

#[derive(Debug)]
struct Row;

impl Generate for Row {
    fn fill(&self, _: Key, rows: Rows, out: &mut Vector) {
        let first = rows.first as i64 + 1;
        for (index, slot) in out.ints(rows.count).iter_mut().enumerate() {
            *slot = first + index as i64;
        }
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
    fn fill(&self, key: Key, rows: Rows, out: &mut Vector) {
        let out = out.ints(rows.count);
        let low = self.low;
        // One less than the count of outcomes, which may be 2^64.
        let span = self.high.wrapping_sub(low) as u64;
        if span < SMALL {
            let count = span as u32 + 1;
            key.map32(rows.first, out, |bits| low.wrapping_add(i64::from(below32(bits, count))));
        } else if let Some(count) = span.checked_add(1) {
            key.map64(rows.first, out, |bits| low.wrapping_add(below64(bits, count) as i64));
        } else {
            key.map64(rows.first, out, |bits| bits as i64);
        }
    }

    fn size(&self) -> Size {
        Size { mean: int_bytes(self.low).max(int_bytes(self.high)), max: 8 }
    }
}

#[derive(Debug)]
struct Real {
    low: f64,
    high: f64,
}

impl Generate for Real {
    fn fill(&self, key: Key, rows: Rows, out: &mut Vector) {
        let (low, high) = (self.low, self.high);
        key.map64(rows.first, out.reals(rows.count), |bits| {
            // From 1 to 2, 52 random bits; then from 0 to 1. `high - low` could be infinite, this is not.
            let share = f64::from_bits(0x3ff0_0000_0000_0000 | bits >> 12) - 1.0;
            let real = low * (1.0 - share) + high * share;
            // Rounding may have carried it over an end. Not `max` and `min`, which look for NaN.
            let real = if real < low { low } else { real };
            if real > high { high } else { real }
        });
    }

    fn size(&self) -> Size {
        Size { mean: 8, max: 8 }
    }
}
