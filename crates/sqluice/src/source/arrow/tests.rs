//! Arrays as columns.
