//! Reports that a test is skipped because something is missing on this machine.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::thread;

/// Prints `text` directly to standard error, because the test harness hides the usual output of passing tests.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "\n{text}");
}

/// Reports that the running test is skipped, and the reason or remedy. `tools/setup test` installs all programs that tests call.
///
/// # Panics
/// In CI, where the variable `CI` is set, because all tests must run there. Windows is excepted: wine lacks the programs of Linux.
#[track_caller]
pub fn skipped(why: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(cfg!(windows) || std::env::var_os("CI").is_none(), "{test} must run in CI: {why}");
    tell(&format!("SKIPPED: {test}: {why}"));
}

/// Returns `true` if a program is installed. Otherwise, the running test is [`skipped`].
#[track_caller]
pub fn has(program: &str) -> bool {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let runs = output.is_ok_and(|output| output.status.success());
    if !runs {
        skipped(&format!("{program} is not installed: run tools/setup test"));
    }
    runs
}
