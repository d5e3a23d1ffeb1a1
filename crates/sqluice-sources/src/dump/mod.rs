//! Dumps: SQL text that makes a database.
//!
//! ```text
//!  dump ──> split ──> statements without rows ──> SQLite
//!             └─────> pieces of literal rows ───> rows: a source for each table, decoded on all cores
//! ```
//!
//! Modules, from the bottom up:
//!
//! * `lex`: strings, names and comments of each dialect; `sql_mode`: a setting that changes them; `file`: the file of a dump
//! * `insert`: the beginning of INSERT and COPY; `compound`: statements with statements within; `literal`: rows of literals; `plain`:
//!   the end of a row of plain literals; `copy`: the fields of COPY
//! * `split`: the statements of a dump; `naive`: its slow twin; `twins`: the comparison of both
//! * `recognise`: the recognition of dumps
//! * `conversion`: values in another form; `translate`: the schemas of MySQL and Postgres in SQLite's words
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
