//! [ADBC](https://arrow.apache.org/adbc/) for SQLite databases: statements of SQL in, data of Arrow out, and the other way round.
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
//! * [`descriptors`]: files that SQLite has open; `errors`: errors of ADBC; `names`: names in SQL, and URIs
//! * `values`: columns of Arrow as values of SQLite; `existing`: a database for the engine; `shared`: the connection; `raw`: statements of
//!   SQLite
//! * `columns`, `query`: results; `target`: the table that rows go to; `pages`: many rows, as pages; `ingest`: rows into a table
//! * `objects`, `info`: descriptions
//! * [`driver`]: what the driver manager calls; `exported`: how it finds the driver
//!
//! Invariant: a transaction begins with the first statement after it was asked for, not before. Programs ask for one as soon as they connect,
//! and a connection that does nothing locks nothing.

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
