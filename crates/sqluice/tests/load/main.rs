//! Loads of files: types, formats, keys, bad rows, existing tables, several files.

#[path = "../support/mod.rs"]
mod support;

mod arrow;
mod bad_files;
mod columnar_refused;
mod columnar_writers;
mod converted;
mod estimates;
mod existing;
mod files;
mod json;
mod keys;
mod ourairports;
mod rejects;
mod requests;
mod types;
