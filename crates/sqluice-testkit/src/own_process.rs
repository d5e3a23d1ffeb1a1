//! Runs tests in a process of their own, because they change or measure the entire process: SQLite's lock byte, environment variables,
//! signals, peak memory.
//!
//! The test program starts itself again for each such test, so that its other tests never see the change. A test that needs a second
//! process, for example to kill it or to write in parallel, starts the program again with another test ([`test_of`]).

use std::any::type_name_of_val;
use std::process::{Command, Stdio};

/// The environment variable that names the test to run in its own process.
const NAME: &str = "SQLUICE_OWN_PROCESS";

/// Runs the body of a test in its own process. The closure must stand directly in the test function.
///
/// ```ignore
/// #[test]
/// fn a_test_that_moves_the_lock_byte() {
///     in_own_process(|| move_the_lock_byte());
/// }
/// ```
///
/// # Panics
/// If the body panics, or the process ends early for another reason.
#[track_caller]
pub fn in_own_process<F: FnOnce()>(body: F) {
    // The path is `program::module::test::{{closure}}`. The harness identifies the test by the part between program and closure.
    let path = type_name_of_val(&body);
    let (_, test) = path.split_once("::").expect("a path");
    let test = test.trim_end_matches("::{{closure}}");
    if std::env::var(NAME).is_ok_and(|name| name == test) {
        return body();
    }
    let ran =
        again(test).env(NAME, test).stdin(Stdio::null()).output().expect("this test program starts again");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{test} in its own process: {}\n{out}{err}", ran.status);
    // An unknown name runs no test and succeeds.
    assert!(out.contains("1 passed"), "{test} ran no test in its own process");
}

/// Returns the command that runs another test of a module in a separate process. The caller starts the process, waits for it or kills it.
/// `module` is `module_path!()`.
///
/// # Panics
/// If the path of this test program is unknown.
pub fn test_of(module: &str, name: &str) -> Command {
    let path = match module.split_once("::") {
        Some((_, module)) => format!("{module}::{name}"),
        None => name.to_owned(),
    };
    again(&path)
}

/// Returns the command that starts this test program again for one test.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the file of this test program"));
    command.args(["--exact", test, "--test-threads=1", "--nocapture"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closure_runs_in_another_process() {
        in_own_process(|| assert!(std::env::args().any(|argument| argument == "--exact")));
    }

    #[test]
    #[should_panic(expected = "in its own process")]
    fn a_closure_that_panics_fails_the_test() {
        in_own_process(|| panic!("as intended"));
    }
}
