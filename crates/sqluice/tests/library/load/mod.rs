//! `load`: formats, types, keys, bad rows, existing tables, several files, folders and dumps. SQLite inserts the same fields for
//! comparison.

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
