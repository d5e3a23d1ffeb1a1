//! Fill SQLite files at the speed of the disk.
//!
//! Modules, from the bottom up; each uses only those above it in this list (`tests/tidy.rs` sees to that).
//!
//! 1. words that everyone uses: [`error`], [`progress`], [`affinity`], [`batch`], [`schema`], [`checksum`], [`size`]
//! 2. what, from where, to where: [`input`], [`source`], [`infer`], [`gen`](mod@gen), `sort`, [`encode`], [`convert`], [`output`], `reject`,
//!    `deflate`, [`pipeline`], [`plan`], [`report`], `sqlite`, [`rows`], `insert`, `new_database`, `existing`, `existing_database`
//! 3. the public doors: [`generate`], [`tpch`], [`load`], [`write`](mod@write), [`check`], [`index`], [`archive`], [`blob_store`], [`entity_store`]

#![deny(unsafe_code)]

// Floor 1.
pub mod affinity;
pub mod batch;
pub mod checksum;
pub mod error;
pub mod progress;
pub mod schema;
pub mod size;

// Floor 2.
#[cfg(feature = "csv")]
pub mod convert;
#[cfg(feature = "archive")]
mod deflate;
pub mod encode;
#[doc(hidden)]
pub mod existing;
mod existing_database;
pub mod r#gen;
pub mod infer;
#[cfg(feature = "csv")]
pub mod input;
#[doc(hidden)]
pub mod insert;
mod new_database;
pub mod output;
pub mod pipeline;
pub mod plan;
mod reject;
pub mod report;
pub mod rows;
#[doc(hidden)]
pub mod sort;
pub mod source;
mod sqlite;

// Floor 3.
#[cfg(feature = "archive")]
pub mod archive;
#[cfg(feature = "archive")]
pub mod blob_store;
pub mod check;
#[cfg(feature = "entity")]
pub mod entity_store;
pub mod generate;
pub mod index;
#[cfg(feature = "csv")]
pub mod load;
#[cfg(feature = "tpch")]
pub mod tpch;
pub mod write;

/// The version of the SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
