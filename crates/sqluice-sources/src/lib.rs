//! Sources of rows: the readers of CSV, JSON, Arrow, Parquet and other files, and the tables of TPC-H. Also infers the types of columns
//! from their values.
//!
//! Modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! * `input`: files, pipes, URLs and members of archives as UTF-8 text, decompressed
//! * `convert`: text of other forms as dates, booleans and numbers; `infer`: the types of columns, inferred from their values
//! * `needles`: the search of a block for a few bytes; `text`: the code that text sources share; `give`: gives rows to the sink, and
//!   reports refused rows
//! * `csv`, `json`, `arrow`, `parquet`, `tpch`: the parsers of each format
//! * `dump`: dumps, SQL text that creates a database
//! * `formats`: the formats of files that can be loaded

#![deny(unsafe_code)]

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod convert;
pub mod csv;
pub mod dump;
pub mod formats;
mod give;
pub mod infer;
pub mod input;
pub mod json;
mod needles;
#[cfg(feature = "parquet")]
pub mod parquet;
mod text;
#[cfg(feature = "tpch")]
pub mod tpch;
