//! Keys and indexes of new databases.

mod conflicts;
mod fullness;
mod load;
mod null_rowids;
mod parts;
mod same_bytes;
mod twin;
