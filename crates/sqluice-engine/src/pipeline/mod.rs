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
mod pass;
mod piece;
mod rows;
mod trees;
mod union_tree;
mod unique;
mod worker;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel};
use sqluice_core::schema::Table;
use sqluice_core::schema::index::Index;
use sqluice_core::source::Source;
use sqluice_format::key::KeyOrder;
use sqluice_format::page::Geometry;

pub(crate) use appender::{Appender, append_empty_leaf};
use conflicts::Dropped;
pub(crate) use conflicts::repeated_rows;
pub(crate) use copies::copy_trees;
pub(crate) use copy_tree::CopyTree;
pub use copy_tree::Keep;
pub(crate) use existing_trees::{Edge, ExistingTrees, OldEntries};
pub(crate) use indexes::{IndexJob, merge_indexes};
pub(crate) use leaf_list::{LeafList, LeafReader, LeafRun};
use merge_tree::MergeTree;
pub use piece::Changes;
pub(crate) use piece::Piece;
use rows::RowsTree;
pub(crate) use trees::TreeCopy;
use trees::{BuiltTree, Trees};
pub(crate) use union_tree::{KeyNames, SAMPLES_OF_PART, UnionTree};
use unique::{KnownRows, Unique};
use writer::PassContext;

use crate::encode::entries::Entries;
use crate::encode::{AnyOrder, Conversions, null_among_numbers};
use crate::options::{OnConflict, WritePath};
use crate::output::Output;
use crate::phases::Phases;
use crate::plan::TablePlan;
use crate::reject::RejectFile;
use crate::sort::{Layout, Order, Prefetch, Sorted, Sorter, Spill};

/// Blocks that are read at a time for each worker that merges: disks are faster with several.
const READS_PER_WORKER: usize = 2;

/// A table and the source of its rows.
pub struct Job<'a> {
    /// The table.
    pub table: &'a Table,
    /// How values are converted for its columns.
    pub conversions: Conversions,
    /// Its rows.
    pub source: Box<dyn Source + 'a>,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The pages.
    pub geometry: Geometry,
    /// Threads that encode and merge.
    pub workers: usize,
    /// Bytes of pages that go to the writer at a time.
    pub chunk_bytes: usize,
    /// The chunks of that size that each worker has.
    pub chunks_per_worker: usize,
    /// Bytes that sorting may take.
    pub sort_bytes: usize,
    /// Where to keep what they do not hold.
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
    /// Its root.
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
    /// Of rows that SQLite inserted: by how many fewer the table grew, as they changed or replaced others, where that was counted.
    pub(crate) merged: Option<u64>,
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

/// What is sorted of a table.
pub(crate) struct TableSorters {
    rows: Option<Sorter>,
    /// Each with the place of its index among those of the table.
    indexes: Vec<(usize, Sorter)>,
}

/// What is sorted of a table, in order: the rows, if they are sorted, and each index with its place among those of the table.
type SortedTable = (Option<Sorted>, Vec<(usize, Sorted)>);

/// Encodes all jobs, as their plans say, and writes their pages, in the jobs' order. The first bad row ends the run, unless
/// such rows have a file. A table with existing trees grows from them, and its indexes are made of their `old`
/// entries, too. `cancel` is set when the run fails: this unblocks readers that wait on a pipe.
pub(crate) fn run(
    jobs: Vec<(Job<'_>, &TablePlan, Option<ExistingTrees>)>,
    settings: &Settings,
    old: Option<&dyn OldEntries>,
    output: &mut dyn Output,
    rejects: Option<&mut RejectFile>,
    phases: &mut Phases<'_>,
    cancel: &Cancel,
) -> Result<Pages> {
    let mut run = PipelineRun {
        settings,
        old,
        appender: Appender::after(settings.page_count, settings.geometry, settings.chunk_bytes),
        around: PassContext { output, rejects, progress: phases.progress(), cancel },
        phases,
        spill: Arc::new(Spill::new(settings.temp_dir.clone())),
    };
    let mut tables = Vec::new();
    let mut jobs = jobs.into_iter().peekable();
    while let Some((job, plan, existing_trees)) = jobs.next() {
        if plan.sorts() {
            tables.push(run.sorted_table(job, plan, existing_trees)?);
            continue;
        }
        let mut plain = vec![(job, existing_trees)];
        while let Some((job, _, existing_trees)) = jobs.next_if(|(_, plan, _)| !plan.sorts()) {
            plain.push((job, existing_trees));
        }
        tables.extend(run.plain_tables(plain)?);
    }
    Ok(Pages { tables, appender: run.appender })
}

struct PipelineRun<'a, 'p> {
    settings: &'a Settings,
    old: Option<&'a dyn OldEntries>,
    appender: Appender,
    around: PassContext<'a>,
    phases: &'a mut Phases<'p>,
    spill: Arc<Spill>,
}

impl PipelineRun<'_, '_> {
    /// Tables whose rows arrive in order, and which have no indexes.
    fn plain_tables(&mut self, jobs: Vec<(Job<'_>, Option<ExistingTrees>)>) -> Result<Vec<Written>> {
        let (trees, sources): (Vec<RowsTree<'_>>, Vec<Box<dyn Source + '_>>) = jobs
            .into_iter()
            .map(|(job, existing_trees)| {
                (RowsTree::new(job.table, job.conversions, None, existing_trees), job.source)
            })
            .unzip();
        let indexes: Vec<usize> = trees.iter().map(|tree| tree.table.indexes.len()).collect();
        let made = self.pass(&Trees::Rows(trees), sources)?;
        let written = made.into_iter().zip(indexes).map(|(made, indexes)| Written {
            tree: made.tree,
            rejected: made.rejected,
            ignored: 0,
            merged: None,
            largest_rowid: made.largest_rowid,
            indexes: vec![None; indexes],
        });
        Ok(written.collect())
    }

    /// A table with indexes, or whose rows arrive in any order.
    fn sorted_table(
        &mut self,
        job: Job<'_>,
        plan: &TablePlan,
        existing_trees: Option<ExistingTrees>,
    ) -> Result<Written> {
        let table = job.table;
        let grows =
            existing_trees.as_ref().filter(|existing_trees| existing_trees.edge.largest_rowid.is_some());
        let sources = 1 + usize::from(grows.is_some());
        let sorters = TableSorters::new(table, plan, self.settings, sources, &self.spill);
        let tree = RowsTree {
            in_sequence: plan.in_sequence,
            ..RowsTree::new(table, job.conversions, Some((plan.write_path, &sorters)), existing_trees.clone())
        };
        let one_worker = Settings { workers: 1, ..self.settings.clone() };
        let settings = if plan.in_sequence { &one_worker } else { self.settings };
        let trees = Trees::Rows(vec![tree]);
        let made = pass::run(&trees, vec![job.source], settings, &mut self.appender, &mut self.around)?;
        let rows = made.into_iter().next().unwrap_or_default();
        if let (Trees::Rows(trees), Some(alias)) = (&trees, table.rowid_alias)
            && trees.iter().any(|tree| tree.seen.is_unknown())
        {
            return Err(null_among_numbers(&table.columns[alias].name));
        }

        if let (Some(existing_trees), Some(old)) = (grows, self.old) {
            for (index, sorter) in &sorters.indexes {
                self.phases.begin(&format!("read {}", table.indexes[*index].name), None);
                old.give(table, *index, existing_trees.indexes[*index], sorter)?;
            }
        }
        self.phases.begin(&format!("sort {}", table.name), None);
        let (rows_sorted, indexes) = sorters.sorted(self.settings, self.around.cancel)?;
        let dropped = self.resolve(table, plan, rows_sorted.as_ref(), &indexes)?;
        let on_conflict = self.settings.on_conflict;
        let mut trees = merge_trees(table, plan, rows_sorted.as_ref(), &indexes, &dropped, on_conflict);
        if let Some(existing_trees) = &existing_trees {
            let rows = rows_sorted.as_ref().map(|_| existing_trees.root_page);
            let roots =
                rows.into_iter().chain(indexes.iter().map(|(index, _)| existing_trees.indexes[*index]));
            for (tree, root_page) in trees.iter_mut().zip(roots) {
                tree.root_page = Some(root_page);
                if let (Some(unique), true) = (&mut tree.unique, grows.is_some()) {
                    unique.rows = KnownRows::Stored;
                }
            }
        }
        let items = trees.iter().map(|tree| tree.sorted.items()).sum();
        self.phases.begin(&format!("merge {}", table.name), Some(Amount { rows: items, bytes: 0 }));
        let mut merged = self.pass(&Trees::Merge(trees), Vec::new())?.into_iter();

        let of_rows = if rows_sorted.is_some() { merged.next().unwrap_or_default() } else { rows };
        let mut written = vec![None; table.indexes.len()];
        for ((index, _), made) in indexes.iter().zip(merged) {
            written[*index] = Some(made.tree);
        }
        Ok(Written {
            tree: of_rows.tree,
            rejected: rows.rejected,
            ignored: dropped.len(),
            merged: None,
            largest_rowid: of_rows.largest_rowid,
            indexes: written,
        })
    }

    fn pass(&mut self, trees: &Trees<'_>, sources: Vec<Box<dyn Source + '_>>) -> Result<Vec<BuiltTree>> {
        pass::run(trees, sources, self.settings, &mut self.appender, &mut self.around)
    }

    /// The rows that are left out.
    fn resolve(
        &mut self,
        table: &Table,
        plan: &TablePlan,
        rows: Option<&Sorted>,
        indexes: &[(usize, Sorted)],
    ) -> Result<Dropped> {
        let on_conflict = self.settings.on_conflict;
        let (OnConflict::Ignore | OnConflict::Replace, Some(rows)) = (on_conflict, rows) else {
            return Ok(Dropped::default());
        };
        self.phases.begin(&format!("conflicts {}", table.name), None);
        let mut keys = Vec::new();
        if table.rowid_alias.is_some() || table.clustered.is_some() {
            keys.push((rows, Unique::of_rows(table)));
        }
        for (index, sorted) in indexes.iter().filter(|(index, _)| table.indexes[*index].unique) {
            keys.push((sorted, Unique::of_index(table, &table.indexes[*index], plan, on_conflict)));
        }
        conflicts::resolve(&keys, on_conflict, self.settings.sort_bytes as u64, self.around.cancel)
    }
}

/// The trees that are made of what was sorted of a table, the rows first.
fn merge_trees<'a>(
    table: &'a Table,
    plan: &TablePlan,
    rows: Option<&'a Sorted>,
    indexes: &'a [(usize, Sorted)],
    dropped: &'a Dropped,
    on_conflict: OnConflict,
) -> Vec<MergeTree<'a>> {
    let rows = rows.map(|sorted| MergeTree {
        sorted,
        rowids: table.clustered.is_none(),
        unique: Some(Unique::of_rows(table)),
        dropped,
        root_page: None,
    });
    let indexes = indexes.iter().map(|(index, sorted)| {
        let index = &table.indexes[*index];
        let unique = index.unique.then(|| Unique::of_index(table, index, plan, on_conflict));
        MergeTree { sorted, rowids: false, unique, dropped, root_page: None }
    });
    rows.into_iter().chain(indexes).collect()
}

/// Whether items of indexes know the numbers of their records: where rowids do not give these, or rows may be left out.
fn numbered(table: &Table, plan: &TablePlan, on_conflict: OnConflict) -> bool {
    let leaves_out = plan.write_path == WritePath::Sorted && on_conflict != OnConflict::Abort;
    leaves_out || plan.in_sequence || table.clustered.is_some()
}

fn key_order(index: &Index) -> KeyOrder {
    index.order().expect("the plan gives other orders to SQLite")
}

/// The memory of each sorter, first for its buffers, and when these are empty for merging. Something is left for what both take
/// that grows with what is spilled: the places where blocks begin.
fn share(settings: &Settings, sorters: usize) -> usize {
    settings.sort_bytes / 4 * 3 / sorters.max(1)
}

/// The order of a WITHOUT ROWID table.
fn primary_key(clustered: &Index) -> KeyOrder {
    KeyOrder::new(&key_order(clustered).columns()[..clustered.key_columns])
}

impl<'a> Unique<'a> {
    /// The rowid, or the primary key of a WITHOUT ROWID table.
    fn of_rows(table: &'a Table) -> Unique<'a> {
        let index = table.clustered.as_ref();
        Unique { table, index, order: index.map(primary_key), rows: KnownRows::Numbered }
    }

    fn of_index(table: &'a Table, index: &'a Index, plan: &TablePlan, on_conflict: OnConflict) -> Unique<'a> {
        Unique {
            table,
            index: Some(index),
            order: Some(key_order(index)),
            rows: match numbered(table, plan, on_conflict) {
                true => KnownRows::Numbered,
                false => KnownRows::Loaded,
            },
        }
    }
}

impl<'a> RowsTree<'a> {
    fn new(
        table: &'a Table,
        conversions: Conversions,
        sorted: Option<(WritePath, &'a TableSorters)>,
        existing_trees: Option<ExistingTrees>,
    ) -> RowsTree<'a> {
        RowsTree {
            table,
            conversions,
            write_path: sorted.map_or(WritePath::Pages, |(write_path, _)| write_path),
            in_sequence: false,
            sorters: sorted.map(|(_, sorters)| sorters),
            seen: AnyOrder::default(),
            root_page: existing_trees.as_ref().map(|existing_trees| existing_trees.root_page),
            edge: existing_trees.map(|existing_trees| existing_trees.edge),
        }
    }
}

impl TableSorters {
    /// For items from that number of sources, one after another, and stay in memory as long as they fit.
    fn new(
        table: &Table,
        plan: &TablePlan,
        settings: &Settings,
        sources: usize,
        spill: &Arc<Spill>,
    ) -> TableSorters {
        let sorted = |index: &usize| plan.indexes[*index].write_path == WritePath::Sorted;
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(sorted).collect();
        let rows = plan.write_path == WritePath::Sorted;
        let sorters = indexes.len() + usize::from(rows);
        let workers = if plan.in_sequence { 1 } else { settings.workers };
        let buffer_bytes = share(settings, sorters) / workers.max(1) / sources;
        let rows = rows.then(|| {
            let layout = match &table.clustered {
                Some(key) => Layout { order: Order::Record(primary_key(key)), rowid: false, number: true },
                None => Layout { order: Order::Rowid, rowid: true, number: true },
            };
            Sorter::new(layout, buffer_bytes, spill)
        });
        let number = numbered(table, plan, settings.on_conflict);
        let indexes = indexes.into_iter().map(|index| {
            let order = Order::Record(key_order(&table.indexes[index]));
            (index, Sorter::new(Layout { order, rowid: false, number }, buffer_bytes, spill))
        });
        TableSorters { rows, indexes: indexes.collect() }
    }

    /// What a worker gives to each of them.
    fn entries<'s>(&'s self, table: &Table) -> Vec<Entries<'s>> {
        let rows = self.rows.as_ref().map(|sorter| match &table.clustered {
            Some(clustered) => Entries::of_index(clustered, table, sorter.buffer()),
            None => Entries::of_rows(table, sorter.buffer()),
        });
        let indexes = self
            .indexes
            .iter()
            .map(|(index, sorter)| Entries::of_index(&table.indexes[*index], table, sorter.buffer()));
        rows.into_iter().chain(indexes).collect()
    }

    fn sorted(self, settings: &Settings, cancel: &Cancel) -> Result<SortedTable> {
        let sorters = self.indexes.len() + usize::from(self.rows.is_some());
        let merge_bytes = share(settings, sorters);
        let ahead = Arc::new(Prefetch::new(READS_PER_WORKER * settings.workers)?);
        let sorted = |sorter: Sorter| sorter.sorted(merge_bytes, settings.workers, &ahead, cancel);
        let rows = self.rows.map(sorted).transpose()?;
        let indexes = self.indexes.into_iter().map(|(index, sorter)| Ok((index, sorted(sorter)?)));
        Ok((rows, indexes.collect::<Result<_>>()?))
    }
}
