//! `generate`: presets, random schemas and TPC-H. SQLite checks that the rows keep all constraints.

mod presets;
mod schemas;
mod tpch;
mod tpch_preset;
