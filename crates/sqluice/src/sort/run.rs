//! Runs: items in order, in memory or in the temporary file.
//!
//! ```text
//!  in memory   places    3 0 2 1            of the items, in order
//!              arena     [item][item][item][item]
//!
//!  spilled     stream    [item][item][it|em][item][item|...]     items cross blocks and pieces as they please
//!              starts     ^               ^                      the first item in each STEP_BYTES
//! ```

use std::sync::Arc;

use sqluice_format::aligned::AlignedBuffer;

use super::item::{self, Found};
use super::order::{Cut, Item, Layout};
use super::spill::{BLOCK_BYTES, PIECE_BYTES, Spill};
use crate::error::Result;

/// Of so many bytes of a stream the first item's key is known.
pub(super) const STEP_BYTES: u64 = if cfg!(test) { 2 << 10 } else { 64 << 10 };

/// Items in order.
#[derive(Debug)]
pub(super) enum Run {
    Memory(MemoryRun),
    File(FileRun),
}

/// A run that was not spilled.
#[derive(Debug)]
pub(super) struct MemoryRun {
    pub(super) arena: Vec<u8>,
    pub(super) places: Vec<u32>,
    pub(super) first_prefix: u128,
    pub(super) last_prefix: u128,
}

/// A run in the temporary file.
#[derive(Debug)]
pub(super) struct FileRun {
    pub(super) spill: Arc<Spill>,
    pieces: Vec<u64>,
    pub(super) bytes: u64,
    pub(super) starts: Vec<Start>,
    pub(super) last_prefix: u128,
}

/// A part of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'a> {
    /// What is looked for begins here or in the next step.
    pub(super) first: &'a Start,
    /// What begins before this does not come too late.
    pub(super) all_until: u64,
    /// What begins here or further on does.
    pub(super) end: u64,
}

/// A place in a stream where an item begins.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) at: u64,
    /// Of the item itself.
    pub(super) prefix: u128,
    pub(super) cut: Cut,
}

impl Run {
    /// The prefixes of its first and last item.
    pub(super) fn prefixes(&self) -> (u128, u128) {
        match self {
            Run::Memory(run) => (run.first_prefix, run.last_prefix),
            Run::File(run) => (run.starts[0].prefix, run.last_prefix),
        }
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Run::Memory(run) => run.arena.capacity() + 4 * run.places.capacity(),
            Run::File(run) => 8 * run.pieces.capacity() + size_of::<Start>() * run.starts.capacity(),
        }
    }

    /// Bytes of its items, roughly.
    pub(super) fn stored_bytes(&self) -> u64 {
        match self {
            Run::Memory(run) => run.arena.len() as u64,
            Run::File(run) => run.bytes,
        }
    }
}

impl MemoryRun {
    fn found(&self, layout: &Layout, place: u32) -> Found {
        item::find(layout, &self.arena, place as usize).expect("a place of an item")
    }

    /// The item at a place.
    pub(super) fn item(&self, layout: &Layout, place: u32) -> Item<'_> {
        self.found(layout, place).item(&self.arena)
    }

    /// The bytes of the item at a place.
    #[inline]
    pub(super) fn bytes(&self, layout: &Layout, place: u32) -> &[u8] {
        &self.arena[place as usize..self.found(layout, place).end]
    }

    /// The places of the items from one cut to another.
    pub(super) fn between(&self, layout: &Layout, start: Option<&Cut>, end: Option<&Cut>) -> &[u32] {
        let before = |cut: &Cut| {
            self.places.partition_point(|place| {
                let item = self.item(layout, *place);
                layout.order.is_before(&item, layout.order.prefix(&item), cut)
            })
        };
        let start = start.map_or(0, before);
        let end = end.map_or(self.places.len(), before);
        &self.places[start..end]
    }

    /// Writes it to the temporary file.
    pub(super) fn spill(&self, layout: &Layout, spill: &Arc<Spill>, write_bytes: usize) -> Result<FileRun> {
        let mut writer = RunWriter::new(spill, AlignedBuffer::default(), write_bytes);
        for place in &self.places {
            let found = self.found(layout, *place);
            writer.push(layout, &self.arena[*place as usize..found.end], || found.item(&self.arena))?;
        }
        Ok(writer.finish(self.last_prefix)?.0)
    }
}

impl FileRun {
    /// Where a byte of the stream lies in the file, and how many follow it there.
    pub(super) fn place(&self, at: u64) -> (u64, u64) {
        (self.pieces[(at / PIECE_BYTES) as usize] + at % PIECE_BYTES, PIECE_BYTES - at % PIECE_BYTES)
    }

    /// Where the items from one cut to another can be.
    pub(super) fn between(&self, start: Option<&Cut>, end: Option<&Cut>) -> Stretch<'_> {
        let before = |cut: &Cut| self.starts.partition_point(|start| start.cut < *cut);
        let first = start.map_or(0, |cut| before(cut).saturating_sub(1));
        let last = end.map_or(self.starts.len(), before);
        let at = |start: usize| self.starts.get(start).map_or(self.bytes, |start| start.at);
        let all_until = if end.is_some() { at(last.saturating_sub(1)) } else { self.bytes };
        Stretch { first: &self.starts[first], all_until, end: at(last) }
    }
}

impl Drop for FileRun {
    fn drop(&mut self) {
        self.spill.give_back(&mut self.pieces);
    }
}

/// Writes a run.
#[derive(Debug)]
pub(super) struct RunWriter {
    run: FileRun,
    buffer: AlignedBuffer,
    write_bytes: usize,
    /// Where in the stream the next start is wanted.
    next_start: u64,
}

impl RunWriter {
    /// Writes `write_bytes` bytes at a time: a power of two, not less than a block nor more than a piece.
    pub(super) fn new(spill: &Arc<Spill>, mut buffer: AlignedBuffer, write_bytes: usize) -> RunWriter {
        buffer.reserve(write_bytes);
        buffer.set_len(0);
        let run = FileRun {
            spill: Arc::clone(spill),
            pieces: Vec::new(),
            bytes: 0,
            starts: Vec::new(),
            last_prefix: 0,
        };
        RunWriter { run, buffer, write_bytes, next_start: 0 }
    }

    /// Appends an item, which is given as its bytes, and as itself if it is asked for.
    #[inline]
    pub(super) fn push<'a>(
        &mut self,
        layout: &Layout,
        mut bytes: &[u8],
        item: impl FnOnce() -> Item<'a>,
    ) -> Result<()> {
        let at = self.run.bytes + self.buffer.bytes().len() as u64;
        if at >= self.next_start {
            let item = item();
            let (prefix, cut) = (layout.order.prefix(&item), layout.order.cut(&item));
            self.run.starts.push(Start { at, prefix, cut });
            self.next_start = (at / STEP_BYTES + 1) * STEP_BYTES;
        }
        while self.buffer.bytes().len() + bytes.len() >= self.write_bytes {
            let (now, later) = bytes.split_at(self.write_bytes - self.buffer.bytes().len());
            self.buffer.extend_from_slice(now);
            self.write()?;
            bytes = later;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let (run, bytes) = (&mut self.run, self.buffer.bytes().len());
        if run.bytes.is_multiple_of(PIECE_BYTES) {
            run.pieces.push(run.spill.take_piece());
        }
        self.buffer.set_len(bytes.next_multiple_of(BLOCK_BYTES));
        run.spill.write(run.place(run.bytes).0, self.buffer.bytes())?;
        run.bytes += bytes as u64;
        self.buffer.set_len(0);
        Ok(())
    }

    /// The run, which ends with the item of this prefix, and the buffer to use again.
    pub(super) fn finish(mut self, last_prefix: u128) -> Result<(FileRun, AlignedBuffer)> {
        if !self.buffer.bytes().is_empty() {
            self.write()?;
        }
        self.run.last_prefix = last_prefix;
        Ok((self.run, self.buffer))
    }
}

/// How much a writer with so much memory writes at a time.
pub(super) fn write_bytes(memory_bytes: usize) -> usize {
    let bytes = memory_bytes.clamp(BLOCK_BYTES, PIECE_BYTES as usize);
    1 << bytes.ilog2()
}
