//! Exports and dumps, loads of exported files and of databases, and reads of a table in parts.

mod committed;
pub(crate) mod dump;
mod files;
mod parts;
mod round_trip;
