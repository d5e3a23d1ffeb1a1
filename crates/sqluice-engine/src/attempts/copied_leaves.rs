//! Copies the leaves and overflow pages of a table into a file at given page numbers. Another process completes the file to a database (see
//! [`placed_leaves`](super::placed_leaves)).

use std::path::Path;
use std::sync::Mutex;

use sqluice_core::checksum::Checksum;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};
use sqluice_reader::{Snapshot, StoredObject};

use super::copied_database::CopiedPiece;
use crate::options::{OnConflict, WriteOptions};
use crate::output::{Discard, Output, SharedRange};
use crate::plan::Memory;
use crate::trees::{self, Appender, CopyTree, LeafList, LeafRange, Settings, TreeCopy, WrittenTree};
use crate::verification::Verification;

/// The table whose leaves are copied, and its database.
pub struct LeavesJob<'a> {
    /// The source database.
    pub snapshot: &'a Snapshot,
    /// The table whose leaves are copied.
    pub table: &'a StoredObject,
    /// The options, of which threads and memory are used.
    pub options: &'a WriteOptions,
}

/// A range of pages in a file that several processes fill. One of the processes writes the pages of the range.
#[derive(Clone, Copy, Debug)]
pub struct PageRange<'a> {
    /// The file that several processes fill.
    pub file: &'a Path,
    /// The first page of the range.
    pub first_page: u32,
    /// The number of pages of the range.
    pub pages: u32,
    /// The path of the leaf list, a new file by which the other process finds the leaves.
    pub list: &'a Path,
}

impl LeavesJob<'_> {
    /// Counts the pages that [`LeavesJob::write`] will write, so that a range of this size can be given to it.
    ///
    /// # Errors
    /// If the source can't be read or is damaged.
    pub fn count(&self, context: &Context<'_>) -> Result<u32> {
        context.progress.phase("count pages", Some(Amount { rows: 0, bytes: self.snapshot.bytes() }));
        let copied = self.copy(2, LeafList::discard(), &mut Discard, context)?;
        u32::try_from(copied.pages())
            .map_err(|_| Error::input("a table has more pages than a database can have"))
    }

    /// Copies the leaves and overflow pages to their range in the file, syncs the file, and writes the leaf list.
    ///
    /// # Errors
    /// If the source can't be read or is damaged, if its pages are not as many as `range.pages`, or if a file can't be written.
    pub fn write(&self, range: &PageRange<'_>, context: &Context<'_>) -> Result<()> {
        context.progress.phase("place pages", Some(Amount { rows: 0, bytes: self.snapshot.bytes() }));
        let geometry = self.snapshot.geometry();
        let last_page = geometry.nth_page(range.first_page, range.pages.saturating_sub(1));
        let bytes = geometry.offset(range.first_page)..geometry.offset(last_page + 1);
        let mut output = Box::new(SharedRange::open(range.file, geometry.page_bytes(), bytes)?);
        let list = LeafList::create(range.list)?;
        let copied = self.copy(range.first_page, list, &mut *output, context)?;
        if copied.pages() != u64::from(range.pages) {
            return Err(Error::input("the source has changed since its pages were counted"));
        }
        output.commit()?;
        let Copied { tree, relocated, checksum, list } = copied;
        list.finish(&LeafRange {
            first_page: range.first_page,
            pages: range.pages,
            rows: tree.entries,
            leaves: tree.leaf_pages,
            relocated,
            checksum,
        })
    }

    fn copy(
        &self,
        first_page: u32,
        list: LeafList,
        output: &mut dyn Output,
        context: &Context<'_>,
    ) -> Result<Copied> {
        let LeavesJob { snapshot, table, options } = *self;
        let geometry = snapshot.geometry();
        let memory = Memory::divide(options, false)?;
        let settings = Settings {
            geometry,
            workers: memory.threads,
            chunk_bytes: options.tuning.chunk_bytes,
            chunks_per_worker: memory.chunks_per_worker,
            sort_bytes: 0,
            temp_dir: std::env::temp_dir(),
            ignores_checks: false,
            on_conflict: OnConflict::Abort,
            page_count: first_page - 1,
            counted_from: 0,
        };
        let what = table.describe();
        let stored = table.tree.as_ref().expect("a table that is no virtual one has a tree");
        let verification = Verification::new(snapshot, Vec::new());
        let whole = CopiedPiece::of_source(&verification, table).expect("it has a tree");
        let size = (false, settings.chunk_bytes / 2);
        let piece = whole.claiming(&what, geometry, size, context)?;
        let tree = CopyTree {
            leaves: Some(Mutex::new(list)),
            ..CopyTree::new(&what, stored.kind, vec![piece], None, geometry)
        };
        let trees = [TreeCopy::Copied(tree)];
        let mut appender = Appender::after(first_page - 1, geometry, settings.chunk_bytes);
        let made = trees::write_copies(&trees, &settings, &mut appender, output, context)?;
        let [tree] = trees;
        let relocated = tree.relocated();
        let list = tree.into_leaf_list().expect("its leaves were listed");
        Ok(Copied { tree: made[0], relocated, checksum: appender.checksum(), list })
    }
}

/// The tree whose leaves were copied, the checksum of its pages, and the leaf list, which has no header yet.
struct Copied {
    tree: WrittenTree,
    relocated: u64,
    checksum: Checksum,
    list: LeafList,
}

impl Copied {
    fn pages(&self) -> u64 {
        self.tree.leaf_pages + self.tree.overflow_pages
    }
}
