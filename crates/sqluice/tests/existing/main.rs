//! Databases that exist: pages and rows added to them, indexes made in them.

#[path = "../support/mod.rs"]
mod support;

mod append;
mod by_sqlite;
mod damaged;
mod index_commands;
mod index_twin;
mod indexes;
mod locks;
mod random;
mod tables;
