//! SIGKILL while the command writes: a new database, an existing one, a copy, a merge, files of an export, and temporary space.
//!
//! `SQLUICE_KILLS` sets or scales the number of kills.
#![cfg(unix)]

#[path = "../support/mod.rs"]
mod support;

mod copy;
#[cfg(target_os = "linux")]
mod existing;
mod export;
mod merge;
mod new;
#[cfg(target_os = "linux")]
mod spill;
