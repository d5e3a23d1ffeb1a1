//! Code shared by the tests of several crates. It uses no other crate of the workspace, so the tests of every crate can use it.
//!
//! * `archives`: writers of ZIP and tar archives.
//! * `full_text`: the positions of terms, as FTS5 stores them.
//! * `effort`: the effort of this run, which sets the number of tries.
//! * `own_process`: runs tests that change their entire process in a process of their own.
//! * `skip`: reports that a test can't run on this machine; in CI, that is a failure.
//! * `sqlite`: checks databases with SQLite, the library and the system's shell.
//! * `tables`: random tables of all kinds, created by SQLite.
//! * `disk`: small separate file systems.
//! * `system`: functions that differ between operating systems.
//! * `wait`: waits for other threads and processes, with a time limit.

pub mod archives;
#[cfg(target_os = "linux")]
pub mod disk;
pub mod effort;
pub mod full_text;
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

/// Returns the settings of a property test that tries `full` cases at full effort, a quarter of them at quick effort, and 80 times as many
/// at soak effort.
pub fn cases(full: u32) -> Config {
    config(tries(full.div_ceil(4), full, full * 80))
}

/// Returns the settings of a property test with this number of cases. Failures are not kept in files.
pub fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
}

/// Returns the names in a folder, sorted.
///
/// # Panics
/// If the folder can't be read.
pub fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
