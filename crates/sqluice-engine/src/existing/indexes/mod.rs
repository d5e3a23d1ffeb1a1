//! Indexes of existing tables: the declarations of CREATE INDEX statements, and the entries of the trees.
//!
//! * `statement`: parses the start of CREATE INDEX statements
//! * `probe_table`: an in-memory table with the declaration of a real table
//! * `declared`: an index that a statement declares, and its write path
//! * `fields`: the fields of records, also of those that are older than a column
//! * `computed`: entries that SQLite computes from batches of rows
//! * `entries`: the entries of indexes, read from the rows of a table
//! * `make`: new indexes
//! * `refill`: indexes that are rebuilt from their old and new entries

mod computed;
pub mod declared;
pub(crate) mod entries;
pub(super) mod fields;
mod make;
pub(super) mod probe_table;
pub(super) mod refill;
pub mod statement;

pub use make::make;
