//! Copies of databases, with SQLite as the oracle.

mod auto_vacuum;
pub(crate) mod content;
mod damaged;
mod fewer_rows;
mod in_place;
mod invalid_text;
mod order;
mod precautions;
mod purpose;
pub(crate) mod random;
mod selection;
#[cfg(feature = "export")]
mod statements;
mod states;
