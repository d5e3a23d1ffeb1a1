//! Random numbers for tests that make files.

use sqluice_core::splitmix::SplitMix64;

/// A source of random numbers that are the same in every run.
pub(super) struct Random(pub(super) SplitMix64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0.below(end.max(1))
    }

    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }

    pub(super) fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }
}
