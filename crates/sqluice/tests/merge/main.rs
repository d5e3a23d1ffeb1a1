//! Merged databases, with SQLite as the oracle.

mod random;
mod twin;
