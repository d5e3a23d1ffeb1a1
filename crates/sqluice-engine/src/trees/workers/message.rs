//! Messages between the workers and the writer of a pass.

use crossbeam_channel::Sender;
use sqluice_core::checksum::PageHash;
use sqluice_core::error::Error;
use sqluice_core::source::{BadRow, Part};
use sqluice_format::chunk::Chunk;

use crate::trees::workers::part_ends::PartEnds;

/// The largest number of parts of each worker whose end the writer has not seen. The number of chunks limits the lead of a worker, but a
/// part may need no chunk.
pub(crate) const PARTS_AHEAD_MAX: usize = 8;

/// The largest number of messages with bad rows of each worker that the writer has not seen. If all rows of a part are bad, the messages
/// are many times larger than the part.
pub(crate) const BAD_ROWS_AHEAD_MAX: usize = 3;

/// A part of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartId {
    /// The number of the part, counted over all trees.
    pub(crate) part: u64,
    pub(crate) tree: usize,
}

/// The next task of a worker.
pub(crate) enum Task {
    Decode(Box<dyn Part>),
    /// The part with this number of the tree.
    Part(usize),
}

/// A message of a worker to the writer about a part.
pub(crate) enum Message {
    /// Pages, in order within the part.
    Pages(Sealed),
    /// Rows for the reject file, in order within the part.
    BadRows { worker: usize, rows: Vec<BadRow> },
    /// The part is complete.
    End { worker: usize, input_bytes: u64, rows: u64, ends: PartEnds },
    /// The part can't be finished.
    Failed { error: Error, ends: PartEnds },
}

/// The channels from the writer back to a worker.
pub(crate) struct Returns {
    /// Empty chunks for the worker to fill again.
    pub(crate) chunks: Sender<(Chunk, Vec<PageHash>)>,
    /// One `()` for each part whose end the writer has seen.
    pub(crate) parts: Sender<()>,
    /// One `()` for each message with bad rows that the writer has taken.
    pub(crate) bad_rows: Sender<()>,
}

/// A finished chunk.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) worker: usize,
    pub(crate) chunk: Chunk,
    pub(crate) hashes: Vec<PageHash>,
}
