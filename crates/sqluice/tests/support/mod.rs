//! Random tables and rows for tests, and ways to look at what became of them.
#![allow(dead_code, reason = "each test binary uses a part of it")]

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

use proptest::test_runner::Config;
pub(crate) use sqluice::splitmix::SplitMix64 as Random;

/// As many cases as a test needs by default; `PROPTEST_CASES` multiplies them, 256 being once.
pub(crate) fn cases(by_default: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let cases = (u64::from(by_default) * asked.unwrap_or(256) / 256).max(1);
    Config { cases: cases as u32, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
}
