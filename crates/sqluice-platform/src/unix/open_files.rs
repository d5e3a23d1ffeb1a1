//! The soft limit of open files, which a process may raise up to the hard limit.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The maximum limit on macOS, even if the hard limit is larger.
const MACOS_MAX: u64 = 10_240;

pub(crate) fn allow(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current else { return u64::MAX };
    let hard = maximum.unwrap_or(u64::MAX);
    for most in [hard, hard.min(MACOS_MAX)] {
        let raised = wanted.min(most);
        if raised > current && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok()
        {
            return raised;
        }
    }
    current
}
