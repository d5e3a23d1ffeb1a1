//! A worker, which turns each part into chunks of finished pages and sends them to the writer.

use crossbeam_channel::{Receiver, Sender};
use sqluice_core::checksum::PageHash;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::BadRow;
use sqluice_format::chunk::{Chunk, OtherLeaf};
use sqluice_format::page::PageKind;
use sqluice_format::scan::Leaf;

use crate::encode::Chunks;
use crate::trees::Settings;
use crate::trees::workers::message::{BAD_ROWS_AHEAD_MAX, Message, PARTS_AHEAD_MAX, PartId, Sealed, Task};
use crate::trees::workers::part_ends::PartEnds;

/// The number of bytes of bad rows that a worker gathers before it sends these rows to the writer in one message.
const BAD_ROWS_BYTES: usize = 1 << 20;

/// A rough estimate of the memory in bytes for the error of a bad row: its message, its hint, and the name of the file.
const ERROR_BYTES: usize = 500;

/// A worker: its channels to and from the writer, and the counts that limit how far the worker gets ahead of the writer.
pub(crate) struct Worker<'s> {
    pub(crate) index: usize,
    pub(crate) settings: &'s Settings,
    /// `true` if bad rows are sent to the writer for the reject file. Otherwise the first bad row is an error.
    pub(crate) keep_bad_rows: bool,
    /// Written chunks, emptied by the writer.
    pub(crate) empty: Receiver<(Chunk, Vec<PageHash>)>,
    /// The number of chunks that the worker has allocated so far, at most [`Settings::chunks_per_worker`].
    pub(crate) made: usize,
    /// One `()` for each part whose end the writer has seen.
    pub(crate) ended: Receiver<()>,
    /// The number of parts that the worker has begun and whose ends the writer has not seen.
    pub(crate) ahead: usize,
    /// One `()` for each message with bad rows that the writer has taken.
    pub(crate) taken: Receiver<()>,
    /// The number of messages with bad rows that the writer has not taken.
    pub(crate) bad_rows_ahead: usize,
    pub(crate) to_writer: Sender<(PartId, u64, Message)>,
}

impl Worker<'_> {
    /// Waits until the worker may begin another part: until the writer has seen the ends of all but [`PARTS_AHEAD_MAX`] - 1 parts. Returns
    /// an error if the writer has stopped.
    pub(crate) fn may_go_on(&mut self) -> Result<()> {
        if self.ahead == PARTS_AHEAD_MAX {
            self.ended.recv().map_err(|_| Error::interrupted())?;
            self.ahead -= 1;
        }
        self.ahead += 1;
        Ok(())
    }

    /// Returns an empty chunk: a chunk that the writer gave back, or a new chunk if the worker has allocated fewer than
    /// [`Settings::chunks_per_worker`]. Otherwise waits for the writer.
    fn chunk(&mut self) -> Result<(Chunk, Vec<PageHash>)> {
        if self.made < self.settings.chunks_per_worker && self.empty.is_empty() {
            self.made += 1;
            let Settings { geometry, chunk_bytes, .. } = *self.settings;
            let pages = (chunk_bytes / geometry.page_bytes()).max(1) as u32;
            return Ok((Chunk::new(geometry, pages), Vec::new()));
        }
        // The channel is closed only if the writer has stopped.
        self.empty.recv().map_err(|_| Error::interrupted())
    }
}

/// The part that a worker processes, and the open chunk, which gets the pages of the part.
pub(crate) struct Filling<'w, 's> {
    pub(crate) worker: &'w mut Worker<'s>,
    id: PartId,
    /// The number of messages about this part sent so far.
    sequence: u64,
    open: Option<(Chunk, Vec<PageHash>)>,
    /// The index entry for which the open chunk has no room, if any. If another entry follows, the waiting entry begins the next chunk. If
    /// none follows, the waiting entry goes into the open chunk although this has no room: a next chunk would have only this entry, but
    /// needs two, because the last entry of a chunk becomes the divider before the next chunk.
    waiting: Option<Vec<u8>>,
    bad_rows: Vec<BadRow>,
    bad_rows_bytes: usize,
    cancel: &'w Cancel,
}

/// The counts of a finished part, for the progress display.
#[derive(Default)]
pub(crate) struct Done {
    /// The number of input bytes of the part.
    pub(crate) input_bytes: u64,
    /// The number of rows that are on no page of the part: rows that went to sorters, and rows that were left out.
    pub(crate) rows: u64,
}

impl<'w, 's> Filling<'w, 's> {
    pub(crate) fn new(worker: &'w mut Worker<'s>, id: PartId, cancel: &'w Cancel) -> Filling<'w, 's> {
        let (open, waiting, bad_rows) = (None, None, Vec::new());
        Filling { worker, id, sequence: 0, open, waiting, bad_rows, bad_rows_bytes: 0, cancel }
    }

    /// Processes the part with `work`, and sends the result to the writer. `work` returns the first and the last entry of the part even if
    /// the part fails, so that the writer can report rows out of order before this error.
    pub(crate) fn finish(
        mut self,
        task: Result<Task>,
        work: impl FnOnce(&mut Filling<'w, 's>, Task) -> (Result<Done>, PartEnds),
    ) -> Result<()> {
        let (done, ends) = match task {
            Ok(task) => work(&mut self, task),
            Err(error) => (Err(error), PartEnds::None),
        };
        // Bad rows before an error go to the reject file, too.
        self.send_bad_rows()?;
        let worker = self.worker.index;
        match done {
            Ok(Done { input_bytes, rows }) => {
                self.seal()?;
                self.send(Message::End { worker, input_bytes, rows, ends })
            }
            Err(error) => {
                self.send(Message::Failed { error, ends })?;
                // The writer stops at the error, so the worker ends, too.
                Err(Error::interrupted())
            }
        }
    }

    pub(crate) fn cancelled(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Returns the open chunk. Opens a chunk if no chunk is open.
    pub(crate) fn open(&mut self) -> Result<&mut Chunk> {
        if self.open.is_none() {
            self.open = Some(self.worker.chunk()?);
        }
        Ok(self.current())
    }

    /// Finishes the last leaf of a table, if a chunk is open.
    pub(crate) fn finish_leaves(&mut self) {
        if let Some((chunk, _)) = &mut self.open {
            chunk.finish();
        }
    }

    /// Finishes the last leaf of an index, if a chunk is open. `more` is `true` if further entries of the index follow in other chunks.
    pub(crate) fn finish_entries(&mut self, more: bool) -> Result<()> {
        if let Some(entry) = self.waiting.take() {
            self.open()?.push_last_entry(&entry);
        }
        if let Some((chunk, _)) = &mut self.open {
            chunk.finish_entries(more);
        }
        Ok(())
    }

    /// Adds a row of a table to the pages of the part. The row is given as its encoded record.
    #[inline]
    pub(crate) fn push_row(&mut self, rowid: i64, record: &[u8]) -> Result<()> {
        if !self.open()?.push(rowid, record) {
            self.next()?;
            let pushed = self.current().push(rowid, record);
            debug_assert!(pushed, "an empty chunk takes a row of any size");
        }
        Ok(())
    }

    /// Adds an entry of an index to the pages of the part.
    #[inline]
    pub(crate) fn push_entry(&mut self, record: &[u8]) -> Result<()> {
        if self.waiting.is_some() {
            self.place_waiting()?;
        }
        if !self.open()?.push_entry(record) {
            self.waiting = Some(record.to_vec());
        }
        Ok(())
    }

    /// Adds a leaf of another tree unchanged. Returns `false` and adds nothing if the last leaf of the open chunk is not full and must get
    /// more entries first.
    pub(crate) fn push_leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool> {
        self.place_waiting()?;
        let kind = if leaf.is_index() { PageKind::LeafIndex } else { PageKind::LeafTable };
        if !self.open()?.takes_leaf(kind) {
            return Ok(false);
        }
        let push = |chunk: &mut Chunk| chunk.push_leaf(kind, leaf.page(), leaf.entries(), leaf.last_rowid());
        if !push(self.current()) {
            match kind {
                PageKind::LeafIndex => self.next_of_entries()?,
                _ => self.next()?,
            }
            let pushed = push(self.current());
            debug_assert!(pushed, "an empty chunk has room for a leaf");
        }
        Ok(true)
    }

    /// Adds the entries of a leaf of another tree, as many cells as possible by copying their bytes. No entry of the leaf may need an
    /// overflow page in this tree.
    pub(crate) fn push_cells(&mut self, leaf: &Leaf<'_>) -> Result<()> {
        let other = OtherLeaf {
            bytes: leaf.page(),
            usable_bytes: leaf.usable_bytes(),
            is_index: leaf.is_index(),
            is_packed: leaf.is_packed(),
        };
        let (mut next, all) = (0, leaf.entries());
        while next < all {
            if self.waiting.is_none() {
                let chunk = self.open()?;
                let taken = chunk.push_cells(&other, next, all);
                next += taken;
                if taken > 0 && !leaf.is_index() {
                    chunk.set_last_rowid(leaf.entry(next - 1).0);
                }
            }
            if next < all {
                let (rowid, record) = leaf.entry(next);
                match leaf.is_index() {
                    true => self.push_entry(record)?,
                    false => self.push_row(rowid, record)?,
                }
                next += 1;
            }
        }
        Ok(())
    }

    /// If an index entry waits, sends the open chunk to the writer and begins the next chunk with this entry.
    fn place_waiting(&mut self) -> Result<()> {
        if let Some(entry) = self.waiting.take() {
            self.next_of_entries()?;
            self.open()?.push_last_entry(&entry);
        }
        Ok(())
    }

    /// Sends the open chunk of index entries to the writer and opens an empty chunk, because further entries follow.
    fn next_of_entries(&mut self) -> Result<()> {
        self.cancel.check()?;
        self.finish_entries(true)?;
        self.seal()?;
        self.open().map(drop)
    }

    pub(crate) fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.cancel.check()?;
        if !self.worker.keep_bad_rows {
            return Err(bad.error);
        }
        self.bad_rows_bytes += size_of::<BadRow>() + ERROR_BYTES + bad.raw.len();
        self.bad_rows.push(bad);
        if self.bad_rows_bytes >= BAD_ROWS_BYTES { self.send_bad_rows() } else { Ok(()) }
    }

    fn send_bad_rows(&mut self) -> Result<()> {
        self.bad_rows_bytes = 0;
        let rows = std::mem::take(&mut self.bad_rows);
        if rows.is_empty() {
            return Ok(());
        }
        if self.worker.bad_rows_ahead == BAD_ROWS_AHEAD_MAX {
            self.worker.taken.recv().map_err(|_| Error::interrupted())?;
            self.worker.bad_rows_ahead -= 1;
        }
        self.worker.bad_rows_ahead += 1;
        self.send(Message::BadRows { worker: self.worker.index, rows })
    }

    /// Hashes the finished pages of the open chunk, for the checksum of the file, while the pages are in the CPU cache.
    pub(crate) fn hash_finished(&mut self) {
        if let Some((chunk, hashes)) = &mut self.open {
            let page_bytes = chunk.geometry().page_bytes();
            let done = chunk.finished_pages() as usize * page_bytes;
            let pages = &chunk.bytes()[hashes.len() * page_bytes..done];
            hashes.extend(pages.chunks_exact(page_bytes).map(PageHash::of));
        }
    }

    /// Sends the open chunk to the writer. The last leaf of the chunk must be finished.
    pub(crate) fn seal(&mut self) -> Result<()> {
        self.hash_finished();
        match self.open.take() {
            Some((chunk, hashes)) => {
                self.send(Message::Pages(Sealed { worker: self.worker.index, chunk, hashes }))
            }
            None => Ok(()),
        }
    }

    fn send(&mut self, message: Message) -> Result<()> {
        let sent = self.worker.to_writer.send((self.id, self.sequence, message));
        self.sequence += 1;
        sent.map_err(|_| Error::interrupted())
    }
}

/// Notifies the writer if the worker panics while it processes a part. The writer waits for the end of every part, so without the message
/// all threads would wait forever.
impl Drop for Filling<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::target("a worker panicked");
            let _ = self.send(Message::Failed { error, ends: PartEnds::None });
        }
    }
}

/// The chunks into which the encoder writes the rows of a table.
impl Chunks for Filling<'_, '_> {
    fn current(&mut self) -> &mut Chunk {
        &mut self.open.as_mut().expect("a chunk is open while it is filled").0
    }

    fn next(&mut self) -> Result<()> {
        self.cancel.check()?;
        self.current().finish();
        self.seal()?;
        self.open = Some(self.worker.chunk()?);
        Ok(())
    }
}
