//! What tests of several crates share. It uses no other crate of the workspace, so that tests of the lowest may use it.
//!
//! * `effort`: how hard this run tries.
//! * `own_process`: tests that change their whole process.
//! * `skip`: a test that cannot run here says so, and fails in CI.
//! * `sqlite`: SQLite's verdict on a database, by the library and by the system's shell.
//! * `tables`: random tables of all kinds, made by SQLite.
//! * `disk`: small file systems of their own.
//! * `system`: what systems do in different ways.
//! * `wait`: waiting for other threads and processes, with a limit.

#[cfg(target_os = "linux")]
pub mod disk;
pub mod effort;
pub mod own_process;
pub mod skip;
pub mod sqlite;
pub mod system;
pub mod tables;
pub mod wait;

use std::fs;
use std::path::Path;

use proptest::test_runner::Config;

use crate::effort::tries;

/// Returns the settings of a property test that tries `full` cases at full effort, a quarter of them at quick, and 80 times as many at soak.
pub fn cases(full: u32) -> Config {
    config(tries(full.div_ceil(4), full, full * 80))
}

/// Returns the settings of a property test with this number of cases. Failures are not kept in files.
pub fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
}

/// The names in a folder, sorted.
///
/// # Panics
/// When the folder cannot be read.
pub fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
