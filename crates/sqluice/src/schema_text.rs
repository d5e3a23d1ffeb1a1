//! Finds and removes values and comments in the statements of a schema, whose text SQLite keeps unchanged.
//!
//! ```text
//!  CREATE TABLE t (a DEFAULT "x", -- ask Ann        literals:  "x", 'y', 12345
//!                  b CHECK (b <> 'y'), c)           comments:  -- ask Ann
//! ```
//!
//! To SQLite, a name in double quotes is a literal if no column, no table and nothing in the statement has this name.
//!
//! Modules, from the bottom up: `literals`: finds literals; `comments`: removes comments; `strip`: removes literals.

mod comments;
mod literals;
mod strip;

pub(crate) use comments::without_comments;
pub(crate) use literals::{Literal, LiteralKind, Names, literals};
pub(crate) use strip::{stripped_body, stripped_table};
