//! Raises the number of files that the process may have open at the same time.

use crate::system;

/// Has the system allow `wanted` open files, as far as it may. Returns how many it allows; `u64::MAX`: it has no limit.
///
/// Systems give a process a small limit that it may raise itself up to a larger one: a program that asks for more files than it began
/// with raises it for all of its process.
pub fn allow(wanted: u64) -> u64 {
    system::open_files::allow(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_and_never_lowered() {
        let before = allow(0);
        let after = allow(before.saturating_add(10));
        assert!(after >= before);
        assert_eq!(allow(0), after);
    }
}
