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

/// As many cases as a test needs by default; `PROPTEST_CASES` multiplies them, 256 being once.
pub(crate) fn cases(by_default: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let cases = (u64::from(by_default) * asked.unwrap_or(256) / 256).max(1);
    Config { cases: cases as u32, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
}

/// Random numbers: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
