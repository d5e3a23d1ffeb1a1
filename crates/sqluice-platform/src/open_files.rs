//! The limit of files that the process may have open at the same time.

use crate::system;

/// Raises the limit to `wanted` open files, as far as the system permits. Returns the new limit, or `u64::MAX` if the system has no limit.
///
/// Systems give a process a low limit that the process may raise up to a higher limit. Raising the limit affects the entire process.
pub fn allow(wanted: u64) -> u64 {
    system::open_files::allow(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_raised_and_never_lowered() {
        let before = allow(0);
        let after = allow(before.saturating_add(10));
        assert!(after >= before);
        assert_eq!(allow(0), after);
    }
}
