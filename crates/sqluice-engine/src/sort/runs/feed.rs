//! Feeds the readers of a run with blocks: from memory, or read ahead from the temporary file.

use sqluice_core::error::Result;
use sqluice_format::aligned::AlignedBuffer;

use super::run::{FileRun, MemoryRun, Stretch};
use crate::sort::items::halves::HALF_BYTES;
use crate::sort::items::item;
use crate::sort::items::order::{Cut, Layout};
use crate::sort::spill::BLOCK_BYTES;
use crate::sort::spill::prefetch::Prefetch;
use crate::sort::spill::write_behind::Underway;

/// The number of bytes that are copied to a block at a time if the run is in memory. They should stay in the L1 cache until they are read.
pub(in crate::sort) const GATHER_BYTES: usize = 4 << 10;

/// The cuts at which the items to read begin and end; `None` for the start or the end of the run.
pub(in crate::sort) type Cuts<'a> = (Option<&'a Cut>, Option<&'a Cut>);

/// The source of the blocks of a run.
pub(in crate::sort) enum Feed<'a> {
    Memory {
        run: &'a MemoryRun,
        places: &'a [u32],
    },
    /// The keys that are left to read of a run in memory, as halves.
    Keys(&'a [u64]),
    File(FileFeed<'a>),
}

pub(in crate::sort) struct FileFeed<'a> {
    pub(in crate::sort) run: &'a FileRun,
    pub(in crate::sort) prefetch: &'a Prefetch,
    pub(in crate::sort) block_bytes: usize,
    /// The offset in the stream of the run up to which blocks were read.
    pub(in crate::sort) at: u64,
    /// The offset in the stream of the run up to which blocks were requested.
    pub(in crate::sort) asked: u64,
    pub(in crate::sort) stretch: Stretch<'a>,
    pub(in crate::sort) next: Option<Underway>,
}

impl Feed<'_> {
    /// Replaces `block` by the next block of the run. Returns `false` if no block is left.
    pub(in crate::sort) fn fill(&mut self, block: &mut AlignedBuffer, layout: &Layout) -> Result<bool> {
        match self {
            Feed::Memory { run, places } => {
                block.set_len(0);
                let mut taken = 0;
                let item_bytes = run.arena.len() / run.places.len();
                while block.bytes().len() < GATHER_BYTES && taken < places.len() {
                    if taken % item::FETCHED == 0 {
                        let next = &places[taken..];
                        item::fetch(&run.arena, &next[..next.len().min(item::FETCHED)], item_bytes);
                    }
                    block.extend_from_slice(run.bytes(layout, places[taken]));
                    taken += 1;
                }
                *places = &places[taken..];
                Ok(taken > 0)
            }
            Feed::Keys(halves) => {
                let (now, later) = halves.split_at(halves.len().min(GATHER_BYTES / HALF_BYTES));
                block.set_len(size_of_val(now));
                for (bytes, half) in block.bytes_mut().as_chunks_mut::<HALF_BYTES>().0.iter_mut().zip(now) {
                    *bytes = half.to_le_bytes();
                }
                *halves = later;
                Ok(!now.is_empty())
            }
            Feed::File(feed) => feed.fill(block),
        }
    }
}

impl FileFeed<'_> {
    fn fill(&mut self, block: &mut AlignedBuffer) -> Result<bool> {
        let Some(next) = self.next.take() else { return Ok(false) };
        let used = std::mem::take(block);
        *block = next.recv().unwrap_or_else(|_| Err(self.run.spill.damaged()))?;
        // The items to read may end within the block.
        block.set_len((self.asked.min(self.stretch.end) - self.at) as usize);
        self.at = self.asked;
        self.ask(used);
        Ok(true)
    }

    /// Requests the next block, if any is left. A thread of `prefetch` reads it into `buffer`.
    pub(in crate::sort) fn ask(&mut self, mut buffer: AlignedBuffer) {
        if self.asked < self.stretch.end {
            let (offset, follow) = self.run.place(self.asked);
            let left = (self.stretch.end - self.asked).next_multiple_of(BLOCK_BYTES as u64);
            let bytes = left.min(follow).min(self.block_bytes as u64);
            buffer.set_len(bytes as usize);
            self.asked += bytes;
            self.next = Some(self.prefetch.read(&self.run.spill, offset, buffer));
        }
    }
}
