//! SIGKILL while the command writes: a new database, an existing one, and temporary space.
//!
//! `SQLUICE_KILLS` sets or scales the number of kills.
#![cfg(unix)]

#[path = "../support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
mod existing;
mod new;
#[cfg(target_os = "linux")]
mod spill;
