//! Parts in, pages out: workers encode on all cores, one writer puts what they make in order.
//!
//! ```text
//!  rows    sources ──> parts ──> workers ──> table leaves ──────────────────────┐
//!                                   │                                            ├─> writer ──> output
//!                                   └─> sorters (entries of indexes, rows        │
//!                                       that may arrive in any order)            │
//!  merge   sorters ──> ranges of keys ──> workers ──> index and table leaves ────┤
//!  copy    trees of a database ──> parts ──> workers ──> their leaves, or new ones ┘
//!
//!  a pass          parts in order                       chunks in any order            pages in order
//!        dispenser (a lock) ──> workers ──────────────> writer (the calling thread) ──────────> output
//!                               decode, encode, merge    page numbers, links, interior pages
//!                                   ^                            │
//!                                   └──────── empty chunks ──────┘
//! ```
//!
//! * Tables are written one after another, each with its indexes: then one sorts with all of the memory. Those that need no sorting share
//!   a pass.
//! * A worker has chunks of its own and waits when all are under way. The chunks of the earliest part are never stuck
//!   behind later ones, so one worker can always go on.
//! * The writer takes all chunks whose turn it is and writes them in one system call: on a machine whose cores are busy it
//!   is woken late, and the disk would be idle once for each call.
//! * What the writer makes of the chunks depends on their order alone. So do errors: the first one in the input
//!   is the one that is reported; repeated keys are known when all rows have been read.
//!
//! Invariant: memory is the workers' chunks, what their sources need and what the sorters are given, whatever the number of
//! rows.

mod appender;
mod conflicts;
mod copies;
mod copy;
mod copy_tree;
mod dispenser;
mod existing_trees;
mod growing;
mod indexes;
mod leaf_list;
mod merge;
mod merge_tree;
mod message;
mod part_ends;
mod pass;
mod piece;
mod repeated_rows;
mod rows;
mod table_sorters;
mod trees;
mod union_tree;
mod unique;
mod unite;
mod worker;
mod write_tables;
mod writer;

use std::path::PathBuf;

use sqluice_core::schema::Table;
use sqluice_core::source::Source;
use sqluice_format::page::Geometry;

pub(crate) use appender::{Appender, append_empty_leaf};
pub(crate) use copies::write_copies;
pub(crate) use copy_tree::CopyTree;
pub use copy_tree::Keep;
pub(crate) use existing_trees::{Edge, ExistingTrees, OldEntries};
pub(crate) use indexes::{IndexJob, write_indexes};
pub(crate) use leaf_list::{LeafList, LeafReader, LeafRun};
pub use piece::Changes;
pub(crate) use piece::Piece;
pub(crate) use repeated_rows::repeated_rows;
pub(crate) use trees::TreeCopy;
pub(crate) use union_tree::{KeyNames, SAMPLES_OF_PART, UnionTree};
pub(crate) use write_tables::write_tables;

use crate::encode::Conversions;
use crate::options::OnConflict;

/// A table and the source of its rows.
pub struct Job<'a> {
    /// The table.
    pub table: &'a Table,
    /// How values are converted for its columns.
    pub conversions: Conversions,
    /// Its rows.
    pub source: Box<dyn Source + 'a>,
}

/// The sizes and limits of what writes trees.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The layout of the pages.
    pub geometry: Geometry,
    /// Threads that encode rows and merge runs.
    pub workers: usize,
    /// Bytes of pages that go to the writer at a time.
    pub chunk_bytes: usize,
    /// The chunks of that size that each worker has.
    pub chunks_per_worker: usize,
    /// Bytes that sorting may take.
    pub sort_bytes: usize,
    /// The folder for what does not fit these bytes.
    pub temp_dir: PathBuf,
    /// What happens to rows with the same key.
    pub on_conflict: OnConflict,
    /// The number of existing pages: new ones follow them.
    pub page_count: u32,
    /// The rowid before the first of a new table whose rows have no numbers of their own.
    pub counted_from: i64,
}

/// A B-tree as it now stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenTree {
    /// The page of its root.
    pub root_page: u32,
    /// Rows or index entries.
    pub entries: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Interior pages.
    pub interior_pages: u64,
    /// Overflow pages.
    pub overflow_pages: u64,
}

/// A table as it now stands in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) tree: WrittenTree,
    /// Rows that went to the reject file.
    pub(crate) rejected: u64,
    /// Rows that were left out because of their keys.
    pub(crate) ignored: u64,
    /// The number of rows that SQLite inserted and by which the table did not grow, because they changed or replaced others; `None`: the
    /// number was not counted.
    pub(crate) replacing: Option<u64>,
    /// The largest rowid of all rows, including those that were left out.
    pub(crate) largest_rowid: Option<i64>,
    /// Its indexes, in the order of [`Table::indexes`]; `None` for those that are SQLite's to make.
    pub(crate) indexes: Vec<Option<WrittenTree>>,
}

/// The pages of all tables, numbered from the first new one on: page 1 is the caller's to write.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) tables: Vec<Written>,
    pub(crate) appender: Appender,
}
