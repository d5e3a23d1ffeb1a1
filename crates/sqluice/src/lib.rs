//! Fill SQLite files at the speed of the disk.
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * [`load`]: files of rows into a database; [`write`](mod@write): rows of the caller's own
//! * [`generate`], [`tpch`]: test data
//! * [`index`]: indexes of an existing database; [`check`]: whether a file is sound
//! * [`archive`]: a folder as a database, and back
//!
//! What they are made of lies in crates of its own, whose modules are re-exported here: `sqluice-core`, `sqluice-engine`,
//! `sqluice-sources`, `sqluice-generator` and `sqluice-stores`.

#![deny(unsafe_code)]

pub use sqluice_core::{affinity, batch, checksum, error, progress, rows, schema, size};
pub use sqluice_engine::{encode, options, output, pipeline, plan, report};
#[doc(hidden)]
pub use sqluice_engine::{existing, insert, sort};
pub use sqluice_generator as r#gen;
#[cfg(feature = "load")]
pub use sqluice_sources::{convert, infer, input};
#[cfg(feature = "blob-store")]
pub use sqluice_stores::blob_store;
#[cfg(feature = "entity-store")]
pub use sqluice_stores::entity_store;

#[cfg(feature = "archive")]
pub mod archive;
pub mod check;
pub mod generate;
pub mod index;
#[cfg(feature = "load")]
pub mod load;
#[cfg(feature = "tpch")]
pub mod tpch;
pub mod write;

/// Sources of rows: what a source is, and the sources that read files.
pub mod source {
    pub use sqluice_core::source::*;
    #[cfg(feature = "arrow")]
    pub use sqluice_sources::arrow;
    #[cfg(feature = "parquet")]
    pub use sqluice_sources::parquet;
    #[cfg(feature = "tpch")]
    pub use sqluice_sources::tpch;
    #[cfg(feature = "load")]
    pub use sqluice_sources::{csv, json};
}

/// The version of the SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
