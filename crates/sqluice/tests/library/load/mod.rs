//! Loads of files: types, formats, keys, bad rows, existing tables, several files.

mod arrow;
mod bad_files;
mod columnar_kinds;
mod columnar_memory;
mod columnar_refused;
mod columnar_writers;
mod converted;
mod defaults;
mod dump;
mod estimates;
mod existing;
mod expressions;
mod files;
mod folders;
mod json;
mod keys;
mod many_files;
mod memory;
mod ourairports;
mod rejects;
mod requests;
mod type_reasons;
mod types;
