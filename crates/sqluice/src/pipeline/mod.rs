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
//! * A worker has chunks of its own and waits when all are under way. The chunks of the earliest part are never stuck
//!   behind later ones, so somebody can always go on.
//! * The writer takes all chunks whose turn it is and writes them in one system call: on a machine whose cores are busy it
//!   is woken late, and the disk would be idle as often as there are calls.
//! * What the writer makes of the chunks depends on their order alone. So do errors: the one that comes first in the input
//!   is the one that is reported.
//!
//! Invariant: memory is the workers' chunks and what their sources need, whatever the number of rows.

mod appender;
mod worker;
mod writer;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sqluice_format::chunk::Chunk;
use sqluice_format::page::Geometry;

pub(crate) use appender::Appender;
use crossbeam_channel::Sender;
use worker::Worker;
use writer::Writer;

use crate::checksum::PageHash;
use crate::encode::{Conversions, RowidRange};
use crate::error::{Error, Place, Result};
use crate::output::Output;
use crate::progress::{Cancel, Progress};
use crate::reject::RejectFile;
use crate::schema::Table;
use crate::source::{BadRow, Part, Source};

/// Chunks that each worker has at least: one to fill, one that is being written, one in between.
pub const CHUNKS_PER_WORKER_MIN: usize = 3;

/// Chunks that each worker has at most: more would not make the disk any busier.
pub const CHUNKS_PER_WORKER_MAX: usize = 6;

/// Parts of each worker that the writer has not seen the end of. Chunks keep a worker from running ahead, but a part may
/// need none.
const PARTS_AHEAD_MAX: usize = 8;

/// Messages with bad rows of each worker that the writer has not seen: in a part of nothing else, they would be many times
/// larger than the part.
const BAD_ROWS_AHEAD_MAX: usize = 3;

/// A table and where its rows come from.
pub(crate) struct Job<'a> {
    pub(crate) table: &'a Table,
    pub(crate) conversions: Conversions,
    pub(crate) source: Box<dyn Source + 'a>,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) geometry: Geometry,
    pub(crate) workers: usize,
    pub(crate) chunk_bytes: usize,
    pub(crate) chunks_per_worker: usize,
}

/// A table as it now stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) root_page: u32,
    pub(crate) rows: u64,
    /// Rows that went to the reject file.
    pub(crate) rejected: u64,
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

/// Encodes all jobs and writes their pages, in the jobs' order. The first bad row ends the run, unless there is a file for
/// such rows. `cancel` is set when the run fails: who waits for a pipe waits no longer.
pub(crate) fn run(
    jobs: Vec<Job<'_>>,
    settings: Settings,
    output: &mut dyn Output,
    rejects: Option<&mut RejectFile>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Pages> {
    let tables: Vec<(&Table, Conversions)> = jobs.iter().map(|job| (job.table, job.conversions)).collect();
    let keep_bad_rows = rejects.is_some();
    let dispenser =
        Dispenser { jobs: Mutex::new(Dispensed { jobs, job: 0, part: 0 }), stop: AtomicBool::new(false) };
    let (to_writer, from_workers) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        let mut returns = Vec::new();
        for index in 0..settings.workers {
            let (chunks, empty) = crossbeam_channel::unbounded();
            let (parts, ended) = crossbeam_channel::unbounded();
            let (bad_rows, told) = crossbeam_channel::unbounded();
            returns.push(Returns { chunks, parts, bad_rows });
            let to_writer = to_writer.clone();
            let worker = Worker {
                index,
                settings,
                keep_bad_rows,
                empty,
                made: 0,
                ended,
                ahead: 0,
                told,
                bad_rows_ahead: 0,
                to_writer,
            };
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
        let mut writer = Writer::new(&tables, settings.geometry, output, rejects, progress);
        let written = writer.write_all(&from_workers, &returns, cancel);
        dispenser.stop.store(true, Ordering::Relaxed);
        if written.is_err() {
            cancel.cancel();
        }
        // Workers that wait for something get nothing, and end.
        drop(returns);
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
    /// Rows for the reject file, in order within the part.
    BadRows { worker: usize, rows: Vec<BadRow> },
    /// The part, which begins at that place of the input, is complete.
    End { worker: usize, input_bytes: u64, place: Option<Place>, rowids: Option<RowidRange> },
    /// The part, which begins at that place of the input, can't be encoded behind the rows that have these rowids.
    Failed { error: Error, place: Option<Place>, rowids: Option<RowidRange> },
}

/// What a worker gets back from the writer.
struct Returns {
    /// Empty chunks.
    chunks: Sender<(Chunk, Vec<PageHash>)>,
    /// Ends of parts.
    parts: Sender<()>,
    /// Messages with bad rows.
    bad_rows: Sender<()>,
}

/// A finished chunk.
#[derive(Debug)]
struct Sealed {
    worker: usize,
    chunk: Chunk,
    hashes: Vec<PageHash>,
}
