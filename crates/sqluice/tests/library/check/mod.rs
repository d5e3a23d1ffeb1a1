//! `check`: it finds no fault in databases that SQLite wrote, and finds each fault that SQLite's `integrity_check` finds.

#[cfg(feature = "load")]
mod computed;
mod constraints;
mod full_text;
mod planted_faults;
mod sound;
