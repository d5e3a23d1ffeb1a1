//! One worker: parts in, sealed chunks out.

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

/// Bytes of bad rows that a worker gathers before it sends them to the writer.
const BAD_ROWS_BYTES: usize = 1 << 20;

/// What the error of a bad row takes, roughly: its message, its hint, the name of its file.
const ERROR_BYTES: usize = 500;

/// A worker and its chunks.
pub(crate) struct Worker<'s> {
    pub(crate) index: usize,
    pub(crate) settings: &'s Settings,
    /// Bad rows go to the writer, and do not end the run.
    pub(crate) keep_bad_rows: bool,
    pub(crate) empty: Receiver<(Chunk, Vec<PageHash>)>,
    /// Chunks that it has made so far.
    pub(crate) made: usize,
    pub(crate) ended: Receiver<()>,
    /// Parts whose end the writer has not seen.
    pub(crate) ahead: usize,
    pub(crate) taken: Receiver<()>,
    /// Messages with bad rows that the writer has not seen.
    pub(crate) bad_rows_ahead: usize,
    pub(crate) to_writer: Sender<(PartId, u64, Message)>,
}

impl Worker<'_> {
    /// Waits while too many parts are under way.
    pub(crate) fn may_go_on(&mut self) -> Result<()> {
        if self.ahead == PARTS_AHEAD_MAX {
            self.ended.recv().map_err(|_| Error::interrupted())?;
            self.ahead -= 1;
        }
        self.ahead += 1;
        Ok(())
    }

    /// An empty chunk: a new one as long as the worker has not had its share.
    fn chunk(&mut self) -> Result<(Chunk, Vec<PageHash>)> {
        if self.made < self.settings.chunks_per_worker && self.empty.is_empty() {
            self.made += 1;
            let Settings { geometry, chunk_bytes, .. } = *self.settings;
            let pages = (chunk_bytes / geometry.page_bytes()).max(1) as u32;
            return Ok((Chunk::new(geometry, pages), Vec::new()));
        }
        // Only a writer that has stopped gives nothing back.
        self.empty.recv().map_err(|_| Error::interrupted())
    }
}

/// One part on its way through a worker.
pub(crate) struct Filling<'w, 's> {
    pub(crate) worker: &'w mut Worker<'s>,
    id: PartId,
    /// Messages sent so far.
    sequence: u64,
    open: Option<(Chunk, Vec<PageHash>)>,
    /// The entry of an index that the open chunk has no room for. It begins the next one only if something follows: this part and
    /// the next need a divider between them, which a chunk of a single entry can't give.
    waiting: Option<Vec<u8>>,
    bad_rows: Vec<BadRow>,
    bad_rows_bytes: usize,
    cancel: &'w Cancel,
}

/// The result of a part so far.
#[derive(Default)]
pub(crate) struct Done {
    /// Bytes of input that it stands for.
    pub(crate) input_bytes: u64,
    /// Rows that are on no page yet.
    pub(crate) rows: u64,
}

impl<'w, 's> Filling<'w, 's> {
    pub(crate) fn new(worker: &'w mut Worker<'s>, id: PartId, cancel: &'w Cancel) -> Filling<'w, 's> {
        let (open, waiting, bad_rows) = (None, None, Vec::new());
        Filling { worker, id, sequence: 0, open, waiting, bad_rows, bad_rows_bytes: 0, cancel }
    }

    /// Does the part and reports to the writer how that ended. `work` also says how the part fits others, even if it fails.
    pub(crate) fn finish(
        mut self,
        task: Result<Task>,
        work: impl FnOnce(&mut Filling<'w, 's>, Task) -> (Result<Done>, PartEnds),
    ) -> Result<()> {
        let (done, ends) = match task {
            Ok(task) => work(&mut self, task),
            Err(error) => (Err(error), PartEnds::None),
        };
        // Those before what ended the run are kept, too.
        self.send_bad_rows()?;
        let worker = self.worker.index;
        match done {
            Ok(Done { input_bytes, rows }) => {
                self.seal()?;
                self.send(Message::End { worker, input_bytes, rows, ends })
            }
            Err(error) => {
                self.send(Message::Failed { error, ends })?;
                // The run is over.
                Err(Error::interrupted())
            }
        }
    }

    pub(crate) fn cancelled(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Opens a chunk, unless one is.
    pub(crate) fn open(&mut self) -> Result<&mut Chunk> {
        if self.open.is_none() {
            self.open = Some(self.worker.chunk()?);
        }
        Ok(self.current())
    }

    /// Finishes the last leaf of a table, if any.
    pub(crate) fn finish_leaves(&mut self) {
        if let Some((chunk, _)) = &mut self.open {
            chunk.finish();
        }
    }

    /// Finishes the last leaf of an index, if any; `more` of its entries follow in other parts.
    pub(crate) fn finish_entries(&mut self, more: bool) -> Result<()> {
        if let Some(entry) = self.waiting.take() {
            self.open()?.push_last_entry(&entry);
        }
        if let Some((chunk, _)) = &mut self.open {
            chunk.finish_entries(more);
        }
        Ok(())
    }

    /// Adds a row, given as a whole record.
    #[inline]
    pub(crate) fn push_row(&mut self, rowid: i64, record: &[u8]) -> Result<()> {
        if !self.open()?.push(rowid, record) {
            self.next()?;
            let pushed = self.current().push(rowid, record);
            debug_assert!(pushed, "an empty chunk takes a row of any size");
        }
        Ok(())
    }

    /// Adds an entry of an index.
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

    /// Adds a leaf of another tree as it is, unless the leaf before it is to get more entries; says whether it did.
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

    /// Adds the entries of a leaf of another tree, none of which is too large for a cell of this one.
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

    /// Begins another chunk with the entry that waits.
    fn place_waiting(&mut self) -> Result<()> {
        if let Some(entry) = self.waiting.take() {
            self.next_of_entries()?;
            self.open()?.push_last_entry(&entry);
        }
        Ok(())
    }

    /// Passes a full chunk of entries on and puts an empty one in its place.
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

    /// Hashes pages while they are in the cache.
    pub(crate) fn hash_finished(&mut self) {
        if let Some((chunk, hashes)) = &mut self.open {
            let page_bytes = chunk.geometry().page_bytes();
            let done = chunk.finished_pages() as usize * page_bytes;
            let pages = &chunk.bytes()[hashes.len() * page_bytes..done];
            hashes.extend(pages.chunks_exact(page_bytes).map(PageHash::of));
        }
    }

    /// Sends the open chunk, which its filler has finished, to the writer.
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

/// The writer waits for every part: it must hear of one whose worker panics, or both would wait forever.
impl Drop for Filling<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::target("a worker panicked");
            let _ = self.send(Message::Failed { error, ends: PartEnds::None });
        }
    }
}

/// Table leaves.
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
