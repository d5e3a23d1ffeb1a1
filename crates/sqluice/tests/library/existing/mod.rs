//! Databases that exist: pages and rows added to them, indexes made in them.

mod append;
mod by_sqlite;
mod damaged;
mod index_commands;
mod index_twin;
mod indexes;
mod lock_page;
mod locks;
mod random;
mod tables;
