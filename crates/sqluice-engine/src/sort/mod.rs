//! Sorts items by key in bounded memory: items are pushed in any order, and read in key order.
//!
//! Index entries, and rows that may arrive out of key order, are sorted here and then streamed into pages.
//!
//! ```text
//!  push ──> Buffer ──sort──> run ┐                    ┌─> range 0, all runs ──> items
//!  push ──> Buffer ──sort──> run ├──> Sorted, cut ────┼─> range 1, all runs ──> items
//!           (one per thread) run ┘    into ranges     └─> ...
//!                             │
//!                             └── spilled to an unnamed file; the last of each buffer only if the memory is short
//! ```
//!
//! Index entries of integers, NULL, short text and blobs are *key-only*: the whole entry can be decoded from its sort key, which is a
//! normalized key of at most 32 bytes or a pair of integers. Of these entries only the keys are stored, sorted, spilled and merged, and the
//! last merge decodes the entries. A *normalized key* is a sequence of bytes that compares like the entry. The *prefix* of an item is the
//! first 16 bytes of its normalized key.
//!
//! Modules, the lowest layer first:
//!
//! * `items`: items in memory: their order, their keys, and the cuts into ranges
//! * `spill`: temporary space on disk. Its own threads write blocks while the next are filled, and read blocks before they are needed
//! * `runs`: sorted runs in temporary space or in memory, and the merge of several runs
//! * `buffer`, `sorted`: the API for other modules: a buffer takes items, `sorted` returns them in order
//!
//! Invariant: the merged items and the cuts into ranges depend only on the items, not on buffers, memory, threads, or the order of pushes.
//! Items with equal keys are always in one range.
//!
//! Invariant: two items compare as equal only if they are identical.

mod buffer;
mod items;
mod runs;
mod sorted;
mod spill;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

pub use buffer::{Buffer, SLACK_BYTES};
pub(crate) use items::first_bytes::first_bytes;
pub use items::order::{Item, Layout, Order};
pub use items::sample::Ranges;
pub use runs::in_order::RunsInOrder;
pub use sorted::Sorted;
pub use spill::Spill;
pub use spill::prefetch::Prefetch;

use items::sample::Samples;
use runs::run::SortedRun;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;

/// A sorter of the entries of one index, or of the rows of one table. All threads push items to it, each through its own [`Buffer`].
pub struct Sorter {
    layout: Layout,
    ranges: Ranges,
    buffer_bytes: usize,
    spill: Arc<Spill>,
    taken: Mutex<Taken>,
}

/// The sorted runs and the samples that the buffers of all threads have handed over, and the number of items in the runs.
struct Taken {
    runs: Vec<SortedRun>,
    samples: Samples,
    items: u64,
}

impl Sorter {
    /// Creates a sorter of items of this layout. Each of its buffers takes `buffer_bytes` bytes of memory in total.
    pub fn new(layout: Layout, buffer_bytes: usize, spill: &Arc<Spill>) -> Sorter {
        Sorter::with_ranges(layout, buffer_bytes, spill, Ranges::default())
    }

    /// Creates a sorter like [`Sorter::new`], but with the sizes in `ranges`, which determine where the items are cut into ranges.
    pub fn with_ranges(layout: Layout, buffer_bytes: usize, spill: &Arc<Spill>, ranges: Ranges) -> Sorter {
        let taken = Taken { runs: Vec::new(), samples: Samples::new(ranges), items: 0 };
        Sorter { layout, ranges, buffer_bytes, spill: Arc::clone(spill), taken: Mutex::new(taken) }
    }

    /// Returns a new buffer, through which one thread pushes items.
    pub fn buffer(&self) -> Buffer<'_> {
        Buffer::new(self, self.buffer_bytes)
    }

    fn take(&self, run: SortedRun, items: u64, samples: &mut Samples) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.runs.push(run);
        taken.items += items;
        taken.samples.append(samples);
    }

    /// Returns all pushed items in order. Each buffer must be flushed before. Up to `ranges_at_once` ranges may be merged at the same time;
    /// this takes `memory_bytes` bytes of memory, including the runs that are still in memory. The threads of `prefetch` read the spilled
    /// runs.
    ///
    /// # Errors
    /// If temporary space runs out, or `cancel` is set.
    pub fn sorted(
        self,
        memory_bytes: usize,
        ranges_at_once: usize,
        prefetch: &Arc<Prefetch>,
        cancel: &Cancel,
    ) -> Result<Sorted> {
        let taken = self.taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        Sorted::new(self.layout, taken, &self.spill, memory_bytes, ranges_at_once.max(1), (prefetch, cancel))
    }
}
