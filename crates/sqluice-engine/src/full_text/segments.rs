//! Reads the doclists of existing segments into the sorter, on all cores.
//!
//! ```text
//!  caller   rows of t_data, in the order of ids ──> chunks: the pages of a segment from one that starts a term to the next
//!             │ a queue
//!  workers  terms, doclists of up to 64 KiB ──> sorter
//! ```

use std::convert::Infallible;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_format::fts5::read::{
    Advanced, Damage, Leaf, Pages, ReadError, SegmentReader, SegmentSpan, Tombstones,
};
use sqluice_format::fts5::{Detail, Doclist, EntryList};

use super::range::filter;
use super::shadow::{Shadows, damaged};
use super::{Collector, item};
use crate::sort::Buffer;

/// The largest size of a chunk in bytes.
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// The smallest size of a chunk in bytes: some pages.
const CHUNK_BYTES_MIN: usize = 32 << 10;

/// The largest number of bytes from which a doclist is given to the sorter in several items.
const DOCLIST_BYTES_MAX: usize = 64 << 10;

/// The smallest number of bytes from which a doclist is given to the sorter in several items.
const DOCLIST_BYTES_MIN: usize = 1 << 10;

/// Consecutive pages of a segment.
struct Chunk {
    segment: u16,
    /// The position of the segment, from the newest one on.
    number: usize,
    first_page: u32,
    /// The terms that start on pages up to this one are those of the chunk. Another page may follow, where the last doclist ends.
    last_start: u32,
    /// `true` for the first pages of the segment.
    is_start: bool,
    pages: Vec<Vec<u8>>,
    tombstones: Arc<Tombstones>,
}

impl Pages for &Chunk {
    type Error = Infallible;

    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> std::result::Result<bool, Infallible> {
        let number = (id & ((1 << 31) - 1)) - i64::from(self.first_page);
        let page = usize::try_from(number).ok().and_then(|number| self.pages.get(number));
        block.clear();
        page.inspect(|page| block.extend_from_slice(page));
        Ok(page.is_some())
    }
}

/// Reads segments, the newest first, into the sorter of the collector. The pages take `memory_bytes` bytes of memory.
///
/// # Errors
/// If a segment can't be read or is damaged, temporary space runs out, a thread can't be started, or `cancel` is set.
pub(super) fn collect(
    shadows: &Shadows<'_>,
    segments: &[SegmentSpan],
    collector: &Collector<'_>,
    (workers, memory_bytes): (usize, usize),
    (cancel, progress): (&Cancel, &dyn Progress),
) -> Result<()> {
    let chunk_bytes = (memory_bytes / (2 * workers + 1)).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
    // While segments are joined, an item of each may wait for rows of the others.
    let doclist_bytes =
        (memory_bytes / (2 * segments.len()).max(1)).clamp(DOCLIST_BYTES_MIN, DOCLIST_BYTES_MAX);
    let table = (&*shadows.name, shadows.has_content);
    let (sender, receiver) = bounded::<Chunk>(workers);
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..workers.max(1) {
            let receiver = receiver.clone();
            let work = move || take_all(&receiver, collector, (table, doclist_bytes));
            let started = std::thread::Builder::new().name("sqluice-segments".to_owned());
            let started = started.spawn_scoped(scope, work);
            threads.push(started.map_err(|error| Error::target("cannot start a thread").because(error))?);
        }
        // Workers that have failed receive no more.
        drop(receiver);
        let sent = send_all(shadows, (segments, chunk_bytes), &sender, cancel, progress);
        drop(sender);
        let taken: Result<Vec<()>> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        taken.and(sent)
    })
}

/// Sends the pages of all segments. If all workers have failed, their error is that of the run.
fn send_all(
    shadows: &Shadows<'_>,
    (segments, chunk_bytes): (&[SegmentSpan], usize),
    sender: &Sender<Chunk>,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<()> {
    for (number, segment) in segments.iter().enumerate() {
        let tombstones = Arc::new(shadows.tombstones(segment)?);
        if segment.leaves() == 0 {
            continue;
        }
        let new_chunk = |first_page: u32, pages: Vec<Vec<u8>>| Chunk {
            segment: segment.id,
            number,
            first_page,
            last_start: u32::MAX,
            is_start: first_page == segment.first,
            pages,
            tombstones: Arc::clone(&tombstones),
        };
        let mut chunk = new_chunk(segment.first, Vec::new());
        let mut bytes = 0;
        shadows.each_leaf(segment, |page, id, block| {
            cancel.check()?;
            let leaf = Leaf::parse(id, block).map_err(|damage| shadows.damaged(damage))?;
            if bytes >= chunk_bytes && leaf.has_term() {
                let mut full = std::mem::replace(&mut chunk, new_chunk(page, Vec::new()));
                full.last_start = page - 1;
                full.pages.push(block.to_vec());
                bytes = 0;
                progress.advance(Amount { rows: 0, bytes: chunk_bytes as u64 });
                sender.send(full).map_err(|_| Error::interrupted())?;
            }
            bytes += block.len();
            chunk.pages.push(block.to_vec());
            Ok(())
        })?;
        sender.send(chunk).map_err(|_| Error::interrupted())?;
    }
    Ok(())
}

/// Pushes the doclists of all chunks that are received.
fn take_all(
    receiver: &Receiver<Chunk>,
    collector: &Collector<'_>,
    (table, doclist_bytes): ((&str, bool), usize),
) -> Result<()> {
    let mut buffer = collector.doclists.buffer();
    let mut list = List { entries: EntryList::default(), has_marks: false, doclist_bytes };
    while let Ok(chunk) = receiver.recv() {
        take(&chunk, collector.index.detail, &mut list, &mut buffer, |found| damaged(table, found))?;
    }
    buffer.flush()
}

/// The doclist that is being read.
struct List {
    entries: EntryList,
    has_marks: bool,
    /// The number of bytes from which the doclist is given to the sorter.
    doclist_bytes: usize,
}

impl List {
    fn push_to(&mut self, buffer: &mut Buffer<'_>, term: &[u8], number: usize) -> Result<()> {
        if let Some(doclist) = self.entries.doclist() {
            let doclist: Doclist<'_> = doclist;
            item::push(buffer, term, item::age(number, self.has_marks), &doclist)?;
        }
        self.entries.clear();
        self.has_marks = false;
        Ok(())
    }
}

/// Pushes the doclists of a chunk.
fn take(
    chunk: &Chunk,
    detail: Detail,
    list: &mut List,
    buffer: &mut Buffer<'_>,
    failed: impl Fn(Damage) -> Error,
) -> Result<()> {
    let last = chunk.first_page + chunk.pages.len() as u32 - 1;
    let span = SegmentSpan { id: chunk.segment, first: chunk.first_page, last, ..SegmentSpan::default() };
    let mut reader = match chunk.is_start {
        true => SegmentReader::new(&span, detail),
        false => SegmentReader::of_pages(span.id, (span.first, span.last), detail),
    };
    let mut pages = chunk;
    let (mut term, mut left) = (Vec::new(), EntryList::default());
    loop {
        let advanced = reader.advance(&mut pages).map_err(|error| match error {
            ReadError::Damaged(damage) => failed(damage),
            ReadError::Stopped(never) => match never {},
        })?;
        match advanced {
            None => break,
            Some(Advanced::Term) => {
                list.push_to(buffer, &term, chunk.number)?;
                term.clear();
                term.extend_from_slice(reader.term());
                if reader.page() > chunk.last_start {
                    break;
                }
            }
            Some(Advanced::Rows) => {
                let rows = reader.rows();
                let mut doclist = Some(rows.doclist);
                if !chunk.tombstones.is_empty() {
                    filter(&rows, &chunk.tombstones, detail, &mut left);
                    doclist = left.doclist();
                }
                if let Some(doclist) = doclist {
                    list.entries.push_doclist(&doclist);
                    list.has_marks |= rows.has_marks;
                }
                if list.entries.bytes() >= list.doclist_bytes {
                    list.push_to(buffer, &term, chunk.number)?;
                }
            }
        }
    }
    list.push_to(buffer, &term, chunk.number)
}
