//! Archives, and stores of blobs and entities.

mod archive;
mod archive_hostile;
mod blob_store;
mod entity_killed;
mod entity_model;
mod entity_store;
mod full;
