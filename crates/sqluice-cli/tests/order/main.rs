//! The order of writes, syncs and renames, replayed as a power failure may leave it: for a new database, one that replaces another, and
//! one that is changed in place.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod existing;
mod new;
mod replace;
