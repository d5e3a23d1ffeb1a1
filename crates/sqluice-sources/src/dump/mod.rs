//! Dumps of other databases.

#[cfg(feature = "dialects")]
pub mod translate;
