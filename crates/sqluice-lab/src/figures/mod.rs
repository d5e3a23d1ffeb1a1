//! Formatting of a run's figures: the spread of samples, quantities with units, ratios.

pub(crate) mod quantity;
mod spread;

pub use quantity::figure;
pub(crate) use quantity::{compared, grouped, ratio};
pub use spread::Spread;
