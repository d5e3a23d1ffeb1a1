//! Copies of databases, with SQLite as the oracle.

mod auto_vacuum;
mod content;
mod damaged;
mod in_place;
mod invalid_text;
mod order;
mod precautions;
mod purpose;
mod random;
mod selection;
#[cfg(feature = "export")]
mod statements;
mod states;
