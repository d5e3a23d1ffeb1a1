//! Parts in, pages out: workers encode on all cores, one writer puts what they make in order.
//!
//! ```text
//!  rows    sources ──> parts ──> workers ──> table leaves ──────────────────────┐
//!                                   │                                            ├─> writer ──> output
//!                                   └─> sorters (entries of indexes, rows        │
//!                                       that may come in any order)              │
//!  merge   sorters ──> ranges of keys ──> workers ──> index and table leaves ────┘
//!
//!  a pass          parts in order                       chunks in any order            pages in order
//!        dispenser (a lock) ──> workers ──────────────> writer (the calling thread) ──────────> output
//!                               decode, encode, merge    page numbers, links, interior pages
//!                                   ^                            │
//!                                   └──────── empty chunks ──────┘
//! ```
//!
//! * Tables come one after another, each with its indexes: then one sorts with all of the memory. Those that need no sorting share
//!   a pass.
//! * A worker has chunks of its own and waits when all are under way. The chunks of the earliest part are never stuck
//!   behind later ones, so somebody can always go on.
//! * The writer takes all chunks whose turn it is and writes them in one system call: on a machine whose cores are busy it
//!   is woken late, and the disk would be idle as often as there are calls.
//! * What the writer makes of the chunks depends on their order alone. So do errors: the one that comes first in the input
//!   is the one that is reported; keys that come twice are known when all rows have been read.
//!
//! Invariant: memory is the workers' chunks, what their sources need and what the sorters are given, whatever the number of
//! rows.

mod appender;
mod conflicts;
mod ground;
mod growing;
mod indexes;
mod merge;
mod pass;
mod rows;
mod worker;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use sqluice_format::key::KeyOrder;
use sqluice_format::page::Geometry;

pub(crate) use appender::{Appender, append_empty_leaf};
use conflicts::Dropped;
pub(crate) use ground::{Edge, Ground, OldEntries};
pub(crate) use indexes::{IndexJob, merge_indexes};
use merge::{KnownRows, MergeTree, Unique};
use pass::{Made, Surroundings, Trees};
use rows::RowsTree;

use crate::encode::entries::Entries;
use crate::encode::{AnyOrder, Conversions, null_among_numbers};
use crate::error::Result;
use crate::output::Output;
use crate::plan::{OnConflict, Road, TablePlan};
use crate::progress::{Amount, Cancel};
use crate::reject::RejectFile;
use crate::report::Phases;
use crate::schema::Table;
use crate::schema::index::Index;
use crate::sort::{Ahead, Layout, Order, Sorted, Sorter, Spill};
use crate::source::Source;

/// Chunks that each worker has at least: one to fill, one that is being written, one in between.
pub const CHUNKS_PER_WORKER_MIN: usize = 3;

/// Chunks that each worker has at most: more would not make the disk any busier.
pub const CHUNKS_PER_WORKER_MAX: usize = 6;

/// Blocks that are read at a time for each worker that merges: disks are faster with several.
const READS_PER_WORKER: usize = 2;

/// A table and where its rows come from.
pub(crate) struct Job<'a> {
    pub(crate) table: &'a Table,
    pub(crate) conversions: Conversions,
    pub(crate) source: Box<dyn Source + 'a>,
}

/// How to run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) geometry: Geometry,
    pub(crate) workers: usize,
    pub(crate) chunk_bytes: usize,
    pub(crate) chunks_per_worker: usize,
    /// Bytes that sorting may take.
    pub(crate) sort_bytes: usize,
    /// Where to keep what they do not hold.
    pub(crate) temp_dir: PathBuf,
    pub(crate) on_conflict: OnConflict,
    /// Pages that are there: new ones come after them.
    pub(crate) page_count: u32,
}

/// A B-tree as it now stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenTree {
    pub(crate) root_page: u32,
    /// Rows or index entries.
    pub(crate) entries: u64,
    pub(crate) leaf_pages: u64,
    pub(crate) interior_pages: u64,
    pub(crate) overflow_pages: u64,
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
    /// Of all rows, those among them that were left out.
    pub(crate) largest_rowid: Option<i64>,
    /// Its indexes, in the order of [`Table::indexes`]; `None` for those that are SQLite's to make.
    pub(crate) indexes: Vec<Option<WrittenTree>>,
}

/// The pages of all tables, numbered from the first on that is not there: page 1 is the caller's to write.
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

/// The same in order: the rows, if they are sorted, and each index with its place among those of the table.
type SortedTable = (Option<Sorted>, Vec<(usize, Sorted)>);

/// Encodes all jobs, as their plans say, and writes their pages, in the jobs' order. The first bad row ends the run, unless
/// there is a file for such rows. A table whose trees are there grows from its ground, and its indexes are made of their `old`
/// entries, too. `cancel` is set when the run fails: who waits for a pipe waits no longer.
pub(crate) fn run(
    jobs: Vec<(Job<'_>, &TablePlan, Option<Ground>)>,
    settings: &Settings,
    old: Option<&dyn OldEntries>,
    output: &mut dyn Output,
    rejects: Option<&mut RejectFile>,
    phases: &mut Phases<'_>,
    cancel: &Cancel,
) -> Result<Pages> {
    let mut run = Run {
        settings,
        old,
        appender: Appender::after(settings.page_count, settings.geometry, settings.chunk_bytes),
        around: Surroundings { output, rejects, progress: phases.progress(), cancel },
        phases,
        spill: Arc::new(Spill::new(settings.temp_dir.clone())),
    };
    let mut tables = Vec::new();
    let mut jobs = jobs.into_iter().peekable();
    while let Some((job, plan, ground)) = jobs.next() {
        if plan.sorts() {
            tables.push(run.sorted_table(job, plan, ground)?);
            continue;
        }
        let mut plain = vec![(job, ground)];
        while let Some((job, _, ground)) = jobs.next_if(|(_, plan, _)| !plan.sorts()) {
            plain.push((job, ground));
        }
        tables.extend(run.plain_tables(plain)?);
    }
    Ok(Pages { tables, appender: run.appender })
}

struct Run<'a, 'p> {
    settings: &'a Settings,
    old: Option<&'a dyn OldEntries>,
    appender: Appender,
    around: Surroundings<'a>,
    phases: &'a mut Phases<'p>,
    spill: Arc<Spill>,
}

impl Run<'_, '_> {
    /// Tables whose rows come in order, and which have no indexes.
    fn plain_tables(&mut self, jobs: Vec<(Job<'_>, Option<Ground>)>) -> Result<Vec<Written>> {
        let (trees, sources): (Vec<RowsTree<'_>>, Vec<Box<dyn Source + '_>>) = jobs
            .into_iter()
            .map(|(job, ground)| (RowsTree::new(job.table, job.conversions, None, ground), job.source))
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

    /// A table with indexes, or whose rows come in any order.
    fn sorted_table(&mut self, job: Job<'_>, plan: &TablePlan, ground: Option<Ground>) -> Result<Written> {
        let table = job.table;
        let grows = ground.as_ref().filter(|ground| ground.edge.largest_rowid.is_some());
        let sources = 1 + usize::from(grows.is_some());
        let sorters = TableSorters::new(table, plan, self.settings, sources, &self.spill);
        let tree = RowsTree {
            in_sequence: plan.in_sequence,
            ..RowsTree::new(table, job.conversions, Some((plan.road, &sorters)), ground.clone())
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

        if let (Some(ground), Some(old)) = (grows, self.old) {
            for (index, sorter) in &sorters.indexes {
                self.phases.begin(&format!("read {}", table.indexes[*index].name), None);
                old.give(table, *index, ground.indexes[*index], sorter)?;
            }
        }
        self.phases.begin(&format!("sort {}", table.name), None);
        let (rows_sorted, indexes) = sorters.sorted(self.settings, self.around.cancel)?;
        let dropped = self.resolve(table, plan, rows_sorted.as_ref(), &indexes)?;
        let on_conflict = self.settings.on_conflict;
        let mut trees = merge_trees(table, plan, rows_sorted.as_ref(), &indexes, &dropped, on_conflict);
        if let Some(ground) = &ground {
            let rows = rows_sorted.as_ref().map(|_| ground.root_page);
            let roots = rows.into_iter().chain(indexes.iter().map(|(index, _)| ground.indexes[*index]));
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

    fn pass(&mut self, trees: &Trees<'_>, sources: Vec<Box<dyn Source + '_>>) -> Result<Vec<Made>> {
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

/// Whether items of indexes know the numbers of their records: where rowids do not tell these, or rows may be left out.
fn numbered(table: &Table, plan: &TablePlan, on_conflict: OnConflict) -> bool {
    let leaves_out = plan.road == Road::Sorted && on_conflict != OnConflict::Abort;
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
        sorted: Option<(Road, &'a TableSorters)>,
        ground: Option<Ground>,
    ) -> RowsTree<'a> {
        RowsTree {
            table,
            conversions,
            road: sorted.map_or(Road::Pages, |(road, _)| road),
            in_sequence: false,
            sorters: sorted.map(|(_, sorters)| sorters),
            seen: AnyOrder::default(),
            root_page: ground.as_ref().map(|ground| ground.root_page),
            edge: ground.map(|ground| ground.edge),
        }
    }
}

impl TableSorters {
    /// For items that come from so many sources, one after another, and stay in memory as long as they fit.
    fn new(
        table: &Table,
        plan: &TablePlan,
        settings: &Settings,
        sources: usize,
        spill: &Arc<Spill>,
    ) -> TableSorters {
        let sorted = |index: &usize| plan.indexes[*index].road == Road::Sorted;
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(sorted).collect();
        let rows = plan.road == Road::Sorted;
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
        let ahead = Arc::new(Ahead::new(READS_PER_WORKER * settings.workers)?);
        let sorted = |sorter: Sorter| sorter.sorted(merge_bytes, settings.workers, &ahead, cancel);
        let rows = self.rows.map(sorted).transpose()?;
        let indexes = self.indexes.into_iter().map(|(index, sorter)| Ok((index, sorted(sorter)?)));
        Ok((rows, indexes.collect::<Result<_>>()?))
    }
}
