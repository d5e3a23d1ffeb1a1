//! Checks of sound and damaged databases.

#[cfg(feature = "load")]
mod computed;
mod constraints;
mod full_text;
mod planted_faults;
mod sound;
