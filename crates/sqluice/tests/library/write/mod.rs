//! Writes of rows to new databases, compared with databases that SQLite fills.

mod affinity_oracle;
mod by_sqlite;
mod encoder;
pub(crate) mod expressions;
mod insert;
mod lock_page;
mod lock_page_real;
mod plans;
mod refused_rows;
mod rows;
mod same_bytes;
mod schema;
#[cfg(feature = "serde")]
mod structs;
mod whole_files;
