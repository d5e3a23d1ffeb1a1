//! Queries over what was written.
