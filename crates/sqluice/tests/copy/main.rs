//! Copies of databases, with SQLite as the oracle.

mod auto_vacuum;
mod content;
mod in_place;
mod order;
mod precautions;
mod purpose;
mod random;
mod selection;
#[cfg(feature = "export")]
mod statements;
mod states;
