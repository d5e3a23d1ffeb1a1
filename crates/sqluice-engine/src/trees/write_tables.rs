//! Writes tables and their indexes: rows from sources become pages, directly or through sorters.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel};
use sqluice_core::schema::Table;
use sqluice_core::source::Source;

use super::existing_trees::{ExistingTrees, OldEntries};
use super::keys::on_conflict::{self as conflicts, Dropped};
use super::keys::unique::{KnownRows, Unique};
use super::made_from::rows::RowsTree;
use super::made_from::sorted_runs::RunsTree;
use super::made_from::{BuiltTree, Trees};
use super::pass;
use super::table_sorters::TableSorters;
use super::writer::PassContext;
use super::writer::page_numbers::Appender;
use super::{Job, Pages, Settings, Written};
use crate::encode::null_among_numbers;
use crate::options::OnConflict;
use crate::output::Output;
use crate::phases::Phases;
use crate::plan::TablePlan;
use crate::reject::RejectFile;
use crate::sort::{Sorted, Spill};

/// Encodes the rows of all jobs as their plans say, and writes the pages in the order of the jobs. Without a reject file, the first bad row
/// is an error. If a table exists already, the new rows are appended to its tree, and its indexes are written anew from their existing
/// entries, which `old` reads, and the new entries. On an error, `cancel` is set, which unblocks readers that wait on a pipe.
pub(crate) fn write_tables(
    jobs: Vec<(Job<'_>, &TablePlan, Option<ExistingTrees>)>,
    settings: &Settings,
    old: Option<&dyn OldEntries>,
    output: &mut dyn Output,
    rejects: Option<&mut RejectFile>,
    phases: &mut Phases<'_>,
    cancel: &Cancel,
) -> Result<Pages> {
    let mut writing = TableWriting {
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
            tables.push(writing.sorted_table(job, plan, existing_trees)?);
            continue;
        }
        let mut plain = vec![(job, plan, existing_trees)];
        while let Some(job) = jobs.next_if(|(_, plan, _)| !plan.sorts()) {
            plain.push(job);
        }
        tables.extend(writing.plain_tables(plain)?);
    }
    Ok(Pages { tables, appender: writing.appender })
}

/// The state of [`write_tables`].
struct TableWriting<'a, 'p> {
    settings: &'a Settings,
    old: Option<&'a dyn OldEntries>,
    appender: Appender,
    around: PassContext<'a>,
    phases: &'a mut Phases<'p>,
    spill: Arc<Spill>,
}

impl TableWriting<'_, '_> {
    /// Writes tables that need no sorting: their rows arrive in the order of the rowids, and if they have indexes, SQLite builds all of
    /// them later. All tables share one pass.
    fn plain_tables(
        &mut self,
        jobs: Vec<(Job<'_>, &TablePlan, Option<ExistingTrees>)>,
    ) -> Result<Vec<Written>> {
        let (trees, sources): (Vec<RowsTree<'_>>, Vec<Box<dyn Source + '_>>) = jobs
            .into_iter()
            .map(|(job, plan, existing_trees)| {
                (RowsTree::new(job.table, plan, job.coercion, None, existing_trees), job.source)
            })
            .unzip();
        let indexes: Vec<usize> = trees.iter().map(|tree| tree.table.indexes.len()).collect();
        let made = self.pass(&Trees::Rows(trees), sources)?;
        let written = made.into_iter().zip(indexes).map(|(made, indexes)| Written {
            tree: made.tree,
            rejected: made.rejected,
            ignored: 0,
            replacing: None,
            largest_rowid: made.largest_rowid,
            indexes: vec![None; indexes],
        });
        Ok(written.collect())
    }

    /// Writes a table that needs sorting ([`TablePlan::sorts`]): its rows arrive in any order, rows with equal keys must be found before
    /// they are written, or at least one index is made by sorting. One pass reads the rows, a second pass writes the sorted trees.
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
            ..RowsTree::new(
                table,
                plan,
                job.coercion,
                Some((plan.write_path, &sorters)),
                existing_trees.clone(),
            )
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
        let mut trees = runs_trees(table, plan, rows_sorted.as_ref(), &indexes, &dropped, self.settings);
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
        let mut made = self.pass(&Trees::Runs(trees), Vec::new())?.into_iter();

        let of_rows = if rows_sorted.is_some() { made.next().unwrap_or_default() } else { rows };
        let mut written = vec![None; table.indexes.len()];
        for ((index, _), made) in indexes.iter().zip(made) {
            written[*index] = Some(made.tree);
        }
        Ok(Written {
            tree: of_rows.tree,
            rejected: rows.rejected,
            ignored: dropped.len(),
            replacing: None,
            largest_rowid: of_rows.largest_rowid,
            indexes: written,
        })
    }

    fn pass(&mut self, trees: &Trees<'_>, sources: Vec<Box<dyn Source + '_>>) -> Result<Vec<BuiltTree>> {
        pass::run(trees, sources, self.settings, &mut self.appender, &mut self.around)
    }

    /// Finds the rows that ON CONFLICT leaves out because another row has the same key. None are left out if ON CONFLICT is ABORT, or if
    /// the rows are not sorted.
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
            keys.push((sorted, Unique::of_index(table, &table.indexes[*index], plan, self.settings)));
        }
        conflicts::resolve(&keys, on_conflict, self.settings.sort_bytes as u64, self.around.cancel)
    }
}

/// Returns the trees that are built from the sorted items of a table: the table itself if its rows were sorted, then its indexes.
fn runs_trees<'a>(
    table: &'a Table,
    plan: &TablePlan,
    rows: Option<&'a Sorted>,
    indexes: &'a [(usize, Sorted)],
    dropped: &'a Dropped,
    settings: &Settings,
) -> Vec<RunsTree<'a>> {
    let rows = rows.map(|sorted| RunsTree {
        sorted,
        rowids: table.clustered.is_none(),
        unique: Some(Unique::of_rows(table)),
        dropped,
        root_page: None,
    });
    let indexes = indexes.iter().map(|(index, sorted)| {
        let index = &table.indexes[*index];
        let unique = index.unique.then(|| Unique::of_index(table, index, plan, settings));
        RunsTree { sorted, rowids: false, unique, dropped, root_page: None }
    });
    rows.into_iter().chain(indexes).collect()
}
