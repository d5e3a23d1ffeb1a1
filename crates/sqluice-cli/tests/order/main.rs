//! The order of writes, syncs and renames, replayed as a power failure may leave it: for a new database, one that replaces another, and
//! one that is changed in place.
#![cfg(target_os = "linux")] // strace, which records calls, is a program of Linux.

#[path = "../support/mod.rs"]
mod support;

mod existing;
mod in_place;
mod new;
mod replace;
