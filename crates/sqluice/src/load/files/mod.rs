//! The files of a load, with the columns and types that a sample of each file shows.
//!
//! Modules, from the bottom up:
//!
//! * `conversions`, `rowid_order`, `default_value`: the conversions, the order of rowids, and the DEFAULTs of columns; `tally`: the number
//!   of rows read so far
//! * `refusing`: the place of a value
//! * `results`: the types of results of expressions
//! * [`file`]: one file; `open`, `open_all`: opening files; `bad_files`: files that can't be loaded

pub(crate) mod bad_files;
mod conversions;
pub(crate) mod default_value;
pub(crate) mod file;
mod open;
pub(crate) mod open_all;
pub(crate) mod refusing;
mod results;
pub(crate) mod rowid_order;
mod tally;
