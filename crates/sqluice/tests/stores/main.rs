//! Archives, and stores of blobs and entities.

#[path = "../support/mod.rs"]
mod support;

mod archive;
mod archive_hostile;
mod entity_model;
mod entity_store;
mod full;
