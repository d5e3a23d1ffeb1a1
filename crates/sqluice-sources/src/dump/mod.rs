//! Dumps: SQL text that creates a database, written for SQLite, MySQL or PostgreSQL.
//!
//! ```text
//!  dump ──> split ──> statements without rows ──> SQLite
//!             └─────> rows written as literals ─> a source for each table (`rows`): pieces of the text, decoded on all cores
//! ```
//!
//! Modules, from the bottom up:
//!
//! * `lex`: strings, names and comments of each dialect; `sql_mode`: a setting of MySQL that changes them; `file`: the files of a dump
//! * `insert`: the beginning of INSERT and COPY; `compound`: statements that contain statements; `literal`: rows of literals; `plain`: the
//!   end of a row of plain literals; `copy`: the fields of COPY data
//! * `split`: the statements of a dump; `naive`: a slow splitter for tests; `twins`: the comparison of both splitters
//! * `recognise`: recognises dumps, and the program that wrote them
//! * `conversion`: values that SQLite stores in another form; `translate`: schemas of MySQL and Postgres as schemas of SQLite
//! * `columns`: decoded literals, column by column; `rows`: the rows of a table as a source; `sent`: the rows that a server sends

mod columns;
mod compound;
mod conversion;
mod copy;
mod file;
mod insert;
pub mod lex;
mod literal;
#[cfg(any(test, fuzzing))]
mod naive;
mod plain;
pub mod recognise;
pub mod rows;
pub mod sent;
pub mod split;
mod sql_mode;
#[cfg(test)]
mod tests;
#[cfg(feature = "dialects")]
pub mod translate;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, doc(hidden), allow(missing_docs))]
#[cfg_attr(not(fuzzing), allow(unreachable_pub))]
pub mod twins;

pub use self::conversion::{Conversion, Converted, Element};
pub use self::file::{DumpFile, Lines};
pub use self::insert::Header;
pub use self::lex::{Dialect, Rules};
