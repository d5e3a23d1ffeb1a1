//! Support of the tests: random tables and rows, inputs of loads, twins by SQLite, and functions that read the results.

#[cfg(feature = "parquet")]
pub(crate) mod columnar;
pub(crate) mod existing;
pub(crate) mod files;
pub(crate) mod keys;
pub(crate) mod lived_in;
#[cfg(feature = "load")]
pub(crate) mod load;
pub(crate) mod rows;
pub(crate) mod source;
pub(crate) mod tables;
#[cfg(feature = "load")]
pub(crate) mod tpch;
pub(crate) mod trees;
#[cfg(feature = "load")]
pub(crate) mod twin;

pub(crate) use sqluice::splitmix::SplitMix64 as Random;
pub(crate) use sqluice_testkit::cases;
