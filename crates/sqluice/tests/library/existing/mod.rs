//! Existing databases: rows appended and inserted, tables added, and indexes created, each compared with what SQLite does in a copy.

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
