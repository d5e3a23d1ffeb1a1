//! The keys that no two rows may share: which rows do, and which of those are left out.

pub(crate) mod on_conflict;
pub(crate) mod unique;
