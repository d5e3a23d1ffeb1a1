//! One worker: parts in, sealed chunks out.

use crossbeam_channel::{Receiver, Sender};
use sqluice_format::chunk::Chunk;

use super::{BAD_ROWS_AHEAD_MAX, Dispenser, Message, PARTS_AHEAD_MAX, PartId, Sealed, Settings};
use crate::batch::Batch;
use crate::checksum::PageHash;
use crate::encode::{Chunks, Conversions, Encoder, LastRowid, RowidRange};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::schema::Table;
use crate::source::{BadRow, Part, Refused, Sink};

/// Bytes of bad rows that a worker gathers before it tells the writer.
const BAD_ROWS_BYTES: usize = 1 << 20;

/// What the error of a bad row takes, roughly: its message, its hint, the name of its file.
const ERROR_BYTES: usize = 500;

/// A worker and its chunks.
pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) settings: Settings,
    /// Bad rows go to the writer, and do not end the run.
    pub(super) keep_bad_rows: bool,
    pub(super) empty: Receiver<(Chunk, Vec<PageHash>)>,
    /// Chunks that it has made so far.
    pub(super) made: usize,
    pub(super) ended: Receiver<()>,
    /// Parts whose end the writer has not seen.
    pub(super) ahead: usize,
    pub(super) told: Receiver<()>,
    /// Messages with bad rows that the writer has not seen.
    pub(super) bad_rows_ahead: usize,
    pub(super) to_writer: Sender<(PartId, u64, Message)>,
}

impl Worker {
    pub(super) fn run(
        mut self,
        dispenser: &Dispenser<'_>,
        tables: &[(&Table, Conversions)],
        cancel: &Cancel,
    ) {
        let mut encoder: Option<(usize, Encoder)> = None;
        while self.may_go_on().is_ok()
            && let Some((id, part)) = dispenser.next()
        {
            let encoder = match &mut encoder {
                Some((table, encoder)) if *table == id.table => encoder,
                other => {
                    let (table, conversions) = tables[id.table];
                    let new = Encoder::new(table, self.settings.geometry, conversions);
                    &mut other.insert((id.table, new)).1
                }
            };
            let filling = Filling::new(&mut self, id, cancel);
            if filling.encode(part, encoder).is_err() {
                return;
            }
        }
    }

    /// Waits while too many parts are under way.
    fn may_go_on(&mut self) -> Result<()> {
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
    /// Messages sent so far.
    sequence: u64,
    open: Option<(Chunk, Vec<PageHash>)>,
    /// Of the rows so far.
    rowids: Option<RowidRange>,
    bad_rows: Vec<BadRow>,
    bad_rows_bytes: usize,
    cancel: &'w Cancel,
}

/// Takes the batches of a part.
struct Encoding<'f, 'w> {
    filling: &'f mut Filling<'w>,
    encoder: &'f mut Encoder,
    next_rowid: i64,
}

impl Sink for Encoding<'_, '_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let Encoding { filling, encoder, next_rowid } = self;
        filling.cancel.check()?;
        if filling.open.is_none() {
            filling.open = Some(filling.worker.chunk()?);
        }
        let last: Option<LastRowid> = filling.rowids.map(|rowids| rowids.last);
        let rowids = encoder.encode(batch, *next_rowid, last, *filling)?;
        *next_rowid += batch.rows as i64;
        filling.rowids = Some(match filling.rowids {
            Some(before) => RowidRange { last: rowids.last, ..before },
            None => rowids,
        });
        filling.hash_finished();
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.next_rowid += 1;
        self.filling.bad_row(bad)
    }
}

impl<'w> Filling<'w> {
    fn new(worker: &'w mut Worker, id: PartId, cancel: &'w Cancel) -> Filling<'w> {
        let bad_rows = Vec::new();
        Filling { worker, id, sequence: 0, open: None, rowids: None, bad_rows, bad_rows_bytes: 0, cancel }
    }

    /// Encodes the part and tells the writer how that ended.
    fn encode(mut self, part: Result<Box<dyn Part>>, encoder: &mut Encoder) -> Result<()> {
        let mut place = None;
        let encoded = part.and_then(|mut part| {
            place = part.place();
            let next_rowid = part.first_row() as i64 + 1;
            let decoded = part.decode(&mut Encoding { filling: &mut self, encoder, next_rowid });
            // Those before what ended the run are kept, too.
            self.send_bad_rows()?;
            decoded?;
            self.seal()?;
            Ok(part.input_bytes())
        });
        let (worker, rowids) = (self.worker.index, self.rowids);
        match encoded {
            Ok(input_bytes) => self.send(Message::End { worker, input_bytes, place, rowids }),
            Err(error) => {
                self.send(Message::Failed { error, place, rowids })?;
                // The run is over.
                Err(Error::interrupted())
            }
        }
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
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
            self.worker.told.recv().map_err(|_| Error::interrupted())?;
            self.worker.bad_rows_ahead -= 1;
        }
        self.worker.bad_rows_ahead += 1;
        self.send(Message::BadRows { worker: self.worker.index, rows })
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
            let _ = self.send(Message::Failed {
                error: Error::target("a worker panicked"),
                place: None,
                rowids: None,
            });
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
