//! Stores of blobs and of entities.
//!
//! The modules, the lowest layer first. Each module uses only modules that come before it in this list:
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
