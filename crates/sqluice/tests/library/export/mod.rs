//! Exports: what comes back by a load, what is refused, and what files appear; loads from databases; and parts of tables.

mod committed;
pub(crate) mod dump;
mod files;
mod parts;
mod round_trip;
