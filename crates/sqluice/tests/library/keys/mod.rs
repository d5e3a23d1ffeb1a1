//! New tables with keys and indexes: conflicts, order, full pages, and the same bytes with any number of threads.

mod conflicts;
mod fullness;
mod load;
mod null_rowids;
mod parts;
mod same_bytes;
mod twin;
