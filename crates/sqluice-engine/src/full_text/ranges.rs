//! Merges all segments of an index on all cores, range by range of terms.
//!
//! ```text
//!  split keys of all segments, sorted ──> cuts: terms between which all segments have about as many bytes
//!
//!  caller    pages of range 3 ──> queue           range 0: doclists of all terms, in order
//!                                   │                ▲
//!  workers                     range 1, range 2 ─────┘ merged
//! ```
//!
//! Cuts are only hints: any terms will do, as the first terms of the pages tell where a range ends. A range has the pages of each segment
//! on which its terms lie, so a page with terms of two ranges is read for both. The caller reads and writes through SQLite. While it waits
//! for a range, it merges another one.
//!
//! If the pages of a range take too much memory, as those of a term that is in each row, the caller merges them piece by piece.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rusqlite::Statement;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_format::fts5::Detail;
use sqluice_format::fts5::read::{Damage, Fault, Leaf, ReadError, Structure};

use super::join::{Joined, Joiner};
use super::merge::{Merge, Piece};
use super::range::{Bounds, Chunk, Input, MergedRange, Part, RangeFault, RangeMerger};
use super::shadow::Shadows;

/// The bytes of the pages of a range, if the segments are few.
const RANGE_BYTES: usize = if cfg!(test) { 2 << 10 } else { 2 << 20 };

/// The number of pages that a range has of each segment, if the segments are many: with more pages, fewer of them are read for two ranges.
const PAGES_MIN: usize = if cfg!(test) { 1 } else { 6 };

/// The largest number of bytes of the pages of a range: places in them have 32 bits.
const RANGE_BYTES_MAX: usize = 1 << 30;

/// The memory that a range takes while it is merged, as a multiple of its pages: the pages, the result, readers, and the pieces of a group.
const MEMORY_FACTOR: usize = 4;

/// The largest number of split keys that are compared.
const KEYS_MAX: u64 = 1 << 16;

/// The number of doclists between two reports of the progress.
const REPORTED: u64 = 4096;

/// The means of a merge.
pub(super) struct RangeMeans<'m> {
    pub(super) detail: Detail,
    pub(super) page_bytes: usize,
    pub(super) workers: usize,
    pub(super) memory_bytes: usize,
    pub(super) cancel: &'m Cancel,
    pub(super) progress: &'m dyn Progress,
}

/// The sizes of a merge within its memory.
struct Limits {
    /// The number of ranges that are being merged, or wait to be passed on.
    in_work: usize,
    /// The largest number of bytes of the pages of a range.
    chunk: usize,
    /// The number of bytes of pages that a range should have, without the pages that it shares with other ranges.
    wanted: usize,
}

impl Limits {
    fn of(means: &RangeMeans<'_>, inputs: usize) -> Limits {
        // The first and the last page of a segment are of other ranges, too.
        let shared = 2 * inputs * means.page_bytes;
        let share = means.memory_bytes / MEMORY_FACTOR;
        let least = (shared * 5 / 2).max(1);
        // The chunk before the current one is kept, too.
        let most = (share / least).saturating_sub(1);
        let in_work = if means.workers > 1 { (2 * means.workers).min(most).max(1) } else { 1 };
        let chunk = (share / (in_work + 1)).min(RANGE_BYTES_MAX);
        let wanted = RANGE_BYTES.max(PAGES_MIN * inputs * means.page_bytes);
        let wanted = wanted.min(chunk.saturating_sub(shared) / 3 * 2);
        // If the memory is used up by shared pages, all terms are one range.
        Limits { in_work, chunk, wanted: if wanted < shared / 4 { usize::MAX } else { wanted } }
    }
}

/// Hands the doclists of all terms to `to`, in order. Marks of deleted rows are removed.
///
/// # Errors
/// If the index can't be read or is damaged, a thread can't be started, or `means.cancel` is set; or the error of `to`.
pub(super) fn merge_all(
    shadows: &Shadows<'_>,
    structure: &Structure,
    means: &RangeMeans<'_>,
    to: &mut impl Joined,
) -> Result<()> {
    let segments = structure.segments().map(|(_, segment)| segment).filter(|segment| segment.leaves() > 0);
    let inputs: Result<Vec<Input>> = segments
        .map(|segment| Ok(Input { span: *segment, tombstones: shadows.tombstones(segment)? }))
        .collect();
    let inputs = inputs?;
    let Limits { in_work, chunk: limit, wanted } = Limits::of(means, inputs.len());
    let mut reading = Reading::new(shadows, &inputs, limit)?;
    let (jobs, jobs_left) = unbounded();
    let (done, merged) = unbounded();
    let mut work = Work {
        merger: RangeMerger::new(&inputs, means.detail),
        jobs: jobs_left.clone(),
        merged,
        waiting: VecDeque::new(),
        first: 0,
        shadows,
        means,
    };
    std::thread::scope(|scope| {
        // Workers end when the caller drops the sender of jobs.
        let jobs: Sender<Job> = jobs;
        for _ in 1..means.workers {
            let (jobs, done) = (jobs_left.clone(), done.clone());
            let merger = RangeMerger::new(&inputs, means.detail);
            let started = std::thread::Builder::new().name("sqluice-merge".to_owned());
            let started = started.spawn_scoped(scope, move || merge_jobs(merger, &jobs, &done));
            started.map_err(|error| Error::target("cannot start a thread").because(error))?;
        }
        let mut number = 0;
        let cuts = cuts(shadows, &inputs, (wanted / means.page_bytes).max(1) as u64)?;
        for high in cuts.into_iter().map(Some).chain([None]) {
            means.cancel.check()?;
            while work.waiting.len() >= in_work {
                work.pass_on_first(to)?;
            }
            match reading.next_chunk(high)? {
                Read::Chunk(chunk) => {
                    jobs.send(Job { number, chunk }).map_err(|_| Error::interrupted())?;
                    work.waiting.push_back(None);
                    number += 1;
                }
                Read::TooLarge { low, high } => {
                    work.pass_on_all(to)?;
                    reading.merge_pieces(Bounds { low: &low, high: high.as_deref() }, means, to)?;
                }
            }
        }
        work.pass_on_all(to)
    })
}

/// Returns terms between which the segments have about `pages` pages.
fn cuts(shadows: &Shadows<'_>, inputs: &[Input], pages: u64) -> Result<Vec<Vec<u8>>> {
    let all: u64 = inputs.iter().map(|input| u64::from(input.span.leaves())).sum();
    let mut keys: Vec<(Vec<u8>, u64)> = Vec::new();
    if all <= pages {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT term, pgno >> 1 FROM {} WHERE segid = ?1 ORDER BY term", shadows.table("idx"));
    let cannot = shadows.cannot("read");
    let mut query = shadows.connection.prepare(&sql).map_err(&cannot)?;
    for Input { span, .. } in inputs {
        let mut rows = query.query([i64::from(span.id)]).map_err(&cannot)?;
        let mut before = span.first;
        while let Some(row) = rows.next().map_err(&cannot)? {
            let page = row.get::<_, i64>(1).unwrap_or_default();
            let page = u32::try_from(page).unwrap_or_default().clamp(span.first, span.last);
            let distance = u64::from(page.saturating_sub(before));
            if distance > all / KEYS_MAX {
                let key = row.get_ref(0).map_err(&cannot)?.as_bytes().unwrap_or_default();
                keys.push((key.to_vec(), distance));
                before = page;
            }
        }
    }
    keys.sort_unstable();
    let mut cuts: Vec<Vec<u8>> = Vec::new();
    let mut before = 0;
    for (key, distance) in keys {
        // The pages of the distance lie before the key.
        before += distance;
        if before >= pages && !key.is_empty() && cuts.last().is_none_or(|last| *last < key) {
            cuts.push(key);
            before = 0;
        }
    }
    Ok(cuts)
}

/// The pages of all segments, range by range.
struct Reading<'r, 'c> {
    shadows: &'r Shadows<'c>,
    inputs: &'r [Input],
    leaves: Statement<'c>,
    /// The largest number of bytes of a chunk.
    limit: usize,
    /// The end of the range before.
    low: Vec<u8>,
    /// The page of each segment from which its next terms start.
    next: Vec<u32>,
    /// The chunk before, which has some of the next pages.
    before: Option<Arc<Chunk>>,
}

enum Read {
    Chunk(Arc<Chunk>),
    /// The pages of the terms from `low` to `high` have more bytes than a chunk.
    TooLarge {
        low: Vec<u8>,
        high: Option<Vec<u8>>,
    },
}

impl<'r, 'c> Reading<'r, 'c> {
    fn new(shadows: &'r Shadows<'c>, inputs: &'r [Input], limit: usize) -> Result<Reading<'r, 'c>> {
        let data = shadows.table("data");
        let sql = format!("SELECT id, block FROM {data} WHERE id BETWEEN ?1 AND ?2 ORDER BY id");
        let leaves = shadows.connection.prepare(&sql).map_err(shadows.cannot("read"))?;
        let next = inputs.iter().map(|input| input.span.first).collect();
        Ok(Reading { shadows, inputs, leaves, limit, low: Vec::new(), next, before: None })
    }

    /// Reads the pages that have the next terms, up to `high`.
    fn next_chunk(&mut self, high: Option<Vec<u8>>) -> Result<Read> {
        let low = std::mem::replace(&mut self.low, high.clone().unwrap_or_default());
        let before = self.before.take();
        let mut chunk = Chunk { low, high, ..Chunk::default() };
        if let Some(before) = &before {
            chunk.bytes.reserve(before.bytes.len() + before.bytes.len() / 8);
        }
        let mut next = self.next.clone();
        for (number, next) in next.iter_mut().enumerate() {
            if *next > self.inputs[number].span.last {
                continue;
            }
            let of_before = before.as_deref().and_then(|before| {
                let part = before.parts.iter().find(|part| part.input == number);
                part.map(|part| (before, part))
            });
            if !self.read_part(&mut chunk, number, next, of_before)? {
                let Chunk { low, high, .. } = chunk;
                return Ok(Read::TooLarge { low, high });
            }
        }
        let chunk = Arc::new(chunk);
        (self.next, self.before) = (next, Some(Arc::clone(&chunk)));
        Ok(Read::Chunk(chunk))
    }

    /// Adds the pages of a segment to a chunk. `next` is the first one, and becomes that of the next chunk. Returns `false` if the chunk has
    /// too many bytes.
    fn read_part(
        &mut self,
        chunk: &mut Chunk,
        input: usize,
        next: &mut u32,
        of_before: Option<(&Chunk, &Part)>,
    ) -> Result<bool> {
        let Reading { shadows, inputs, leaves, limit, .. } = self;
        let span = &inputs[input].span;
        let first_page = *next;
        let first_number = chunk.starts.len();
        let mut page = first_page;
        let mut is_at_end = false;
        let mut take = |chunk: &mut Chunk, page: u32, block: &[u8]| -> std::result::Result<bool, Damage> {
            let first_term = Leaf::parse(span.leaf_id(page), block)?.first_term()?;
            chunk.push(block);
            if let (Some(term), Some(high)) = (first_term, &chunk.high) {
                // Terms of the next range may follow on the last page that begins with one of this range.
                match term < &high[..] {
                    true => *next = page,
                    false => return Ok(true),
                }
            }
            Ok(false)
        };
        let damaged = |damage| shadows.damaged(damage);
        if let Some((before, part)) = of_before {
            while let Some(number) = part.number(page).filter(|_| !is_at_end) {
                is_at_end = take(chunk, page, &before.bytes[before.place(number)]).map_err(damaged)?;
                page += 1;
            }
        }
        if !is_at_end && page <= span.last {
            let cannot = shadows.cannot("read");
            let range = [span.leaf_id(page), span.leaf_id(span.last)];
            let mut rows = leaves.query(range).map_err(&cannot)?;
            while !is_at_end && page <= span.last {
                let id = span.leaf_id(page);
                let missing = || damaged(Damage { row: id, offset: 0, fault: Fault::Missing });
                let row = rows.next().map_err(&cannot)?.ok_or_else(missing)?;
                if row.get::<_, i64>(0).map_err(&cannot)? != id {
                    return Err(missing());
                }
                let block = row.get_ref(1).map_err(&cannot)?.as_bytes().unwrap_or_default();
                is_at_end = take(chunk, page, block).map_err(damaged)?;
                page += 1;
                if chunk.bytes.len() > *limit {
                    return Ok(false);
                }
            }
        }
        let pages = first_number..chunk.starts.len();
        // The next range begins on the last page that begins with a term of this range, unless all terms of the page are of this range.
        let last = *next;
        if !is_at_end || page - last > 2 {
            let mut term = Vec::new();
            let number = first_number + (last - first_page) as usize;
            let leaf = Leaf::parse(span.leaf_id(last), &chunk.bytes[chunk.place(number)]).map_err(damaged)?;
            leaf.last_term(&mut term).map_err(damaged)?;
            if chunk.high.as_ref().is_none_or(|high| term < *high) {
                *next = if is_at_end { page - 1 } else { page };
            }
        }
        chunk.parts.push(Part { input, first_page, pages });
        Ok(true)
    }

    /// Merges the terms of the range whose pages are too many for a chunk.
    fn merge_pieces(
        &mut self,
        bounds: Bounds<'_>,
        means: &RangeMeans<'_>,
        to: &mut impl Joined,
    ) -> Result<()> {
        let shadows = self.shadows;
        let failed = |error| match error {
            ReadError::Stopped(error) => shadows.cannot("read")(error),
            ReadError::Damaged(damage) => shadows.damaged(damage),
        };
        let mut blocks = shadows.blocks()?;
        let starts = self.inputs.iter().zip(self.next.iter().copied());
        let mut merge = Merge::new(starts, means.detail, bounds, &mut blocks).map_err(failed)?;
        let mut joiner = Joiner::new(means.detail, true);
        let mut doclists = 0;
        while let Some(Piece { term, age, doclist }) = merge.next(&mut blocks).map_err(failed)? {
            joiner.push(term, age, &doclist, to)?;
            doclists += 1;
            if doclists % REPORTED == 0 {
                means.cancel.check()?;
                means.progress.advance(Amount { rows: REPORTED, bytes: 0 });
            }
        }
        joiner.finish(to)?;
        self.next = merge.next_pages().collect();
        Ok(())
    }
}

/// A range to merge.
struct Job {
    number: usize,
    chunk: Arc<Chunk>,
}

/// The end of a job: its number, and its result or the panic of the worker.
type Done = (usize, std::result::Result<std::result::Result<MergedRange, RangeFault>, Box<dyn Any + Send>>);

fn merge_job(merger: &mut RangeMerger<'_>, job: &Job) -> Done {
    (job.number, catch_unwind(AssertUnwindSafe(|| merger.merge(&job.chunk))))
}

/// Merges ranges until there are no more. The caller hears of a panic, and does not wait for this range.
fn merge_jobs(mut merger: RangeMerger<'_>, jobs: &Receiver<Job>, done: &Sender<Done>) {
    jobs.iter().try_for_each(|job| done.send(merge_job(&mut merger, &job))).unwrap_or_default();
}

/// The ranges that are being merged.
struct Work<'w, 'c> {
    merger: RangeMerger<'w>,
    jobs: Receiver<Job>,
    merged: Receiver<Done>,
    /// The ranges that were not passed on, from number `first` on.
    waiting: VecDeque<Option<MergedRange>>,
    first: usize,
    shadows: &'w Shadows<'c>,
    means: &'w RangeMeans<'w>,
}

impl Work<'_, '_> {
    fn pass_on_all(&mut self, to: &mut impl Joined) -> Result<()> {
        while !self.waiting.is_empty() {
            self.pass_on_first(to)?;
        }
        Ok(())
    }

    /// Passes the doclists of the first range on. Meanwhile, the caller merges ranges that no worker has begun.
    fn pass_on_first(&mut self, to: &mut impl Joined) -> Result<()> {
        while let Some(None) = self.waiting.front() {
            let (number, merged) = match self.merged.try_recv() {
                Ok(done) => done,
                Err(_) => match self.jobs.try_recv() {
                    Ok(job) => merge_job(&mut self.merger, &job),
                    Err(_) => self.merged.recv().map_err(|_| Error::interrupted())?,
                },
            };
            let merged =
                merged.unwrap_or_else(|panic| resume_unwind(panic)).map_err(|fault| match fault {
                    RangeFault::Damaged(damage) => self.shadows.damaged(damage),
                    RangeFault::Malformed => to.malformed(),
                })?;
            self.waiting[number - self.first] = Some(merged);
        }
        let Some(merged) = self.waiting.pop_front().flatten() else { return Ok(()) };
        self.first += 1;
        self.means.progress.advance(Amount { rows: merged.pieces, bytes: 0 });
        self.means.cancel.check()?;
        merged.pass_on(to)
    }
}
