//! Tests of full-text indexes: those that sqluice makes are compared with those that SQLite makes.

mod any_table;
mod appended;
mod filled;
mod given;
mod refused;
mod remade;
mod settings;
mod support;
mod tokenizers;
mod twin;
