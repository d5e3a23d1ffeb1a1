//! What systems do in different ways, for tests that run on several of them.
//!
//! A test that can't run on a system at all says why: `#[cfg_attr(windows, ignore = "...")]`.

use std::path::Path;

/// Makes a symbolic link to a file. On Windows that takes a right of its own, and wine can't.
///
/// # Panics
/// When it can't be made.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) {
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(target, link);
    #[cfg(windows)]
    let made = std::os::windows::fs::symlink_file(target, link);
    made.unwrap();
}

/// Makes a named pipe in a folder, which only Unix has.
///
/// # Panics
/// When it can't be made.
pub fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("this test needs mkfifo");
    assert!(made.success());
}
