//! Messages between the workers and the writer of a pass.

use crossbeam_channel::Sender;
use sqluice_core::checksum::PageHash;
use sqluice_core::error::Error;
use sqluice_core::source::{BadRow, Part};
use sqluice_format::chunk::Chunk;

use crate::trees::workers::part_ends::PartEnds;

/// The largest number of parts that a worker may begin before the writer has seen their ends. The number of its chunks also limits how far
/// a worker gets ahead of the writer, but not for parts that fill no chunk.
pub(crate) const PARTS_AHEAD_MAX: usize = 8;

/// The largest number of messages with bad rows that a worker may send before the writer has taken them. This limits the memory: if all
/// rows of a part are bad, the messages are many times larger than the part.
pub(crate) const BAD_ROWS_AHEAD_MAX: usize = 3;

/// A part of a pass: its number, and the position of its tree among the trees of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartId {
    /// The number of the part, counted over all trees of the pass.
    pub(crate) part: u64,
    pub(crate) tree: usize,
}

/// The next work of a worker: a part of a source or of a tree.
pub(crate) enum Task {
    /// Decode this part of a source.
    Decode(Box<dyn Part>),
    /// Process the part with this number, counted within its tree.
    Part(usize),
}

/// A message from a worker to the writer about the part that the worker processes.
pub(crate) enum Message {
    /// A chunk of pages. The chunks of a part are sent in the order of their pages.
    Pages(Sealed),
    /// Rows for the reject file. The bad rows of a part are sent in the order of the input.
    BadRows { worker: usize, rows: Vec<BadRow> },
    /// The part is complete. The counts are for the progress display, and `ends` are for the check against the next part.
    End { worker: usize, input_bytes: u64, rows: u64, ends: PartEnds },
    /// The part can't be finished because of `error`.
    Failed { error: Error, ends: PartEnds },
}

/// The channels from the writer back to one worker.
pub(crate) struct Returns {
    /// Written chunks, emptied for the worker to fill again.
    pub(crate) chunks: Sender<(Chunk, Vec<PageHash>)>,
    /// One `()` for each part whose end the writer has seen.
    pub(crate) parts: Sender<()>,
    /// One `()` for each message with bad rows that the writer has taken.
    pub(crate) bad_rows: Sender<()>,
}

/// A chunk of finished pages, the hash of each page, and the worker to which the chunk returns when its pages are written.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) worker: usize,
    pub(crate) chunk: Chunk,
    pub(crate) hashes: Vec<PageHash>,
}
