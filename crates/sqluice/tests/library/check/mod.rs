//! Checks of sound and damaged databases.

mod planted_faults;
mod sound;
