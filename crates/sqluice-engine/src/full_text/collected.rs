//! The doclists and sizes that all workers have collected, merged in order.
//!
//! ```text
//!  range 0 of terms ──thread──> chunks ──┐
//!  range 1 of terms ──thread──> chunks ──┼──> the caller, range by range: all doclists of a term, one after another
//!  range 2 of terms ──thread──> chunks ──┘
//! ```
//!
//! Threads begin ranges in order and the caller takes them in order, so the thread of the earliest range never waits for another. A thread
//! does not begin a range that is too far ahead of the caller.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_format::fts5::Doclist;

use super::rows::RowIndexer;
use super::{TextIndex, Totals, item};
use crate::sort::{Item, Prefetch, Ranges, Sorted, Sorter, Spill};

/// The size of a chunk in bytes, in which merged doclists pass from a thread to the caller.
const CHUNK_BYTES: usize = 128 << 10;

/// The sizes of the ranges of terms that are merged side by side. Doclists of a range wait in memory for those of the ranges before.
const RANGES: Ranges = match cfg!(test) {
    true => Ranges { range_bytes: 8 << 10, sample_bytes: 256, samples_max: 32_768 },
    false => Ranges { range_bytes: 4 << 20, sample_bytes: 64 << 10, samples_max: 32_768 },
};

/// The collector of doclists and sizes of all workers.
pub(crate) struct Collector<'i> {
    pub(super) index: &'i TextIndex,
    pub(super) doclists: Sorter,
    pub(super) docsizes: Option<Sorter>,
    /// The bytes of memory for the terms of a run of a worker, and their occurrences.
    pub(super) run_bytes: usize,
    totals: Mutex<Totals>,
    spill: Arc<Spill>,
}

impl<'i> Collector<'i> {
    /// Creates a collector for `workers` workers, which take `memory_bytes` bytes of memory together.
    pub(crate) fn new(
        index: &'i TextIndex,
        workers: usize,
        memory_bytes: usize,
        spill: &Arc<Spill>,
    ) -> Collector<'i> {
        // An eighth is for memory that is not counted below: the blocks of runs that are written, and gaps between allocations.
        let share = memory_bytes / 8 * 7 / workers.max(1);
        let docsizes_bytes = if index.keeps_sizes { share / 8 } else { 0 };
        let doclists_bytes = share / 8 * 3 - docsizes_bytes;
        Collector {
            index,
            doclists: Sorter::with_ranges(item::of_doclists(), doclists_bytes, spill, RANGES),
            docsizes: index.keeps_sizes.then(|| Sorter::new(item::of_sizes(), docsizes_bytes, spill)),
            run_bytes: share / 8 * 5,
            totals: Mutex::new(Totals { rows: 0, tokens: vec![0; index.columns] }),
            spill: Arc::clone(spill),
        }
    }

    /// Returns an indexer of rows for one thread, which collects into `self`.
    ///
    /// # Errors
    /// If SQLite can't create the tokenizer of the index: it has none of this name, or the tokenizer refuses its arguments.
    pub(crate) fn worker(&self) -> Result<RowIndexer<'_>> {
        RowIndexer::new(self)
    }

    /// Returns the totals of the workers that have finished.
    pub(super) fn totals(&self) -> Totals {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds the totals of a worker.
    pub(super) fn add(&self, totals: &Totals) {
        let mut all = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        all.rows += totals.rows;
        all.tokens.iter_mut().zip(&totals.tokens).for_each(|(all, tokens)| *all += tokens);
    }

    /// Sorts all that was collected. The merge takes `memory_bytes` bytes of memory and `threads` threads.
    ///
    /// # Errors
    /// If temporary space runs out, or `cancel` is set.
    pub(crate) fn sorted(self, threads: usize, memory_bytes: usize, cancel: &Cancel) -> Result<Collected> {
        let ahead = Arc::new(Prefetch::new(threads)?);
        // The sizes are taken after the doclists, but both may have runs in memory.
        let docsizes_bytes = if self.docsizes.is_some() { memory_bytes / 8 } else { 0 };
        let chunks_bytes = if threads > 1 { memory_bytes / 4 } else { 0 };
        let doclists_bytes = memory_bytes - docsizes_bytes - chunks_bytes;
        let docsizes =
            self.docsizes.map(|sorter| sorter.sorted(docsizes_bytes, 1, &ahead, cancel)).transpose()?;
        Ok(Collected {
            doclists: self.doclists.sorted(doclists_bytes, threads, &ahead, cancel)?,
            docsizes,
            totals: self.totals.into_inner().unwrap_or_else(PoisonError::into_inner),
            threads,
            chunks: (chunks_bytes / threads.max(1) / CHUNK_BYTES).max(1),
            spill: self.spill,
        })
    }
}

/// The doclists and sizes of all rows.
pub(crate) struct Collected {
    doclists: Sorted,
    docsizes: Option<Sorted>,
    /// The totals of all rows.
    pub(crate) totals: Totals,
    threads: usize,
    /// The largest number of chunks of a range that wait for the caller.
    chunks: usize,
    spill: Arc<Spill>,
}

impl Collected {
    /// Returns the number of doclists, of which a term has one for each run that has the term.
    pub(crate) fn doclists(&self) -> u64 {
        self.doclists.items()
    }

    /// Calls `each` with each doclist, its term and its age: in the order of terms, and for each term in the order of first rowids. Doclists
    /// of one age do not overlap.
    ///
    /// # Errors
    /// The error of `each`, or if temporary files can't be read or a thread can't be started.
    pub(crate) fn each_doclist(
        &self,
        mut each: impl FnMut(&[u8], u32, &Doclist<'_>) -> Result<()>,
    ) -> Result<()> {
        let damaged = || self.spill.damaged();
        if self.threads < 2 || self.doclists.ranges() < 2 {
            for range in 0..self.doclists.ranges() {
                self.doclists.range(range)?.try_for_each(|found, _| {
                    let (term, age, doclist) = item::parse(&found).ok_or_else(damaged)?;
                    each(term, age, &doclist)
                })?;
            }
            return Ok(());
        }
        let channels = (0..self.doclists.ranges()).map(|_| sync_channel::<Result<Chunk>>(self.chunks));
        let (senders, receivers): (Vec<_>, Vec<Receiver<_>>) =
            channels.map(|(sender, receiver)| (Mutex::new(Some(sender)), receiver)).unzip();
        // A thread begins a range with a permit. So no more ranges than threads wait in memory for the caller.
        let (permit, permits) = crossbeam_channel::unbounded::<()>();
        for _ in 0..self.threads {
            permit.send(()).map_err(|_| Error::interrupted())?;
        }
        let next = AtomicUsize::new(0);
        let merge = || {
            let _ended = EndIfPanicking(&senders);
            while permits.recv().is_ok() {
                let range = next.fetch_add(1, Ordering::Relaxed);
                let Some(sender) = senders.get(range) else { return };
                let sender = sender.lock().unwrap_or_else(PoisonError::into_inner).take();
                let Some(sender) = sender else { return };
                if let Err(error) = self.merge(range, &sender) {
                    // The caller has ended if nobody receives the error.
                    let _ = sender.send(Err(error));
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            // `permit` is dropped when the caller ends, so that threads that wait for a permit end, too.
            let permit = permit;
            // The caller, which calls `each`, is one of the threads.
            for _ in 1..self.threads {
                let started =
                    std::thread::Builder::new().name("sqluice-merge".to_owned()).spawn_scoped(scope, merge);
                started.map_err(|error| Error::target("cannot start a thread").because(error))?;
            }
            receivers.into_iter().try_for_each(|receiver| {
                receiver.into_iter().try_for_each(|chunk| {
                    let chunk = chunk?;
                    chunk.items().try_for_each(|found| {
                        let (term, age, doclist) = item::parse(&found).ok_or_else(damaged)?;
                        each(term, age, &doclist)
                    })
                })?;
                // If no thread waits any more, nobody receives the permit, which is no error.
                let _ = permit.send(());
                Ok(())
            })
        })
    }

    /// Sends the items of a range, in chunks.
    fn merge(&self, range: usize, sender: &SyncSender<Result<Chunk>>) -> Result<()> {
        let mut chunk = Chunk::default();
        self.doclists.range(range)?.try_for_each(|item, _| {
            chunk.push(&item);
            if chunk.bytes.len() < CHUNK_BYTES {
                return Ok(());
            }
            sender.send(Ok(std::mem::take(&mut chunk))).map_err(|_| Error::interrupted())
        })?;
        sender.send(Ok(chunk)).map_err(|_| Error::interrupted())
    }

    /// Calls `each` with the rowid and the size of each row, in order.
    ///
    /// # Errors
    /// The error of `each`, or if temporary files can't be read.
    pub(crate) fn each_size(&self, mut each: impl FnMut(i64, &[u8]) -> Result<()>) -> Result<()> {
        let Some(docsizes) = &self.docsizes else { return Ok(()) };
        for range in 0..docsizes.ranges() {
            docsizes.range(range)?.try_for_each(|item, _| each(item.rowid, item.record))?;
        }
        Ok(())
    }
}

/// Lets the caller go on to the panic of a thread, instead of waiting for ranges that no thread merges.
struct EndIfPanicking<'s>(&'s [Mutex<Option<SyncSender<Result<Chunk>>>>]);

impl Drop for EndIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.iter().for_each(|sender| *sender.lock().unwrap_or_else(PoisonError::into_inner) = None);
        }
    }
}

/// Items on their way to the caller.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// The rowid of each item, and the end of its record in `bytes`.
    items: Vec<(i64, usize)>,
}

impl Chunk {
    fn push(&mut self, item: &Item<'_>) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(CHUNK_BYTES + CHUNK_BYTES / 2);
        }
        self.bytes.extend_from_slice(item.record);
        self.items.push((item.rowid, self.bytes.len()));
    }

    fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let starts = std::iter::once(0).chain(self.items.iter().map(|(_, end)| *end));
        self.items.iter().zip(starts).map(|((rowid, end), start)| Item {
            rowid: *rowid,
            number: 0,
            record: &self.bytes[start..*end],
        })
    }
}
