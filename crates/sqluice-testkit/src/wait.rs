//! Functions that wait for other threads and processes.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The maximum wait, far longer than anything that a test waits for takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Waits until `done` returns `true`. `what` completes the message "waited for {what}".
///
/// # Panics
/// If `done` returns `false` for two minutes.
#[track_caller]
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < LIMIT, "waited for {what} for {} s", LIMIT.as_secs());
        sleep(Duration::from_millis(1));
    }
}
