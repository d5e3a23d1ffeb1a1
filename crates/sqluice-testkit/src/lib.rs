//! What tests of several crates share. It uses no other crate of the workspace, so that tests of the lowest may use it.
//!
//! * `skip`: a test that cannot run here says so, and fails in CI.
//! * `sqlite`: SQLite's verdict on a database, by the library and by the system's shell.
//! * `tables`: random tables of all kinds, made by SQLite.
//! * `disk`: small file systems of their own.
//! * `system`: what systems do in different ways.

#[cfg(target_os = "linux")]
pub mod disk;
pub mod skip;
pub mod sqlite;
pub mod system;
pub mod tables;

use std::fs;
use std::path::Path;

use proptest::test_runner::Config;

/// The number of cases that a property test tries, and no file of failures. `PROPTEST_CASES` scales the number: 256 is once.
pub fn cases(by_default: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let cases = (u64::from(by_default) * asked.unwrap_or(256) / 256).max(1);
    Config { cases: cases as u32, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
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
