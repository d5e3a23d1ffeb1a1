//! Fill SQLite files at the speed of the disk.
//!
//! Modules, from the bottom up; each uses only those above it in this list (`tests/tidy.rs` sees to that).
//!
//! 1. words that everyone uses: [`error`], [`progress`], [`affinity`], [`batch`], [`schema`]
//! 2. what, from where, to where: [`source`], [`gen`](mod@gen)

pub mod affinity;
pub mod batch;
pub mod error;
pub mod r#gen;
pub mod progress;
pub mod schema;
pub mod source;
