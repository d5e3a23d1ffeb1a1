//! Parts in, pages out: workers encode on all cores, one writer puts what they make in order.
//!
//! ```text
//!               parts in order                       chunks in any order            pages in order
//!  sources ──> dispenser (a lock) ──> workers ──────> writer (the calling thread) ──────────> output
//!                                     decode, encode    page numbers, links, interior pages
//!                                        ^                            │
//!                                        └──── empty chunks ──────────┘
//! ```
//!
//! * A worker has chunks of its own, [`CHUNKS_PER_WORKER`] of them, and waits when all are under way. The chunks of the
//!   earliest part are never stuck behind later ones, so somebody can always go on.
//! * What the writer makes of the chunks depends on their order alone. So do errors: the one that comes first in the input
//!   is the one that is reported.
//!
//! Invariant: memory is the workers' chunks and what their sources need, whatever the number of rows.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender};
use sqluice_format::aligned::AlignedBuffer;
use sqluice_format::chunk::Chunk;
use sqluice_format::page::{self, Geometry, PAGE_NUMBER_MAX, PageKind};
use sqluice_format::tree::{AppendPage, Child, TableTree};

use crate::checksum::{Checksum, PageHash};
use crate::encode::{Chunks, Encoder, RowidRange, null_among_numbers, out_of_order};
use crate::error::{Error, Place, Result};
use crate::output::Output;
use crate::progress::{Amount, Cancel, Progress};
use crate::schema::Table;
use crate::source::{Part, Source};

/// Chunks that each worker has: one to fill, one that is being written, one in between.
pub const CHUNKS_PER_WORKER: usize = 3;

/// A table and where its rows come from.
pub(crate) struct Job<'a> {
    pub(crate) table: &'a Table,
    pub(crate) source: Box<dyn Source + 'a>,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) geometry: Geometry,
    pub(crate) workers: usize,
    pub(crate) chunk_bytes: usize,
}

/// A table as it now stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) root_page: u32,
    pub(crate) rows: u64,
    pub(crate) leaf_pages: u64,
    pub(crate) interior_pages: u64,
    pub(crate) overflow_pages: u64,
}

/// The pages of all tables, numbered from 2 on: page 1 is the caller's to write.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) tables: Vec<Written>,
    pub(crate) appender: Appender,
}

/// Encodes all jobs and writes their pages, in the jobs' order.
pub(crate) fn run(
    jobs: Vec<Job<'_>>,
    settings: Settings,
    output: &mut dyn Output,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Pages> {
    let tables: Vec<&Table> = jobs.iter().map(|job| job.table).collect();
    let dispenser =
        Dispenser { jobs: Mutex::new(Dispensed { jobs, job: 0, part: 0 }), stop: AtomicBool::new(false) };
    let (to_writer, from_workers) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        let mut recycle = Vec::new();
        for worker in 0..settings.workers {
            let (give_back, empty) = crossbeam_channel::unbounded();
            recycle.push(give_back);
            let worker = Worker { index: worker, empty, made: 0, settings, to_writer: to_writer.clone() };
            let (dispenser, tables) = (&dispenser, &tables);
            let started = std::thread::Builder::new()
                .name("sqluice-worker".to_owned())
                .spawn_scoped(scope, move || worker.run(dispenser, tables, cancel));
            if let Err(error) = started {
                dispenser.stop.store(true, Ordering::Relaxed);
                return Err(Error::target("cannot start a thread").because(error));
            }
        }
        drop(to_writer);
        let mut writer = Writer::new(&tables, settings.geometry, output, progress);
        let written = writer.write_all(&from_workers, &recycle, cancel);
        dispenser.stop.store(true, Ordering::Relaxed);
        // Workers that wait for an empty chunk get none, and end.
        drop(recycle);
        written?;
        Ok(Pages { tables: writer.written, appender: writer.appender })
    })
}

/// Hands out parts, in order, to whoever asks.
struct Dispenser<'a> {
    jobs: Mutex<Dispensed<'a>>,
    stop: AtomicBool,
}

struct Dispensed<'a> {
    jobs: Vec<Job<'a>>,
    job: usize,
    part: u64,
}

/// Which part of which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PartId {
    /// Counted over all tables.
    part: u64,
    table: usize,
}

impl Dispenser<'_> {
    fn next(&self) -> Option<(PartId, Result<Box<dyn Part>>)> {
        let mut dispensed = self.jobs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            let Dispensed { jobs, job, part } = &mut *dispensed;
            if self.stop.load(Ordering::Relaxed) || *job == jobs.len() {
                return None;
            }
            let id = PartId { part: *part, table: *job };
            match jobs[*job].source.next_part() {
                Ok(None) => *job += 1,
                Ok(Some(next)) => {
                    *part += 1;
                    return Some((id, Ok(next)));
                }
                Err(error) => {
                    *job = jobs.len();
                    return Some((id, Err(error)));
                }
            }
        }
    }
}

/// What a worker tells the writer about a part.
enum Message {
    /// Pages, in order within the part.
    Pages(Sealed),
    /// The part, which begins at that place of the input, is complete.
    End { input_bytes: u64, place: Option<Place>, rowids: Option<RowidRange> },
    /// The part can't be encoded.
    Failed(Error),
}

/// A finished chunk.
struct Sealed {
    worker: usize,
    chunk: Chunk,
    hashes: Vec<PageHash>,
}

struct Worker {
    index: usize,
    empty: Receiver<(Chunk, Vec<PageHash>)>,
    made: usize,
    settings: Settings,
    to_writer: Sender<(PartId, u64, Message)>,
}

impl Worker {
    fn run(mut self, dispenser: &Dispenser<'_>, tables: &[&Table], cancel: &Cancel) {
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
        if self.made < CHUNKS_PER_WORKER && self.empty.is_empty() {
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
        part.decode(&mut |batch| {
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

/// Puts what the workers make in order.
struct Writer<'a> {
    tables: &'a [&'a Table],
    output: &'a mut dyn Output,
    progress: &'a dyn Progress,
    appender: Appender,
    /// Finished tables.
    written: Vec<Written>,
    tree: TableTree,
    current: Written,
    last_rowid: Option<i64>,
}

impl<'a> Writer<'a> {
    fn new(
        tables: &'a [&'a Table],
        geometry: Geometry,
        output: &'a mut dyn Output,
        progress: &'a dyn Progress,
    ) -> Writer<'a> {
        Writer {
            tables,
            output,
            progress,
            appender: Appender::new(geometry),
            written: Vec::new(),
            tree: TableTree::new(geometry),
            current: Written::default(),
            last_rowid: None,
        }
    }

    fn write_all(
        &mut self,
        from_workers: &Receiver<(PartId, u64, Message)>,
        recycle: &[Sender<(Chunk, Vec<PageHash>)>],
        cancel: &Cancel,
    ) -> Result<()> {
        let mut waiting = BTreeMap::new();
        let mut turn = (0, 0);
        for (id, sequence, message) in from_workers {
            cancel.check()?;
            waiting.insert((id.part, sequence), (id.table, message));
            while let Some((table, message)) = waiting.remove(&turn) {
                while self.written.len() < table {
                    self.finish_table()?;
                }
                match message {
                    Message::Pages(Sealed { worker, mut chunk, mut hashes }) => {
                        self.write_chunk(&mut chunk, &mut hashes)?;
                        chunk.clear();
                        hashes.clear();
                        // A worker that needs no more chunks may be gone.
                        let _ = recycle[worker].send((chunk, hashes));
                        turn.1 += 1;
                    }
                    Message::End { input_bytes, place, rowids } => {
                        self.check_order(rowids).map_err(|error| match place {
                            Some(place) => error.at(place),
                            None => error,
                        })?;
                        self.progress.advance(Amount { rows: 0, bytes: input_bytes });
                        turn = (turn.0 + 1, 0);
                    }
                    Message::Failed(error) => return Err(error),
                }
            }
        }
        while self.written.len() < self.tables.len() {
            self.finish_table()?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, chunk: &mut Chunk, hashes: &mut [PageHash]) -> Result<()> {
        let (geometry, page_bytes) = (chunk.geometry(), chunk.geometry().page_bytes());
        let first = self.appender.take_numbers(chunk.page_count())?;
        chunk.relocate(first);
        // A leaf may hold the heads of several chains.
        let mut patched: Vec<usize> = chunk.links().iter().map(|link| link.at / page_bytes).collect();
        patched.sort_unstable();
        patched.dedup();
        for page in patched {
            hashes[page] = PageHash::of(&chunk.bytes()[page * page_bytes..][..page_bytes]);
        }
        for (index, hash) in (0..).zip(&*hashes) {
            self.appender.checksum.add(geometry.nth_page(first, index), *hash);
        }
        self.appender.write_with(first, chunk.bytes(), self.output)?;
        for leaf in chunk.leaves() {
            let page = geometry.nth_page(first, leaf.page);
            self.tree.add_leaf(Child { page, last_rowid: leaf.last_rowid }, &mut self.appender);
        }
        let leaves = chunk.leaves().len() as u64;
        self.current.rows += chunk.rows();
        self.current.leaf_pages += leaves;
        self.current.overflow_pages += u64::from(chunk.page_count()) - leaves;
        self.progress.advance(Amount { rows: chunk.rows(), bytes: 0 });
        Ok(())
    }

    /// The rows of a part must come after those of the part before.
    fn check_order(&mut self, rowids: Option<RowidRange>) -> Result<()> {
        let Some(RowidRange { first, last, first_assumed }) = rowids else { return Ok(()) };
        let table = self.tables[self.written.len()];
        let name = table.rowid_alias.map_or("rowid", |alias| &table.columns[alias].name);
        match self.last_rowid {
            Some(before) if first_assumed && before != first - 1 => {
                return Err(null_among_numbers(name));
            }
            Some(before) if before >= first => return Err(out_of_order(name, before, first)),
            _ => self.last_rowid = Some(last),
        }
        Ok(())
    }

    fn finish_table(&mut self) -> Result<()> {
        let geometry = self.appender.geometry;
        if self.current.leaf_pages == 0 {
            let mut empty = vec![0; geometry.page_bytes()];
            page::write_header(&mut empty, PageKind::LeafTable, 0, geometry.usable_bytes());
            self.current.leaf_pages = 1;
            self.current.root_page = self.appender.append_page(&empty);
        } else {
            let tree = std::mem::replace(&mut self.tree, TableTree::new(geometry));
            self.current.root_page = tree.finish(&mut self.appender);
        }
        self.current.interior_pages =
            std::mem::take(&mut self.appender.appended) - u64::from(self.current.rows == 0);
        self.written.push(std::mem::take(&mut self.current));
        self.last_rowid = None;
        self.appender.check()
    }
}

/// Gives pages their numbers. Single pages wait until many go to the output at once.
#[derive(Debug)]
pub(crate) struct Appender {
    geometry: Geometry,
    next_page: u64,
    /// Pages that have numbers and are not yet written: `waiting_first` and those that follow.
    waiting: AlignedBuffer,
    waiting_first: u32,
    /// Single pages that were appended.
    appended: u64,
    checksum: Checksum,
}

impl AppendPage for Appender {
    fn append_page(&mut self, page: &[u8]) -> u32 {
        // Past the last legal number the page is lost: `check` says so before anything is committed.
        let number = self.take_numbers(1).unwrap_or(PAGE_NUMBER_MAX);
        if self.waiting.bytes().is_empty() {
            self.waiting_first = number;
        }
        self.waiting.extend_from_slice(page);
        self.checksum.add(number, PageHash::of(page));
        self.appended += 1;
        number
    }
}

impl Appender {
    fn new(geometry: Geometry) -> Appender {
        Appender {
            geometry,
            next_page: u64::from(geometry.skip_lock_page(2)),
            waiting: AlignedBuffer::default(),
            waiting_first: 0,
            appended: 0,
            checksum: Checksum::default(),
        }
    }

    /// The first of `count` numbers that follow each other, the lock-byte page left out.
    fn take_numbers(&mut self, count: u32) -> Result<u32> {
        let first = self.next_page;
        let lock_page = u64::from(self.geometry.lock_page());
        self.next_page += u64::from(count);
        if first <= lock_page && lock_page <= self.next_page {
            self.next_page += 1;
        }
        self.check()?;
        Ok(first as u32)
    }

    /// Whether all numbers so far are legal.
    fn check(&self) -> Result<()> {
        if self.next_page - 1 <= u64::from(PAGE_NUMBER_MAX) {
            return Ok(());
        }
        Err(Error::target("the database would have more than 4,294,967,294 pages")
            .hint("choose a larger --page-size"))
    }

    /// Writes the pages that wait, and `pages`, which have the numbers from `first` on and follow them.
    fn write_with(&mut self, first: u32, pages: &[u8], output: &mut dyn Output) -> Result<()> {
        let (geometry, waiting) = (self.geometry, self.waiting.bytes());
        let first = if waiting.is_empty() { first } else { self.waiting_first };
        let bytes = waiting.len() + pages.len();
        // The lock-byte page stays a hole in the file.
        let until_lock_page = geometry
            .lock_page()
            .checked_sub(first)
            .map_or(bytes as u64, |pages| u64::from(pages) * geometry.page_bytes() as u64);
        let cut = bytes.min(usize::try_from(until_lock_page).unwrap_or(bytes));
        let (waiting_before, waiting_after) = waiting.split_at(cut.min(waiting.len()));
        let (before, after) = pages.split_at(cut - waiting_before.len());
        for (at, slices) in
            [(first, [waiting_before, before]), (geometry.lock_page() + 1, [waiting_after, after])]
        {
            if slices.iter().any(|slice| !slice.is_empty()) {
                output.write(geometry.offset(at), &slices)?;
            }
        }
        self.waiting.set_len(0);
        Ok(())
    }

    /// Writes what waits and then page 1, which completes the file. Returns its pages and their checksum.
    pub(crate) fn finish(mut self, page_1: &[u8], output: &mut dyn Output) -> Result<Checksum> {
        self.check()?;
        self.write_with(0, &[], output)?;
        self.waiting.extend_from_slice(page_1);
        self.checksum.add(1, PageHash::of(page_1));
        output.write(0, &[self.waiting.bytes()])?;
        Ok(self.checksum)
    }

    /// Pages in the file, page 1 and the lock-byte page among them.
    pub(crate) fn page_count(&self) -> u32 {
        let last = (self.next_page - 1) as u32;
        // The lock-byte page is only there when something follows it.
        if last == self.geometry.lock_page() { last - 1 } else { last }
    }
}
