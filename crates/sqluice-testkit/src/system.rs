//! Functions for tests whose code differs between operating systems.
//!
//! A test that can't run on a system is ignored with a reason: `#[cfg_attr(windows, ignore = "...")]`.

use std::path::Path;

/// Creates a symbolic link to a file. On Windows this requires a privilege; under wine it fails.
///
/// # Panics
/// If the link can't be created.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) {
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(target, link);
    #[cfg(windows)]
    let made = std::os::windows::fs::symlink_file(target, link);
    made.unwrap();
}

/// Creates a named pipe, which only Unix has.
///
/// # Panics
/// If the pipe can't be created.
pub fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("this test needs mkfifo");
    assert!(made.success());
}
