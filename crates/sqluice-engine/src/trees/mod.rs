//! Writes B-trees. Worker threads build the leaves on all cores. One writer puts the leaves in order and adds the interior pages.
//!
//! ```text
//!  rows    sources ──> parts ──> workers ──> table leaves ──────────────────────┐
//!                                   │                                            ├─> writer ──> output
//!                                   └─> sorters: index entries, unordered rows   │
//!  runs    sorters ──> ranges of keys ──> workers ──> index and table leaves ────┤
//!  copies  trees of databases ──> parts ──> workers ──> old or new leaves ───────┘
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
//! | `write_tables`, `write_indexes`, `write_copies` | tables from rows, indexes of existing tables, copies of trees of other databases |
//! | `pass` | one pass: workers process parts, a writer writes their pages |
//! | `made_from` | what a tree is made from, and the work of a worker on a part of it: `rows`, `sorted_runs`, `copied`, `united` |
//! | `workers` | take parts, send chunks of finished pages |
//! | `writer` | takes chunks in any order, writes pages in order: `page_numbers`, `interior_pages` |
//! | `keys` | unique keys; `repeated_rows`: rows of several databases that share a key |
//! | `table_sorters` | the sorters of a table |
//! | `existing_trees` | the existing trees of a table to which rows are added |
//! | `leaf_list` | the leaves of a table whose interior pages another process builds |
//! | `sequence_table` | `sqlite_sequence`, the table with the largest rowid of each AUTOINCREMENT table |
//!
//! * Tables are written one after another, each with its indexes, so that one table can use all memory for sorting. Tables that need no
//!   sorting share a pass.
//! * A chunk is a buffer of finished pages. Each worker has its own chunks and waits while all of them are at the writer. The writer never
//!   holds chunks of the earliest unfinished part back, so the worker of this part can always continue.
//! * The writer writes all chunks whose turn has come in one system call. If the cores are busy, the writer's thread wakes up late after
//!   each call. With one call per chunk, the disk would be idle each time.
//! * The written pages are the same each time, whichever worker builds a chunk first. The reported error is the first error in the input.
//!   Rows that share a unique key are reported after all rows have been read.
//!
//! Invariant: the memory in use does not depend on the number of rows. It is the chunks of the workers, the memory of the sources that they
//! read, and the memory of the sorters.

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
use crate::reject::Rejected;

/// A table to write, and the source of its rows.
pub struct Job<'a> {
    /// The table to write.
    pub table: &'a Table,
    /// The rules by which values are converted to the types of the columns.
    pub coercion: Coercion,
    /// The source of the rows.
    pub source: Box<dyn Source + 'a>,
}

/// The sizes, limits and other settings with which trees are written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The page size and the reserved bytes of the pages.
    pub geometry: Geometry,
    /// The number of threads that encode rows and merge runs.
    pub workers: usize,
    /// The size in bytes of a chunk of pages, which a worker sends to the writer.
    pub chunk_bytes: usize,
    /// The largest number of chunks that each worker allocates.
    pub chunks_per_worker: usize,
    /// The number of bytes of memory that all sorters together may use.
    pub sort_bytes: usize,
    /// The folder for temporary files, if sorting needs more than `sort_bytes`.
    pub temp_dir: PathBuf,
    /// The handling of rows that share a unique key.
    pub on_conflict: OnConflict,
    /// `true` if CHECKs are not evaluated: rows that break a CHECK are stored, too.
    pub ignores_checks: bool,
    /// The number of pages that the file has already. New pages are appended after these pages.
    pub page_count: u32,
    /// The rowid that the first row of a new table follows, if the input gives no rowids: 0 if rowids begin at 1.
    pub counted_from: i64,
}

/// The root page and the page counts of a B-tree that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenTree {
    /// The root page of the tree.
    pub root_page: u32,
    /// The number of rows or index entries.
    pub entries: u64,
    /// The number of leaf pages.
    pub leaf_pages: u64,
    /// The number of interior pages.
    pub interior_pages: u64,
    /// The number of overflow pages.
    pub overflow_pages: u64,
}

/// The trees and row counts of a table that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) tree: WrittenTree,
    /// The number of rows that went to the reject file.
    pub(crate) rejected: Rejected,
    /// The number of rows that were left out because another row has the same key, or by a trigger.
    pub(crate) ignored: u64,
    /// The number of inserted rows that changed or replaced another row, so that the table did not grow; `None` if the number was not
    /// counted.
    pub(crate) replacing: Option<u64>,
    /// The largest rowid of all rows, including the rows that were left out; `None` without rows or rowids, or if SQLite inserted the rows.
    pub(crate) largest_rowid: Option<i64>,
    /// The indexes, in the order of [`Table::indexes`]; `None` if SQLite makes the index.
    pub(crate) indexes: Vec<Option<WrittenTree>>,
}

/// The written tables, and the appender with the pages that are not written yet. The caller still appends the schema and writes page 1.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) tables: Vec<Written>,
    pub(crate) appender: Appender,
}
