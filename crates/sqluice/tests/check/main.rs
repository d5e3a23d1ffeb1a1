//! Checks of sound and damaged databases.

#[path = "../support/mod.rs"]
mod support;

mod constraints;
mod planted_faults;
mod sound;
