//! The order of writes, syncs and renames, replayed as a power failure may leave it: for a new database, one that replaces another, and
//! one that is changed in place.

mod existing;
mod new;
mod replace;
