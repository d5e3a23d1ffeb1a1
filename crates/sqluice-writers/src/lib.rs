//! Writes batches of rows as files: CSV, JSON, SQL, Arrow and Parquet, encoded on all cores and written in order.
//!
//! ```text
//!  Source ──> parts ──> threads: decode, encode, compress ──> pieces ──> in order ──> one file
//! ```
//!
//! The modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! * [`in_order`]: parts encoded on all cores, pieces in the order of their parts
//! * [`digits`]: numbers as text; [`dates`]: text as dates; [`compression`]: gzip and zstd, piece by piece
//! * [`unfit`]: values that a format can't store; [`types`]: the types of columns
//! * [`text`]: CSV and JSON; [`sql`]: INSERT statements
//! * `arrow`; `repeats`: columns that a dictionary makes smaller; `parquet`
//! * [`formats`]: the list of formats

#![deny(unsafe_code)]

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod compression;
pub mod dates;
pub mod digits;
pub mod formats;
pub mod in_order;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "parquet")]
mod repeats;
pub mod sql;
pub mod text;
pub mod types;
pub mod unfit;
