//! The set of pages that are already used, shared by all threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// The use of a page, numbered as in the pointer map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Root = 1,
    Free = 2,
    FirstOverflow = 3,
    LaterOverflow = 4,
    Child = 5,
}

/// The pages of a file that a reader has reached: one bit for each page, set by the first thread that reaches the page.
#[derive(Debug)]
pub struct Claims(Vec<AtomicU64>);

impl Claims {
    /// Creates claims for `page_count` pages, none of which has been reached.
    pub fn new(page_count: u32) -> Claims {
        Claims((0..=page_count / 64).map(|_| AtomicU64::new(0)).collect())
    }

    /// Claims a page of the file. Returns `false` if the page is already claimed.
    #[inline]
    pub fn claim(&self, number: u32) -> bool {
        let bit = 1 << (number % 64);
        self.0[number as usize / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    pub(super) fn is_claimed(&self, number: u32) -> bool {
        self.0[number as usize / 64].load(Ordering::Relaxed) >> (number % 64) & 1 == 1
    }
}
