//! Stores of blobs and of entities.
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * [`deflate`]: files deflated as in SQLite archives
//! * [`blob_store`]: blobs by key; [`entity_store`]: objects of types, a table for each

#![deny(unsafe_code)]

#[cfg(feature = "blob")]
pub mod blob_store;
#[cfg(feature = "blob")]
pub mod deflate;
#[cfg(feature = "entity")]
pub mod entity_store;
