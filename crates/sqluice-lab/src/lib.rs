//! `sqluice-lab`: which way to fill SQLite is the fastest, measured on the machine at hand.
//!
//! ```text
//!  published ── what five write-ups say: 21 experiments, 8 questions ──┐
//!  experiments ── each variant run, checked, timed, in turns ──────────┼─> record ──> report (HTML), advice, comparison with another run
//!  machine ── what it was measured on ─────────────────────────────────┘
//! ```

mod carray;
mod case;
mod driver;
mod experiments;
mod insert;
mod kv;
pub mod machine;
pub mod published;
pub mod random;
pub mod record;
mod scale;
pub mod scratch;
mod sql;
mod table;

pub use driver::{Chooses, Settings, Step, bytes_to_write, ids, run};
pub use scale::Scale;
