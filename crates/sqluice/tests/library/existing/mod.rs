//! Existing databases: rows appended and inserted, tables added, and indexes created, compared with what SQLite does in a copy. Also
//! damaged databases, and databases that other connections use.

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
