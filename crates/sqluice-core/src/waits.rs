//! Wait times that no option sets: for another process that uses a file, for a server, until the next line of progress.
//!
//! One factor scales all of them: a test need not wait as long as a user, and waits longer on a crowded machine.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The bits of the `f32` by which all waits are multiplied.
static FACTOR: AtomicU32 = AtomicU32::new(1.0_f32.to_bits());

/// The largest factor; [`scale`] refuses larger factors.
const FACTOR_MAX: f32 = 1000.0;

/// Scales all waits of this process by `factor`, which is at least 0 and at most 1000. Returns `false` for other factors.
#[must_use]
pub fn scale(factor: f32) -> bool {
    let is_valid = (0.0..=FACTOR_MAX).contains(&factor);
    if is_valid {
        FACTOR.store(factor.to_bits(), Ordering::Relaxed);
    }
    is_valid
}

/// Returns a wait, scaled by the factor.
pub fn scaled(wait: Duration) -> Duration {
    wait.mul_f32(f32::from_bits(FACTOR.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_are_unchanged_until_a_valid_scale_factor_is_set() {
        assert_eq!(scaled(Duration::from_secs(5)), Duration::from_secs(5));
        for wrong in [-1.0, f32::NAN, f32::INFINITY, 1000.5] {
            assert!(!scale(wrong), "{wrong}");
        }
        assert!(scale(0.5));
        assert_eq!(scaled(Duration::from_secs(5)), Duration::from_millis(2500));
        assert!(scale(1.0));
    }
}
