//! Random numbers with distributions other than uniform: `normal`, `exponential`, `zipf`.

use std::f64::consts::TAU;
use std::sync::Arc;

use sqluice_core::error::Result;

use super::{Function, Generate};
use crate::generator::{Class, Scope, Size};
use crate::random::{Key, unit};
use crate::vector::{RowRange, Vector};

pub(super) const NORMAL: Function = Function {
    name: "normal",
    signature: "normal(mean, deviation)",
    about: "a real of the normal distribution with this mean and standard deviation",
    example: "normal(170, 8.5)",
    build: |arguments| {
        arguments.count(2)?;
        Ok(Arc::new(Reals::Normal { mean: arguments.real(0)?, deviation: arguments.positive(1)? }))
    },
};

pub(super) const EXPONENTIAL: Function = Function {
    name: "exponential",
    signature: "exponential(mean)",
    about: "a real of the exponential distribution with this mean",
    example: "exponential(30)",
    build: |arguments| {
        arguments.count(1)?;
        Ok(Arc::new(Reals::Exponential { mean: arguments.positive(0)? }))
    },
};

pub(super) const ZIPF: Function = Function {
    name: "zipf",
    signature: "zipf(n, s)",
    about: "an integer from 1 to n, k with a probability in proportion to 1 / k^s",
    example: "zipf(1000, 1.1)",
    build: |arguments| {
        arguments.count(2)?;
        let count = arguments.int_within(0, 1, i64::MAX)? as u64;
        Ok(Arc::new(Ranks(Zipf::new(count, arguments.positive(1)?))))
    },
};

#[derive(Debug)]
enum Reals {
    Normal { mean: f64, deviation: f64 },
    Exponential { mean: f64 },
}

impl Generate for Reals {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let slots = out.reals(rows.count);
        match *self {
            Reals::Normal { mean, deviation } => {
                let second = at.key.child(0);
                for (row, slot) in (rows.first..).zip(slots) {
                    // The Box-Muller transform. `1.0 -` avoids the logarithm of 0.
                    let radius = (-2.0 * (1.0 - unit(at.key.word(row))).ln()).sqrt();
                    *slot = mean + deviation * radius * (TAU * unit(second.word(row))).cos();
                }
            }
            Reals::Exponential { mean } => {
                at.key.map64(rows.first, slots, |bits| -mean * (1.0 - unit(bits)).ln());
            }
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::exactly(8)
    }

    fn class(&self) -> Class {
        Class::Real
    }
}

#[derive(Debug)]
struct Ranks(Zipf);

impl Generate for Ranks {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        for (row, slot) in (rows.first..).zip(out.ints(rows.count)) {
            *slot = self.0.rank(at.key.row(row)) as i64;
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size { mean: 2, max: 8 }
    }

    fn class(&self) -> Class {
        Class::Int
    }
}

/// Zipf's distribution by rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", 1996), which needs no table and rejects few draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    count: f64,
    exponent: f64,
    /// The integral at both ends of the range that is drawn from.
    low: f64,
    high: f64,
    /// The distance below a rank within which the rank is accepted without an evaluation of the integral.
    near: f64,
}

impl Zipf {
    pub(super) fn new(count: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf { count: count as f64, exponent, low: 0.0, high: 0.0, near: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.count + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Returns the integral of 1 / x^s: (x^(1-s) - 1) / (1-s), or ln x if s is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let scaled = (1.0 - self.exponent) * log;
        if scaled.abs() > 1e-8 { scaled.exp_m1() / scaled * log } else { (1.0 + scaled / 2.0) * log }
    }

    fn inverse(&self, y: f64) -> f64 {
        let scaled = ((1.0 - self.exponent) * y).max(-1.0);
        let log = if scaled.abs() > 1e-8 { scaled.ln_1p() / scaled } else { 1.0 - scaled / 2.0 };
        (log * y).exp()
    }

    /// Draws a rank, counted from 1.
    pub(super) fn rank(&self, key: Key) -> u64 {
        let mut tries = 0;
        loop {
            let drawn = self.high + unit(key.word(tries)) * (self.low - self.high);
            let x = self.inverse(drawn);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.near || drawn >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
            tries += 1;
        }
    }
}
