//! All sorted runs of a sorter, and the ranges of keys into which they are cut. Each range can be merged on its own.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;

use crate::sort::Taken;
use crate::sort::items::order::{Cut, Layout, Order};
use crate::sort::runs::feed::GATHER_BYTES;
use crate::sort::runs::in_order::RunsInOrder;
use crate::sort::runs::merged_keys::STREAM_BYTES;
use crate::sort::runs::run::{FileRun, RunWriter, SortedRun, write_bytes};
use crate::sort::spill::prefetch::Prefetch;
use crate::sort::spill::{BLOCK_BYTES, Spill};

/// The largest size of a block in bytes: larger blocks are not read faster.
const BLOCK_BYTES_MAX: usize = 256 << 10;
/// The smallest size of a block in bytes with which blocks are read fast. A run stays in memory only if the other runs can then be read in
/// blocks of this size, within the memory that is left.
const BLOCK_BYTES_FAST: usize = 32 << 10;
/// The number of blocks in memory for each spilled run that is merged: one block is read while the items of the other block are merged.
const BLOCKS: usize = 2;

/// All items of a sorter in order, cut into ranges that can be merged independently.
pub struct Sorted {
    layout: Layout,
    runs: Vec<SortedRun>,
    cuts: Vec<Cut>,
    items: u64,
    block_bytes: usize,
    prefetch: Arc<Prefetch>,
}

impl Sorted {
    pub(super) fn new(
        layout: Layout,
        taken: Taken,
        spill: &Arc<Spill>,
        memory_bytes: usize,
        ranges_at_once: usize,
        (prefetch, cancel): (&Arc<Prefetch>, &Cancel),
    ) -> Result<Sorted> {
        let Taken { mut runs, samples, items } = taken;
        spill_until_it_fits(&mut runs, &layout, spill, memory_bytes, ranges_at_once)?;
        let is_spilled = runs.iter().any(|run| matches!(run, SortedRun::File(_)));
        let readers = loop {
            let overlap = overlap(&layout.order, &runs);
            let fan_in = readers_max(&runs, memory_bytes) / ranges_at_once;
            if !is_spilled || overlap <= fan_in.max(2) {
                break overlap;
            }
            // Too many runs overlap for the memory. Some are merged to one run first: a single merge, which may use all of the memory. It
            // merges only as many runs as needed.
            let fan_in_now = readers_max(&runs, memory_bytes).max(2);
            let count = (overlap - fan_in.max(2) + 1).clamp(2, fan_in_now);
            cancel.check()?;
            let joined = join_smallest(&mut runs, &layout, spill, prefetch, count, memory_bytes)?;
            runs.push(SortedRun::File(joined));
        };
        let block_bytes = block_bytes(&runs, memory_bytes, ranges_at_once * readers);
        Ok(Sorted { layout, runs, cuts: samples.cuts(), items, block_bytes, prefetch: Arc::clone(prefetch) })
    }

    /// Returns the number of items in all ranges.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Returns the number of ranges, which is 0 if there are no items. Each range has at least two items, except the last, which may have
    /// only one.
    pub fn ranges(&self) -> usize {
        if self.items == 0 { 0 } else { self.cuts.len() + 1 }
    }

    /// Returns the items of range `index`, merged from all runs. Several ranges can be merged at the same time, on any threads.
    ///
    /// # Errors
    /// None at present: [`RunsInOrder::try_for_each`] reads the spilled items, and returns the errors.
    pub fn range(&self, index: usize) -> Result<RunsInOrder<'_>> {
        let start = index.checked_sub(1).map(|before| &self.cuts[before]);
        let cuts = (start, self.cuts.get(index));
        Ok(RunsInOrder::new(&self.layout, self.runs.iter(), cuts, self.block_bytes, &self.prefetch))
    }
}

/// Returns the number of bytes of memory that the runs take now, without the blocks for reading them.
fn resident_bytes(runs: &[SortedRun]) -> usize {
    runs.iter().map(SortedRun::memory_bytes).sum()
}

/// Returns the number of runs that can be read at the same time within `memory_bytes`, with blocks of the smallest size.
fn readers_max(runs: &[SortedRun], memory_bytes: usize) -> usize {
    memory_bytes.saturating_sub(resident_bytes(runs)) / (BLOCKS * BLOCK_BYTES + STREAM_BYTES)
}

/// Returns the size in bytes of the blocks if `readers` runs are read at the same time within `memory_bytes`: a power of two.
fn block_bytes(runs: &[SortedRun], memory_bytes: usize, readers: usize) -> usize {
    let free = memory_bytes.saturating_sub(resident_bytes(runs) + readers * STREAM_BYTES);
    let bytes = (free / (BLOCKS * readers.max(1))).clamp(BLOCK_BYTES, BLOCK_BYTES_MAX);
    1 << bytes.ilog2()
}

/// Returns the largest number of runs that may have items near one key: their ranges, from the first to the last item, overlap there. A
/// merge reads this number of runs at the same time.
fn overlap<'a>(order: &Order, runs: impl IntoIterator<Item = &'a SortedRun>) -> usize {
    let prefixes = runs.into_iter().map(|run| run.prefixes(order));
    // At the same prefix, first items (`false`) sort before last items (`true`): a run that begins where another run ends overlaps this
    // run.
    let mut ends: Vec<_> = prefixes.flat_map(|(first, last)| [(first, false), (last, true)]).collect();
    ends.sort_unstable();
    let (mut open, mut most) = (0_usize, 0);
    for (_, is_end) in ends {
        open = if is_end { open - 1 } else { open + 1 };
        most = most.max(open);
    }
    most
}

/// Writes runs that are in memory to the temporary file, the largest first, until the remaining memory suffices to merge all runs.
fn spill_until_it_fits(
    runs: &mut [SortedRun],
    layout: &Layout,
    spill: &Arc<Spill>,
    memory_bytes: usize,
    ranges_at_once: usize,
) -> Result<()> {
    loop {
        let in_memory = runs.iter().filter(|run| !matches!(run, SortedRun::File(_))).count();
        let spilled = overlap(&layout.order, runs.iter().filter(|run| matches!(run, SortedRun::File(_))));
        let reading =
            spilled * (BLOCKS * BLOCK_BYTES_FAST + STREAM_BYTES) + in_memory * (GATHER_BYTES + STREAM_BYTES);
        if in_memory == 0 || resident_bytes(runs) + ranges_at_once * reading <= memory_bytes {
            return Ok(());
        }
        let largest = runs.iter_mut().max_by_key(|run| match run {
            SortedRun::Memory(_) | SortedRun::Keys(_) => run.memory_bytes(),
            SortedRun::File(_) => 0,
        });
        if let Some(largest) = largest {
            largest.spill(layout, spill, write_bytes(memory_bytes / 32))?;
        }
    }
}

/// Removes the `count` smallest runs from `runs`, and merges them to one run in the temporary file.
fn join_smallest(
    runs: &mut Vec<SortedRun>,
    layout: &Layout,
    spill: &Arc<Spill>,
    prefetch: &Prefetch,
    count: usize,
    memory_bytes: usize,
) -> Result<FileRun> {
    let block_bytes = block_bytes(runs, memory_bytes, count);
    runs.sort_by_key(|run| std::cmp::Reverse(run.stored_bytes()));
    let smallest = runs.split_off(runs.len().saturating_sub(count));
    let runs = RunsInOrder::new(layout, smallest.iter(), (None, None), block_bytes, prefetch);
    runs.write(layout, &mut RunWriter::new(spill, write_bytes(memory_bytes / 32)))
}
