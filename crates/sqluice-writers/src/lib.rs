//! Batches of rows as files: CSV, JSON, Arrow and Parquet, encoded on all cores and written in order.
//!
//! ```text
//!  Source ──> parts ──> threads: decode, encode, compress ──> pieces ──> in order ──> one file
//! ```
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * [`in_order`]: parts encoded on all cores, pieces in the order of their parts
//! * [`digits`]: numbers as text; [`compression`]: gzip and zstd, piece by piece; [`unfit`]: values that a format does not have
//! * [`text`]: CSV and JSON

#![deny(unsafe_code)]

pub mod compression;
pub mod digits;
pub mod in_order;
pub mod text;
pub mod unfit;
