//! Tests that cannot run on a machine.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::thread;

/// Prints past the test harness, which hides what a passing test prints.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "\n{text}");
}

/// Reports that the running test is skipped, and what to do so that it runs. `tools/setup test` installs all programs that tests call.
///
/// # Panics
/// In CI, where `CI` is set: all tests must run there. Not under wine, which has no programs of Linux.
#[track_caller]
pub fn skipped(why: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(cfg!(windows) || std::env::var_os("CI").is_none(), "{test} must run in CI: {why}");
    tell(&format!("SKIPPED: {test}: {why}"));
}

/// Whether a program is installed; if not, the running test is [`skipped`].
#[track_caller]
pub fn has(program: &str) -> bool {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let runs = output.is_ok_and(|output| output.status.success());
    if !runs {
        skipped(&format!("{program} is not installed: run tools/setup test"));
    }
    runs
}
