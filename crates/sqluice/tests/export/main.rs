//! Exports: what comes back by a load, what is refused, and what files appear; and loads from databases.

mod committed;
mod files;
mod round_trip;
