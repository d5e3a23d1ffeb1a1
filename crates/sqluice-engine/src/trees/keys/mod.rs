//! Unique keys: finds the rows that share a key, and the rows that ON CONFLICT leaves out.

pub(crate) mod on_conflict;
pub(crate) mod unique;
