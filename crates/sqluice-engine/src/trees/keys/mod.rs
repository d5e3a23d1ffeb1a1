//! Unique keys, the rows that share a key, and the rows that are left out.

pub(crate) mod on_conflict;
pub(crate) mod unique;
