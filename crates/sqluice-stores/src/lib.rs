//! Stores of blobs and of entities.
//!
//! Modules, from the bottom up, each using only modules above it in this list:
//!
//! * [`deflate`]: files deflated as in SQLite archives
//! * [`blob_store`]: blobs by key; [`entity_store`]: typed objects, one table per type

#![deny(unsafe_code)]

#[cfg(feature = "blob")]
pub mod blob_store;
#[cfg(feature = "blob")]
pub mod deflate;
#[cfg(feature = "entity")]
pub mod entity_store;
