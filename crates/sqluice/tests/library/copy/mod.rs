//! Copies of databases, with SQLite as the oracle.

mod auto_vacuum;
mod content;
mod in_place;
mod order;
mod precautions;
mod purpose;
mod random;
mod selection;
mod states;
