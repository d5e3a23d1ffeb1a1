//! An [ADBC](https://arrow.apache.org/adbc/) driver for SQLite databases: queries return Arrow data, and Arrow data is written to tables.
//!
//! ```text
//!  driver manager ──C──> adbc_ffi ──> Driver ──> Database ──> Connection ──> Statement
//!                                                                 │              │ query    rows of SQLite ──> types of the first rows ──> batches
//!                                                                 │              │ ingest   batches ──> cells ──> pages, or INSERT ... SELECT
//!                                                                 └── one connection of SQLite, which all of its statements share
//! ```
//!
//! Modules, from the bottom up, each using only modules above it in this list:
//!
//! * [`descriptors`]: files that SQLite has open; `errors`: ADBC errors; `names`: names in SQL, and URIs
//! * `values`: converts Arrow columns to SQLite values; `existing`: the connection's database for the engine; `shared`: the connection;
//!   `raw`: prepared statements
//! * `columns`, `query`: results; `target`: the table to write; `pages`: writes many rows as pages; `ingest`: writes rows to a table
//! * `objects`, `info`: metadata
//! * [`driver`]: the ADBC objects; `exported`: the C functions that a driver manager loads
//!
//! Invariant: with autocommit off, a transaction begins with the next statement, not before. Programs switch autocommit off as soon as they
//! connect, and an idle connection must not lock the database.

#![deny(unsafe_code)]

mod columns;
#[allow(unsafe_code, reason = "SQLite's functions are pointers")]
pub mod descriptors;
pub mod driver;
mod errors;
#[allow(unsafe_code, reason = "the engine uses a connection that it does not own")]
mod existing;
#[allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks,
    missing_docs,
    reason = "a driver manager calls functions of C, whose arguments are as ADBC's header says"
)]
mod exported;
mod info;
mod ingest;
mod names;
mod objects;
mod pages;
mod query;
#[allow(unsafe_code, reason = "statements outlive the call that prepares them")]
mod raw;
mod shared;
mod target;
mod values;
