//! Keys and indexes of new databases.

#[path = "../support/mod.rs"]
mod support;

mod conflicts;
mod fullness;
mod load;
mod null_rowids;
mod parts;
mod same_bytes;
mod twin;
