//! Sorted runs: lists of items in order, in memory or in the temporary file.
//!
//! ```text
//!  in memory   places    3 0 2 1            the items' offsets in the arena, in order
//!              arena     [item][item][item][item]
//!
//!  spilled     stream    [item][item][it|em][item][item|...]     items may cross blocks and pieces
//!              starts     ^               ^                      the first item in each STEP_BYTES
//! ```
//!
//! The items of a spilled run are one stream of bytes, which fills the pieces of the temporary file one after another. So an item may begin
//! in one piece or block (the bytes that a reader gets at a time) and end in the next. `starts` has, for the first item in each STEP_BYTES
//! bytes of the stream, its position and the first bytes of its key. So a reader that wants the items after a position in the order of
//! items (a [`Cut`]) begins near them, not at the start of the run.
//!
//! For key-only items, only the keys are stored: a list in memory, or a stream with 8, 16 or 32 bytes for each key, by the form of the
//! run's keys ([`Form`]). If the keys of a buffer that is spilled differ in at most 64 bits, they are packed to 8 bytes each ([`Packing`]);
//! the keys of a run that is merged from other runs are not packed. A *word* is 16 bytes of a key.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_format::aligned::AlignedBuffer;

use crate::sort::items::halves::{HALF_BYTES, first_word};
use crate::sort::items::item::{self, Found};
use crate::sort::items::keys::{Form, Keys, Packing};
use crate::sort::items::order::{Cut, Item, Layout, Order};
use crate::sort::spill::write_behind::Underway;
use crate::sort::spill::{BLOCK_BYTES, PIECE_BYTES, Spill};

/// The size of a step of a stream in bytes. The position and the cut of the first item in each step are kept in memory ([`Start`]).
pub(in crate::sort) const STEP_BYTES: u64 = if cfg!(test) { 2 << 10 } else { 64 << 10 };

/// The number of halves in a stretch: the unit in which keys are appended to a run. A step has sixteen stretches of unpacked keys, so the
/// first key of a step is also the first of a stretch.
pub(in crate::sort) const STRETCH: usize = STEP_BYTES as usize / HALF_BYTES / 16;

/// A sorted run: a list of items in order.
#[derive(Debug)]
pub(in crate::sort) enum SortedRun {
    Memory(MemoryRun),
    /// A run of key-only items in memory: their keys, at least one.
    Keys(Keys),
    File(FileRun),
}

/// A run of full items in memory. `places` has the offsets of the items in `arena`, in sorted order.
#[derive(Debug)]
pub(in crate::sort) struct MemoryRun {
    pub(in crate::sort) arena: Vec<u8>,
    pub(in crate::sort) places: Vec<u32>,
    pub(in crate::sort) first_prefix: u128,
    pub(in crate::sort) last_prefix: u128,
}

/// A run in the temporary file: a stream of items or keys.
#[derive(Debug)]
pub(in crate::sort) struct FileRun {
    pub(in crate::sort) spill: Arc<Spill>,
    /// The form of the keys, or `None` if the run has full items.
    pub(in crate::sort) form: Option<Form>,
    /// The packing of the stored keys, which restores the keys; `None` if the keys are stored as they are.
    pub(in crate::sort) packing: Option<Box<Packing>>,
    pieces: Vec<u64>,
    pub(in crate::sort) bytes: u64,
    pub(in crate::sort) starts: Vec<Start>,
    pub(in crate::sort) last_prefix: u128,
}

/// The range of a stream in which the items between two cuts are, as exactly as the recorded starts of steps show.
#[derive(Clone, Copy, Debug)]
pub(in crate::sort) struct Stretch<'a> {
    /// The last recorded start before the first cut, or the first start of the run. Reading begins at this start: the first item after the
    /// cut is in the step of this start, or is the item at the next start.
    pub(in crate::sort) first: &'a Start,
    /// An offset in the stream before which every item is before the second cut.
    pub(in crate::sort) all_until: u64,
    /// An offset in the stream from which on no item is before the second cut.
    pub(in crate::sort) end: u64,
}

/// A position in a stream where an item begins, and the cut right before the item.
#[derive(Debug)]
pub(in crate::sort) struct Start {
    pub(in crate::sort) at: u64,
    /// The prefix of the item at this position.
    pub(in crate::sort) prefix: u128,
    /// The first word (16 bytes) of the item's key in the [`Form`] of the run, before packing; the prefix if the run has full items.
    pub(in crate::sort) word: u128,
    pub(in crate::sort) cut: Cut,
}

impl SortedRun {
    /// Returns the prefixes of the first and the last item of the run.
    pub(in crate::sort) fn prefixes(&self, order: &Order) -> (u128, u128) {
        match self {
            SortedRun::Memory(run) => (run.first_prefix, run.last_prefix),
            SortedRun::Keys(keys) => keys.prefixes(order),
            SortedRun::File(run) => (run.starts[0].prefix, run.last_prefix),
        }
    }

    /// Returns the form of the keys, or `None` if the run has full items.
    pub(in crate::sort) fn form(&self) -> Option<Form> {
        match self {
            SortedRun::Memory(_) => None,
            SortedRun::Keys(keys) => Some(keys.form),
            SortedRun::File(run) => run.form,
        }
    }

    /// Returns the number of bytes of memory that the run takes: for a run in the temporary file, its lists of pieces and starts.
    pub(in crate::sort) fn memory_bytes(&self) -> usize {
        match self {
            SortedRun::Memory(run) => run.arena.capacity() + 4 * run.places.capacity(),
            SortedRun::Keys(keys) => keys.memory_bytes(),
            SortedRun::File(run) => 8 * run.pieces.capacity() + size_of::<Start>() * run.starts.capacity(),
        }
    }

    /// Returns the approximate size of the items in bytes.
    pub(in crate::sort) fn stored_bytes(&self) -> u64 {
        match self {
            SortedRun::Memory(run) => run.arena.len() as u64,
            SortedRun::Keys(keys) => size_of_val(keys.as_halves()) as u64,
            SortedRun::File(run) => run.bytes,
        }
    }

    /// Writes a run in memory to the temporary file, `write_bytes` bytes at a time. A run that already is in the file is unchanged.
    pub(in crate::sort) fn spill(
        &mut self,
        layout: &Layout,
        spill: &Arc<Spill>,
        write_bytes: usize,
    ) -> Result<()> {
        let spilled = match self {
            SortedRun::Memory(run) => run.spill(layout, spill, write_bytes)?,
            SortedRun::Keys(keys) => RunWriter::new(spill, write_bytes).keys(&layout.order, keys)?,
            SortedRun::File(_) => return Ok(()),
        };
        *self = SortedRun::File(spilled);
        Ok(())
    }
}

impl MemoryRun {
    fn found(&self, layout: &Layout, place: u32) -> Found {
        item::find(layout, &self.arena, place as usize).expect("a place of an item")
    }

    /// Returns the item at an offset of the arena.
    pub(in crate::sort) fn item(&self, layout: &Layout, place: u32) -> Item<'_> {
        self.found(layout, place).item(&self.arena)
    }

    /// Returns the encoded item at an offset of the arena.
    #[inline]
    pub(in crate::sort) fn bytes(&self, layout: &Layout, place: u32) -> &[u8] {
        &self.arena[place as usize..self.found(layout, place).end]
    }

    /// Returns the offsets of the items between two cuts, in order. Without a `start` or an `end`, the items reach to that end of the run.
    pub(in crate::sort) fn between(&self, layout: &Layout, start: Option<&Cut>, end: Option<&Cut>) -> &[u32] {
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

    fn spill(&self, layout: &Layout, spill: &Arc<Spill>, write_bytes: usize) -> Result<FileRun> {
        let mut writer = RunWriter::new(spill, write_bytes);
        for place in &self.places {
            let found = self.found(layout, *place);
            let bytes = &self.arena[*place as usize..found.end];
            writer.push(bytes, || layout.order.place(&found.item(&self.arena)))?;
        }
        writer.finish(self.last_prefix)
    }
}

impl FileRun {
    fn new(spill: &Arc<Spill>) -> FileRun {
        let (form, packing, pieces, starts) = (None, None, Vec::new(), Vec::new());
        FileRun { spill: Arc::clone(spill), form, packing, pieces, bytes: 0, starts, last_prefix: 0 }
    }

    /// Converts an offset of the stream to an offset of the temporary space. Also returns the number of bytes that follow in the same
    /// piece.
    pub(in crate::sort) fn place(&self, at: u64) -> (u64, u64) {
        (self.pieces[(at / PIECE_BYTES) as usize] + at % PIECE_BYTES, PIECE_BYTES - at % PIECE_BYTES)
    }

    /// Returns the range of the stream that can hold the items between two cuts.
    pub(in crate::sort) fn between(&self, start: Option<&Cut>, end: Option<&Cut>) -> Stretch<'_> {
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

/// A writer of runs to the temporary file, one after another. It fills one buffer while another thread writes the other buffer.
///
/// ```text
///  items ──> filling ──> (full) ──> underway ──> disk
///               ^─────────(empty)───────┘
/// ```
#[derive(Debug)]
pub(in crate::sort) struct RunWriter {
    run: FileRun,
    filling: AlignedBuffer,
    underway: Option<Underway>,
    /// The second buffer, empty, while no write is under way.
    spare: AlignedBuffer,
    write_bytes: usize,
    /// The offset in the stream of the next step: the first item from this offset on becomes a [`Start`].
    next_start: u64,
}

impl RunWriter {
    /// Creates a writer that writes `write_bytes` bytes at a time: a power of two, at least [`BLOCK_BYTES`] and at most [`PIECE_BYTES`].
    /// The writer takes twice as much memory, for its two buffers.
    pub(in crate::sort) fn new(spill: &Arc<Spill>, write_bytes: usize) -> RunWriter {
        let run = FileRun::new(spill);
        let (filling, spare) = (AlignedBuffer::default(), AlignedBuffer::default());
        RunWriter { run, filling, underway: None, spare, write_bytes, next_start: 0 }
    }

    /// Writes a whole run of key-only items. `keys` must be sorted, and are packed if possible.
    pub(in crate::sort) fn keys(&mut self, order: &Order, keys: &Keys) -> Result<FileRun> {
        self.run.packing = Packing::of(keys).map(Box::new);
        self.push_keys(order, keys.form, keys.as_halves())?;
        self.finish(keys.prefixes(order).1)
    }

    /// Appends keys to the current run. The number of halves in `keys` must be a multiple of [`STRETCH`], except in the last call of a run.
    pub(in crate::sort) fn push_keys(&mut self, order: &Order, form: Form, keys: &[u64]) -> Result<()> {
        self.run.form = Some(form);
        let mut bytes = [0; STRETCH * HALF_BYTES];
        for some in keys.chunks(STRETCH) {
            let room = bytes.as_chunks_mut::<HALF_BYTES>().0.iter_mut();
            let stored_halves = match &self.run.packing {
                Some(packing) => {
                    let keys = some.chunks(form.halves());
                    let count = keys.len();
                    for (bytes, key) in room.zip(keys) {
                        *bytes = packing.packed(key).to_le_bytes();
                    }
                    count
                }
                None => {
                    for (bytes, half) in room.zip(some) {
                        *bytes = half.to_le_bytes();
                    }
                    some.len()
                }
            };
            self.start_if_due(|| {
                let stored = &some[..form.halves()];
                let (prefix, cut) = form.place(order, stored);
                (prefix, first_word(stored), cut)
            });
            self.append(&bytes[..HALF_BYTES * stored_halves])?;
        }
        Ok(())
    }

    /// Appends a full item to the current run, encoded as `bytes`. `place` returns the prefix of the item and the cut right before it, and
    /// is called only for the first item of a step.
    #[inline]
    pub(in crate::sort) fn push(&mut self, bytes: &[u8], place: impl FnOnce() -> (u128, Cut)) -> Result<()> {
        self.start_if_due(|| {
            let (prefix, cut) = place();
            (prefix, prefix, cut)
        });
        self.append(bytes)
    }

    /// Records a [`Start`] for the next item if the item is the first in its step. `place` returns the `prefix`, `word` and `cut` of the
    /// start.
    #[inline]
    fn start_if_due(&mut self, place: impl FnOnce() -> (u128, u128, Cut)) {
        let at = self.run.bytes + self.filling.bytes().len() as u64;
        if at >= self.next_start {
            let (prefix, word, cut) = place();
            self.run.starts.push(Start { at, prefix, word, cut });
            self.next_start = (at / STEP_BYTES + 1) * STEP_BYTES;
        }
    }

    #[inline]
    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.filling.bytes().len() + bytes.len() >= self.write_bytes {
            let (now, later) = bytes.split_at(self.write_bytes - self.filling.bytes().len());
            self.filling.extend_from_slice(now);
            self.write()?;
            bytes = later;
        }
        self.filling.extend_from_slice(bytes);
        Ok(())
    }

    /// Begins to write the buffer that was filled, after the write of the other buffer has ended.
    fn write(&mut self) -> Result<()> {
        let mut empty = self.arrived()?;
        empty.reserve(self.write_bytes);
        let mut full = std::mem::replace(&mut self.filling, empty);
        let (run, bytes) = (&mut self.run, full.bytes().len());
        if run.bytes.is_multiple_of(PIECE_BYTES) {
            run.pieces.push(run.spill.take_piece());
        }
        full.set_len(bytes.next_multiple_of(BLOCK_BYTES));
        self.underway = Some(run.spill.write(run.place(run.bytes).0, full)?);
        run.bytes += bytes as u64;
        Ok(())
    }

    /// Frees both buffers, which must be empty.
    pub(in crate::sort) fn shrink(&mut self) {
        (self.filling, self.spare) = (AlignedBuffer::default(), AlignedBuffer::default());
    }

    /// Waits for the write in progress, if any, and returns its buffer, empty.
    fn arrived(&mut self) -> Result<AlignedBuffer> {
        let Some(underway) = self.underway.take() else { return Ok(std::mem::take(&mut self.spare)) };
        let mut buffer = underway.recv().unwrap_or_else(|_| Err(self.run.spill.damaged()))?;
        buffer.set_len(0);
        Ok(buffer)
    }

    /// Writes the bytes of the current run that are not written yet, and returns the run. `last_prefix` is the prefix of its last item.
    /// Items that are pushed afterwards belong to the next run.
    pub(in crate::sort) fn finish(&mut self, last_prefix: u128) -> Result<FileRun> {
        if !self.filling.bytes().is_empty() {
            self.write()?;
        }
        // Readers may read the run from now on, so the write must have ended.
        self.spare = self.arrived()?;
        self.next_start = 0;
        self.run.last_prefix = last_prefix;
        let next = FileRun::new(&self.run.spill);
        Ok(std::mem::replace(&mut self.run, next))
    }
}

/// Returns the number of bytes that a [`RunWriter`] should write at a time if each of its buffers may take `memory_bytes` bytes.
pub(in crate::sort) fn write_bytes(memory_bytes: usize) -> usize {
    let bytes = memory_bytes.clamp(BLOCK_BYTES, PIECE_BYTES as usize);
    1 << bytes.ilog2()
}
