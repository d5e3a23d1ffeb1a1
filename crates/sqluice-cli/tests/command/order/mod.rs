//! The order of writes, syncs and renames, replayed as a power failure may leave it: for a new database, for one that replaces another, and
//! for one that is changed in place. Also the order of these calls for an exported file.

mod existing;
mod export;
mod in_place;
mod new;
mod replace;
