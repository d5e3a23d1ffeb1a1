//! Generated databases.

#[path = "../support/mod.rs"]
mod support;

mod presets;
mod schemas;
mod tpch;
mod tpch_preset;
