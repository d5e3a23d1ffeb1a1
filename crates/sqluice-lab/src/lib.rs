//! `sqluice-lab`: which way to fill SQLite is the fastest, measured on the machine at hand.
//!
//! ```text
//!  published ── what five write-ups say: 21 experiments, 8 questions ──┐
//!  experiments ── each variant run, checked, timed, in turns ──────────┼─> record ──> report (HTML), advice, comparison with another run
//!  machine ── what it was measured on ─────────────────────────────────┘
//! ```

pub mod advice;
pub mod advise;
pub mod published;
pub mod record;
pub mod report;
