//! Tests of `pack` and `unpack`, the blob store, and the entity store.

mod archive;
mod archive_hostile;
mod blob_store;
mod entity_killed;
mod entity_model;
mod entity_store;
mod full;
