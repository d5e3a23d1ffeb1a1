//! Generated databases.

mod presets;
mod schemas;
mod tpch;
mod tpch_preset;
