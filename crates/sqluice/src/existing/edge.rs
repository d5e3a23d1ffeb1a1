//! The right edge of a table that is there.
