//! The order of writes, syncs and renames, replayed as a power failure may leave it: for a new database, one that replaces another, and
//! one that is changed in place; and the order of those for an exported file.

mod existing;
mod export;
mod in_place;
mod new;
mod replace;
