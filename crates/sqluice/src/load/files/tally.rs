//! A source that counts its rows, so that the `reject` file can state the number of a bad row in its input.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::Result;
use sqluice_core::progress::Amount;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::{Part, Source};
use sqluice_engine::reject::Tally;

/// A source that publishes the number of rows it has read, in a counter that other code shares.
pub(crate) struct Tallied {
    source: Box<dyn Counted>,
    rows: Arc<AtomicU64>,
    before: u64,
}

impl Tallied {
    /// Wraps the rows of a file, and counts them in `tally`. The source itself counts the rows of all files so far, `tally` only those of
    /// this file.
    pub(crate) fn over(source: Box<dyn Counted>, tally: &Tally) -> Box<dyn Counted> {
        let rows = Arc::clone(&tally.rows);
        rows.store(0, Ordering::Relaxed);
        Box::new(Tallied { before: source.rows_done(), source, rows })
    }
}

impl Source for Tallied {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let part = self.source.next_part();
        self.rows.store(self.source.rows_done() - self.before, Ordering::Relaxed);
        part
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

impl Counted for Tallied {
    fn rows_done(&self) -> u64 {
        self.source.rows_done()
    }
}
