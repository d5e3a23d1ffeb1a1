//! B-trees: workers make their leaves on all cores, one writer puts the leaves in order and adds the pages above them.
//!
//! ```text
//!  rows    sources ──> parts ──> workers ──> table leaves ──────────────────────┐
//!                                   │                                            ├─> writer ──> output
//!                                   └─> sorters (entries of indexes, rows        │
//!                                       that may arrive in any order)            │
//!  runs    sorters ──> ranges of keys ──> workers ──> index and table leaves ────┤
//!  copies  trees of databases ──> parts ──> workers ──> their leaves, or new ones ┘
//!
//!  a pass          parts in order                       chunks in any order            pages in order
//!        dispenser (a lock) ──> workers ──────────────> writer (the calling thread) ──────────> output
//!                               decode, encode, merge    page numbers, links, interior pages
//!                                   ^                            │
//!                                   └──────── empty chunks ──────┘
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `write_tables`, `write_indexes`, `write_copies` | what callers ask for: tables from rows, indexes of existing tables, trees of other databases |
//! | `pass` | one pass of workers over parts |
//! | `made_from` | what a tree is made from, and what a worker does with a part of it: `rows`, `sorted_runs`, `copied`, `united` |
//! | `workers` | parts in, chunks of pages out |
//! | `writer` | chunks in any order in, pages in order out: `page_numbers`, `interior_pages` |
//! | `keys` | keys that no two rows may share; `repeated_rows`: such rows of several databases |
//! | `table_sorters` | what is sorted of a table |
//! | `existing_trees` | the trees of a table that grows |
//! | `leaf_list` | the leaves of a table whose interior pages another process makes |
//! | `sequence_table` | the table with the numbers of AUTOINCREMENT tables |
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

mod existing_trees;
mod keys;
mod leaf_list;
mod made_from;
mod pass;
mod repeated_rows;
pub(crate) mod sequence_table;
mod table_sorters;
mod workers;
mod write_copies;
mod write_indexes;
mod write_tables;
mod writer;

use std::path::PathBuf;

use sqluice_core::schema::Table;
use sqluice_core::source::Source;
use sqluice_format::page::Geometry;

pub(crate) use existing_trees::{Edge, ExistingTrees, OldEntries};
pub(crate) use leaf_list::{LeafList, LeafRange, LeafReader};
pub(crate) use made_from::TreeCopy;
pub(crate) use made_from::copied::CopyTree;
pub use made_from::copied::Keep;
pub use made_from::source_tree::Changes;
pub(crate) use made_from::source_tree::Piece;
pub(crate) use made_from::united::{KeyNames, SAMPLES_OF_PART, UnionTree};
pub(crate) use repeated_rows::repeated_rows;
pub(crate) use write_copies::write_copies;
pub(crate) use write_indexes::{IndexJob, write_indexes};
pub(crate) use write_tables::write_tables;
pub(crate) use writer::page_numbers::{Appender, append_empty_leaf};

use crate::encode::Coercion;
use crate::options::OnConflict;

/// A table and the source of its rows.
pub struct Job<'a> {
    /// The table.
    pub table: &'a Table,
    /// How values are converted for its columns.
    pub coercion: Coercion,
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
