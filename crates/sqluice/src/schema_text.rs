//! The text of a schema: values and comments in statements that SQLite keeps as they were written.
//!
//! ```text
//!  CREATE TABLE t (a DEFAULT "x", -- ask Ann        literals:  "x", 'y', 12345
//!                  b CHECK (b <> 'y'), c)           comments:  -- ask Ann
//! ```
//!
//! A name in double quotes that is no column, no table and no name of the statement is a literal to SQLite.
//!
//! Modules, from the bottom up: `literals`: finds literals; `comments`: removes comments; `strip`: removes literals.

mod comments;
mod literals;
mod strip;

pub(crate) use comments::without_comments;
pub(crate) use literals::{Literal, LiteralKind, Names, literals};
pub(crate) use strip::{stripped_body, stripped_table};
