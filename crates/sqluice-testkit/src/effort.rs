//! The effort of tests: `SQLUICE_EFFORT` is `quick` (the default), `full` (CI) or `soak` (hours).
//!
//! A test gets its number of rounds, kills, cases or rows from [`tries`], a property test from [`cases`](crate::cases). Every property,
//! fault and phase is tried at each effort; only the numbers differ.

use std::sync::LazyLock;

/// The effort that `SQLUICE_EFFORT` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// The effort of `make test`: each test ends within seconds.
    Quick,
    /// The effort of CI.
    Full,
    /// The effort of `make soak`, before a release.
    Soak,
}

/// Returns the effort of this run.
///
/// # Panics
/// If `SQLUICE_EFFORT` has another value.
pub fn effort() -> Effort {
    static EFFORT: LazyLock<Effort> = LazyLock::new(|| match std::env::var("SQLUICE_EFFORT").as_deref() {
        Err(_) | Ok("" | "quick") => Effort::Quick,
        Ok("full") => Effort::Full,
        Ok("soak") => Effort::Soak,
        Ok(other) => panic!("SQLUICE_EFFORT is quick, full or soak, not {other}"),
    });
    *EFFORT
}

/// Returns `quick`, `full` or `soak`, depending on this run's effort.
pub fn tries<T>(quick: T, full: T, soak: T) -> T {
    match effort() {
        Effort::Quick => quick,
        Effort::Full => full,
        Effort::Soak => soak,
    }
}
