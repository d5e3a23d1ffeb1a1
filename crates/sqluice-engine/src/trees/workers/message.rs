//! What workers and the writer of a pass send each other.

use crossbeam_channel::Sender;
use sqluice_core::checksum::PageHash;
use sqluice_core::error::Error;
use sqluice_core::source::{BadRow, Part};
use sqluice_format::chunk::Chunk;

use crate::trees::workers::part_ends::PartEnds;

/// Parts of each worker that the writer has not seen the end of. Chunks keep a worker from running ahead, but a part may
/// need none.
pub(crate) const PARTS_AHEAD_MAX: usize = 8;

/// Messages with bad rows of each worker that the writer has not seen: in a part of nothing else, they would be many times
/// larger than the part.
pub(crate) const BAD_ROWS_AHEAD_MAX: usize = 3;

/// A part of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartId {
    /// Counted over all trees.
    pub(crate) part: u64,
    pub(crate) tree: usize,
}

/// What a worker does next.
pub(crate) enum Task {
    Decode(Box<dyn Part>),
    /// The part of the tree with that number.
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

/// What a worker gets back from the writer.
pub(crate) struct Returns {
    /// Empty chunks.
    pub(crate) chunks: Sender<(Chunk, Vec<PageHash>)>,
    /// Ends of parts.
    pub(crate) parts: Sender<()>,
    /// Messages with bad rows.
    pub(crate) bad_rows: Sender<()>,
}

/// A finished chunk.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) worker: usize,
    pub(crate) chunk: Chunk,
    pub(crate) hashes: Vec<PageHash>,
}
