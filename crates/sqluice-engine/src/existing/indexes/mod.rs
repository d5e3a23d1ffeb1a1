//! Indexes of existing tables: what a CREATE INDEX statement declares, and the entries that its tree gets.
//!
//! * `statement`: the words of a CREATE INDEX statement
//! * `probe_table`: an in-memory table that SQLite is asked about
//! * `declared`: an index that a statement declares, and the way that its entries will take
//! * `entries`: the entries of indexes, read from the rows of a table
//! * `make`: new indexes
//! * `refill`: indexes that are built again from their old entries and new ones

pub mod declared;
pub(crate) mod entries;
mod make;
mod probe_table;
pub(super) mod refill;
pub mod statement;

pub use make::make;
