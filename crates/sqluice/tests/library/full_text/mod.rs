//! Full-text indexes that `index` makes, beside those of SQLite.

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
