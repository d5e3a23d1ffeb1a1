//! One worker: parts in, sealed chunks out.

use crossbeam_channel::{Receiver, Sender};
use sqluice_format::chunk::Chunk;

use super::{Dispenser, Message, PartId, Sealed, Settings};
use crate::batch::Batch;
use crate::checksum::PageHash;
use crate::encode::{Chunks, Encoder, RowidRange};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::schema::Table;
use crate::source::Part;

/// A worker and its chunks.
pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) empty: Receiver<(Chunk, Vec<PageHash>)>,
    /// Chunks that it has made so far.
    pub(super) made: usize,
    pub(super) settings: Settings,
    pub(super) to_writer: Sender<(PartId, u64, Message)>,
}

impl Worker {
    pub(super) fn run(mut self, dispenser: &Dispenser<'_>, tables: &[&Table], cancel: &Cancel) {
        let mut encoder: Option<(usize, Encoder)> = None;
        while let Some((id, part)) = dispenser.next() {
            let encoder = match &mut encoder {
                Some((table, encoder)) if *table == id.table => encoder,
                other => {
                    &mut other.insert((id.table, Encoder::new(tables[id.table], self.settings.geometry))).1
                }
            };
            let mut filling =
                Filling { worker: &mut self, id, sequence: 0, open: None, rowids: None, cancel };
            let encoded = part.and_then(|mut part| {
                filling.encode(&mut *part, encoder)?;
                Ok((part.input_bytes(), part.place()))
            });
            let rowids = filling.rowids;
            let last = match encoded {
                Ok((input_bytes, place)) => Message::End { input_bytes, place, rowids },
                Err(error) => Message::Failed(error),
            };
            if filling.send(last).is_err() {
                return;
            }
        }
    }

    /// An empty chunk: a new one as long as the worker has not had its share.
    fn chunk(&mut self) -> Result<(Chunk, Vec<PageHash>)> {
        if self.made < self.settings.chunks_per_worker && self.empty.is_empty() {
            self.made += 1;
            let Settings { geometry, chunk_bytes, .. } = self.settings;
            let pages = (chunk_bytes / geometry.page_bytes()).max(1) as u32;
            return Ok((Chunk::new(geometry, pages), Vec::new()));
        }
        // Only a writer that has stopped gives nothing back.
        self.empty.recv().map_err(|_| Error::interrupted())
    }
}

/// One part on its way through a worker.
struct Filling<'w> {
    worker: &'w mut Worker,
    id: PartId,
    /// Chunks sent so far.
    sequence: u64,
    open: Option<(Chunk, Vec<PageHash>)>,
    /// Of the rows so far.
    rowids: Option<RowidRange>,
    cancel: &'w Cancel,
}

impl Filling<'_> {
    fn encode(&mut self, part: &mut dyn Part, encoder: &mut Encoder) -> Result<()> {
        let mut next_rowid = part.first_row() as i64 + 1;
        let mut last_rowid = None;
        part.decode(&mut |batch: &Batch<'_>| {
            self.cancel.check()?;
            if self.open.is_none() {
                self.open = Some(self.worker.chunk()?);
            }
            let rowids = encoder.encode(batch, next_rowid, last_rowid, self)?;
            next_rowid += batch.rows as i64;
            last_rowid = Some(rowids.last);
            self.rowids = Some(match self.rowids {
                Some(before) => RowidRange { last: rowids.last, ..before },
                None => rowids,
            });
            self.hash_finished();
            Ok(())
        })?;
        self.seal()
    }

    /// Hashes pages while they are in the cache.
    fn hash_finished(&mut self) {
        if let Some((chunk, hashes)) = &mut self.open {
            let page_bytes = chunk.geometry().page_bytes();
            let done = chunk.finished_pages() as usize * page_bytes;
            let pages = &chunk.bytes()[hashes.len() * page_bytes..done];
            hashes.extend(pages.chunks_exact(page_bytes).map(PageHash::of));
        }
    }

    /// Sends the open chunk to the writer.
    fn seal(&mut self) -> Result<()> {
        if let Some((chunk, _)) = &mut self.open {
            chunk.finish();
        }
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
impl Drop for Filling<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.send(Message::Failed(Error::target("a worker panicked")));
        }
    }
}

impl Chunks for Filling<'_> {
    fn current(&mut self) -> &mut Chunk {
        &mut self.open.as_mut().expect("a chunk is open while a batch is encoded").0
    }

    fn next(&mut self) -> Result<()> {
        self.cancel.check()?;
        self.seal()?;
        self.open = Some(self.worker.chunk()?);
        Ok(())
    }
}
