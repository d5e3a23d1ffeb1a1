//! The figures of a run, as people read them: the spread of an experiment's samples, quantities with units, ratios.

pub(crate) mod quantity;
mod spread;

pub use quantity::figure;
pub(crate) use quantity::{compared, grouped, ratio};
pub use spread::Spread;
