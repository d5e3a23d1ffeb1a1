//! Checks of sound and damaged databases.

mod constraints;
mod planted_faults;
mod sound;
