//! One pass of workers over parts: of sources, or of what is sorted.
//!
//! Memory is the workers' chunks and what their parts need, whatever their number.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Sender;
use sqluice_format::chunk::Chunk;

use super::appender::Appender;
use super::merge::{Ends, MergeTree};
use super::rows::RowsTree;
use super::worker::Worker;
use super::writer::Writer;
use super::{Settings, WrittenTree};
use crate::checksum::PageHash;
use crate::encode::RowidRange;
use crate::error::{Error, Place, Result};
use crate::output::Output;
use crate::progress::{Cancel, Progress};
use crate::reject::RejectFile;
use crate::source::{BadRow, Part, Source};

/// Parts of each worker that the writer has not seen the end of. Chunks keep a worker from running ahead, but a part may
/// need none.
pub(super) const PARTS_AHEAD_MAX: usize = 8;

/// Messages with bad rows of each worker that the writer has not seen: in a part of nothing else, they would be many times
/// larger than the part.
pub(super) const BAD_ROWS_AHEAD_MAX: usize = 3;

/// What becomes of the parts.
pub(super) enum Trees<'a> {
    /// Rows of tables, as they come from their sources.
    Rows(Vec<RowsTree<'a>>),
    /// What has been sorted.
    Merge(Vec<MergeTree<'a>>),
}

/// The B-trees that a pass has made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Made {
    pub(super) tree: WrittenTree,
    pub(super) rejected: u64,
    pub(super) largest_rowid: Option<i64>,
}

/// Where pages and bad rows go, and who watches.
pub(super) struct Surroundings<'a> {
    pub(super) output: &'a mut dyn Output,
    pub(super) rejects: Option<&'a mut RejectFile>,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a Cancel,
}

/// Makes the trees. `sources` has those of the rows, if that is what they are made of.
pub(super) fn run(
    trees: &Trees<'_>,
    sources: Vec<Box<dyn Source + '_>>,
    settings: &Settings,
    appender: &mut Appender,
    around: &mut Surroundings<'_>,
) -> Result<Vec<Made>> {
    let keep_bad_rows = around.rejects.is_some();
    let parts = match trees {
        Trees::Rows(_) => Parts::Sources(sources),
        Trees::Merge(trees) => Parts::Ranges(trees.iter().map(MergeTree::parts).collect()),
    };
    let dispenser = Dispenser {
        parts: Mutex::new(Dispensed { parts, tree: 0, of_tree: 0, part: 0 }),
        stop: AtomicBool::new(false),
    };
    let (to_writer, from_workers) = crossbeam_channel::unbounded();
    let cancel = around.cancel;
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
            let dispenser = &dispenser;
            let started = std::thread::Builder::new()
                .name("sqluice-worker".to_owned())
                .spawn_scoped(scope, move || worker.run(dispenser, trees, cancel));
            if let Err(error) = started {
                dispenser.stop.store(true, Ordering::Relaxed);
                return Err(Error::target("cannot start a thread").because(error));
            }
        }
        drop(to_writer);
        let writer = Writer::new(trees, appender, around);
        let written = writer.write_all(&from_workers, &returns);
        dispenser.stop.store(true, Ordering::Relaxed);
        if written.is_err() {
            cancel.cancel();
        }
        // Workers that wait for something get nothing, and end.
        drop(returns);
        written
    })
}

/// What is to be done, cut into parts.
enum Parts<'a> {
    Sources(Vec<Box<dyn Source + 'a>>),
    /// So many of each tree.
    Ranges(Vec<usize>),
}

/// Hands out parts, in order, to whoever asks.
pub(super) struct Dispenser<'a> {
    parts: Mutex<Dispensed<'a>>,
    stop: AtomicBool,
}

struct Dispensed<'a> {
    parts: Parts<'a>,
    tree: usize,
    /// Parts of that tree so far.
    of_tree: usize,
    part: u64,
}

/// Which part of which tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartId {
    /// Counted over all trees.
    pub(super) part: u64,
    pub(super) tree: usize,
}

/// What a worker does next.
pub(super) enum Task {
    Decode(Box<dyn Part>),
    /// That part of what is sorted.
    Merge(usize),
}

impl Dispenser<'_> {
    /// Whether the run has ended before its parts.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn next(&self) -> Option<(PartId, Result<Task>)> {
        let mut dispensed = self.parts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Dispensed { parts, tree, of_tree, part } = &mut *dispensed;
        while !self.is_stopped() {
            let next = match parts {
                Parts::Sources(sources) => {
                    sources.get_mut(*tree)?.next_part().map(|part| part.map(Task::Decode))
                }
                Parts::Ranges(ranges) => {
                    Ok((*of_tree < *ranges.get(*tree)?).then_some(Task::Merge(*of_tree)))
                }
            };
            let id = PartId { part: *part, tree: *tree };
            match next {
                Ok(None) => (*tree, *of_tree) = (*tree + 1, 0),
                Ok(Some(task)) => {
                    *part += 1;
                    *of_tree += 1;
                    return Some((id, Ok(task)));
                }
                Err(error) => {
                    *tree = usize::MAX;
                    return Some((id, Err(error)));
                }
            }
        }
        None
    }
}

/// What a worker tells the writer about a part.
pub(super) enum Message {
    /// Pages, in order within the part.
    Pages(Sealed),
    /// Rows for the reject file, in order within the part.
    BadRows { worker: usize, rows: Vec<BadRow> },
    /// The part is complete.
    End { worker: usize, input_bytes: u64, rows: u64, edges: Edges },
    /// The part can't be finished.
    Failed { error: Error, edges: Edges },
}

/// How a part must fit the one before it.
#[derive(Default)]
pub(super) enum Edges {
    /// Anything fits.
    #[default]
    None,
    /// Rows with these rowids, of a part that begins at that place of the input.
    Rowids { rowids: RowidRange, place: Option<Place> },
    /// Sorted items.
    Sorted(Box<Ends>),
}

/// What a worker gets back from the writer.
pub(super) struct Returns {
    /// Empty chunks.
    pub(super) chunks: Sender<(Chunk, Vec<PageHash>)>,
    /// Ends of parts.
    pub(super) parts: Sender<()>,
    /// Messages with bad rows.
    pub(super) bad_rows: Sender<()>,
}

/// A finished chunk.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) worker: usize,
    pub(super) chunk: Chunk,
    pub(super) hashes: Vec<PageHash>,
}
