//! The code that all of sqluice shares: errors and progress, values and batches of rows, schemas, and the interface of sources of rows.
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * `setters`: builder methods of option structs; [`waits`]: waits that no option sets
//! * [`size`]: sizes as people read them; [`similar`]: suggestions for misspelled names; [`checksum`]: a checksum of a database's pages;
//!   [`splitmix`]: random numbers; [`append`]: fast appends of short byte strings and digits; [`calendar`]: days and seconds as dates
//! * [`affinity`]: values as SQLite converts them for a column
//! * [`settings`]: the settings of all verbs, each declared once
//! * [`error`]: errors with their places and hints; [`progress`]: progress and cancellation of runs
//! * [`given`]: values that are given for settings, and the options that take them
//! * [`remote`]: files behind URLs
//! * [`batch`]: rows, column by column; [`sqlite_error`]: errors of SQLite as errors of sqluice; [`database_path`]: the database in memory,
//!   and paths as URIs for SQLite
//! * [`schema`]: tables and indexes, as SQLite declares them
//! * [`source`]: sources of rows; [`rows`]: rows in memory as a table of SQLite

#![deny(unsafe_code)]

pub mod affinity;
#[doc(hidden)]
pub mod append;
pub mod batch;
#[doc(hidden)]
pub mod calendar;
pub mod checksum;
pub mod database_path;
pub mod error;
#[doc(hidden)]
pub mod given;
pub mod progress;
pub mod remote;
pub mod rows;
pub mod schema;
mod setters;
#[doc(hidden)]
pub mod settings;
pub mod similar;
pub mod size;
pub mod source;
#[doc(hidden)]
pub mod splitmix;
#[doc(hidden)]
pub mod sqlite_error;
#[doc(hidden)]
pub mod waits;
