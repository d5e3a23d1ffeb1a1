//! Days and seconds, as the texts that SQLite's date functions read: `date`, `timestamp`.

use std::sync::Arc;

use sqluice_core::error::Result;

use super::bounds::{self, Between};
use super::calendar::{DAY, DAY_BYTES, SECOND_BYTES, parse, write};
use super::{Arguments, Fault, Function, Generate, SMALL};
use crate::generator::{Class, Domain, Scope, Size, World};
use crate::parse::{ExprNode, Literal};
use crate::random::{Key, below32, below64};
use crate::vector::{RowRange, SLACK, Vector, VectorKind};

pub(super) const DATE: Function = Function {
    name: "date",
    signature: "date(a, b)",
    about: "a day from a to b, both included, as text",
    example: "date('2000-01-01', '2029-12-31')",
    build: |arguments| {
        arguments.count(2)?;
        if arguments.varies(0) || arguments.varies(1) {
            return Between::build(bounds::BoundsKind::Date, arguments);
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
            return Between::build(bounds::BoundsKind::Timestamp, arguments);
        }
        let (first, last) = (moment(arguments, 0, SECOND_BYTES)?, moment(arguments, 1, SECOND_BYTES)?);
        build(arguments, Moments { first, last, step: 1 })
    },
};

fn build(arguments: &Arguments<'_>, moments: Moments) -> Result<Arc<dyn Generate>, Fault> {
    if moments.last < moments.first {
        return Err(
            arguments.fault(arguments.place(1), "the second argument must not be earlier than the first")
        );
    }
    Ok(Arc::new(moments))
}

/// Parses argument `index`, a day or second of `bytes` bytes. Returns seconds since 0000-03-01.
fn moment(arguments: &Arguments<'_>, index: usize, bytes: usize) -> Result<u64, Fault> {
    let form = &"YYYY-MM-DD hh:mm:ss"[..bytes];
    let parsed = match &arguments.expr(index).node {
        ExprNode::Literal(Literal::Text(text)) if text.len() == bytes => parse(text.as_bytes()),
        _ => None,
    };
    parsed.ok_or_else(|| arguments.wrong(index, &format!("a text of the form '{form}' from year 1 on")))
}

/// Random days or seconds from `first` to `last`, in seconds since 0000-03-01. `step` is 1, or the seconds of a day.
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
    /// Generates the values of `row_count` rows.
    #[inline(always)]
    fn make(&self, key: Key, rows: impl Iterator<Item = u64>, row_count: usize, out: &mut Vector) {
        const { assert!(SLACK >= SECOND_BYTES) };
        let (first, step, width) = (self.first, u64::from(self.step), self.bytes());
        let count = (self.last - first) / step + 1;
        let out = out.fixed(VectorKind::Text, width, row_count);
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
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
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
        let bytes = out.fixed(VectorKind::Text, width, numbers.len());
        for (index, number) in numbers.iter().enumerate() {
            write(self.first + number * u64::from(self.step), &mut bytes[index * width..]);
        }
        Ok(())
    }
}
