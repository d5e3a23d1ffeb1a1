//! `sqluice-lab`: measures which way to fill SQLite is the fastest on this machine.
//!
//! ```text
//!  published: the figures of five write-ups ("publications") ─────────────────┐
//!  experiments: tables of cases ──> driver: runs, times and checks the cases ─┼─> record ──> report, advice, comparison with another run
//!  machine: the measured machine ─────────────────────────────────────────────┘
//! ```
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * `record`, `published`: a run, and the publications, as data; `random`, `scale`, `scratch`, `titles`, `turns`,
//!   `machine`
//! * `case`: a timed case; `sql`, `table`, `carray`, `kv`, `insert`: code that cases share; `experiments`
//! * `figures`: figures in words; `driver`: runs cases in turns; `advice`: advice from a run; `report`: the report of a run; `advise`:
//!   measures ways to fill the tables of a schema, and recommends one
//!
//! Invariant: a way that leaves other rows than expected has no figure.

pub mod advice;
pub mod advise;
pub mod carray;
mod case;
mod driver;
mod experiments;
pub mod figures;
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
mod turns;

pub use driver::{Chooses, Settings, Step, bytes_to_write, ids, run};
pub use scale::Scale;
pub use turns::turn;
