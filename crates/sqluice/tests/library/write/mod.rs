//! Writes of rows: new databases compared with databases that SQLite fills, rows that SQLite inserts through `sqluice_rows`, plans,
//! schemas, and rows that are refused.

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
