//! `sqluice-lab`: which way to fill SQLite is the fastest, measured on the machine at hand.
//!
//! ```text
//!  published ── what five write-ups say: 21 experiments, 8 questions ──┐
//!  experiments ── tables of cases ──> driver: each run, checked,       ├─> record ──> report (HTML), advice, comparison with another run
//!    case         what is timed       timed, in turns ─────────────────┤
//!    insert       the ways to fill a table                             │
//!    table, kv    the rows and blobs that all ways take                │
//!  machine ── what it was measured on ─────────────────────────────────┘
//! ```
//!
//! Invariant: a way that leaves other rows than all others must leave has no figure.

pub mod advice;
pub mod advise;
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
pub mod report;
mod scale;
pub mod scratch;
mod sql;
mod table;
mod titles;

pub use driver::{Chooses, Settings, Step, bytes_to_write, ids, run};
pub use scale::Scale;
