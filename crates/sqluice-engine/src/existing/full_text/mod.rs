//! Full-text indexes (FTS5) of existing tables, created and filled in the open transaction.
//!
//! ```text
//!  CREATE VIRTUAL TABLE by SQL: the shadow tables, empty
//!  records of the table ──all cores──> terms, doclists ──merge──> pages of the segment ──INSERT──> t_data, t_idx
//!  (raw, under the write lock)         sizes of rows   ──merge────────────────────────INSERT──> t_docsize
//!                                                         averages and structure, last ──REPLACE──> t_data
//! ```
//!
//! The rows of the shadow tables are a small part of the work, so SQLite inserts them, in the order of their keys.
//!
//! * `request`: the index that a user wants; `declared`: the request, checked against a database, and its statements
//! * `texts`: the texts of a record; `make`: creates and fills the table
//! * `followers`: full-text tables that get the new rows of a table
//! * `asked`: full-text tables that get the new rows of a table because the user asks for it
//! * `rows`: rows for a full-text table itself
//! * `remake`: tables that exist, whose segments are merged or whose index is made again
//!
//! Invariant: this connection does not read the FTS5 table before it is filled, as SQLite would keep its structure in memory.

pub(crate) mod asked;
pub mod declared;
pub(crate) mod followers;
mod make;
pub mod remake;
pub mod request;
mod rows;
mod texts;

pub use make::make;

pub use crate::full_text::WrittenTextIndex;
