//! Writes new tables, and new rows of existing tables, as pages, in the open transaction of an existing database.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Context, Progress};
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_core::source::Source;

use super::indexes::refill::{Clearing, OldIndexes};
use super::{Existing, Transaction, edge, verify};
use crate::encode::Coercion;
use crate::full_text::table::Means;
use crate::options::{Action, WriteOptions, WritePath};
use crate::output::{Output, Target};
use crate::phases::Phases;
use crate::plan::{Plan, TablePlan};
use crate::reject::RejectFile;
use crate::report::Report;
use crate::sqlite::Work;
use crate::trees::{self, Edge, ExistingTrees, Job, Pages, Settings, Written};

/// The result of the uncommitted writes of a transaction.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The written tables, in the order of the schema.
    pub(crate) tables: Vec<Written>,
    /// The number of pages of the database after the writes.
    pub(crate) page_count: u32,
    /// The number of written pages, new and existing.
    pub(crate) pages_written: u64,
    /// The kind of I/O that wrote the pages: `direct` or `buffered`; `sqlite` if SQLite inserted all rows.
    pub(crate) output: &'static str,
}

/// A table to write, with its plan.
struct Task<'t> {
    table: &'t Table,
    plan: &'t TablePlan,
    /// `true` if the table is created.
    is_new: bool,
}

impl Transaction<'_> {
    /// Writes the rows of `jobs` to the tables of `schema`, as `plan` says. Creates missing tables first, and missing views and triggers
    /// last. Commits nothing.
    ///
    /// # Errors
    /// If pages can't be written into the database, a row can't be stored, or the disk can't be written. An error that refutes
    /// [`Assumption::RowOrder`](sqluice_core::error::Assumption) means that rows do not follow the last row of a table. INSERT can still
    /// store these rows.
    pub(crate) fn write(
        &mut self,
        plan: &Plan,
        schema: &Schema,
        jobs: Vec<Job<'_>>,
        rejects: Option<&mut RejectFile>,
        phases: &mut Phases<'_>,
    ) -> Result<Outcome> {
        if let Some(table) = plan.tables.iter().find(|table| table.write_path == WritePath::Sqlite) {
            return Err(Error::usage(format!("only SQLite can store the rows of {}", table.name)));
        }
        // Nothing was changed yet, so the caller can still store the rows by INSERT.
        if let Some(why) = self.obstacle()? {
            let message = format!("pages can't be written into {}: {why}", self.existing().name().display());
            return Err(Error::target(message).hint("store the rows with INSERT"));
        }
        self.write_unobstructed(plan, schema, jobs, rejects, phases)
    }

    /// Writes the rows of `jobs` as [`Transaction::write`] does. The caller knows that the database had no obstacle when this transaction
    /// began.
    pub(super) fn write_unobstructed(
        &mut self,
        plan: &Plan,
        schema: &Schema,
        jobs: Vec<Job<'_>>,
        rejects: Option<&mut RejectFile>,
        phases: &mut Phases<'_>,
    ) -> Result<Outcome> {
        let existing = self.roots()?;
        let task = |(table, plan): (_, _)| self.task(table, plan, &existing);
        let tasks = schema.tables.iter().zip(&plan.tables).map(task).collect::<Result<Vec<_>>>()?;
        tasks.iter().filter(|task| task.is_new).try_for_each(|task| self.make(task))?;
        let last = self.last_rowids(plan, schema)?;
        let mut outcome = self.write_pages(plan, jobs, &tasks, rejects, phases)?;
        self.append_texts(plan, schema, &last, &self.means_of_text(plan, phases.progress())?)?;
        self.finish(plan, schema, phases)?;
        outcome.page_count = self.page_count()?;
        Ok(outcome)
    }

    /// Returns the threads, memory and folder for building full-text indexes. Called when all pages are written.
    pub(crate) fn means_of_text<'m>(&'m self, plan: &Plan, progress: &'m dyn Progress) -> Result<Means<'m>> {
        Ok(Means {
            workers: plan.threads,
            // Half of the memory is for the full-text indexes, and half for the page cache of SQLite.
            memory_bytes: (plan.memory_bytes / 2) as usize,
            temp_dir: plan.temp_dir()?,
            cancel: self.cancel(),
            progress,
        })
    }

    /// Returns the root pages of all tables and indexes, by their names in lower case.
    fn roots(&self) -> Result<HashMap<String, u32>> {
        let read = || -> rusqlite::Result<HashMap<String, u32>> {
            let sql = "SELECT name, rootpage FROM main.sqlite_schema WHERE type IN ('table', 'index')";
            let mut statement = self.connection().prepare(sql)?;
            let rows = statement.query_map([], |row| {
                Ok((
                    row.get::<_, String>(0)?.to_ascii_lowercase(),
                    row.get::<_, Option<u32>>(1)?.unwrap_or(0),
                ))
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failed(error, "read the schema of"))
    }

    fn task<'t>(
        &self,
        table: &'t Table,
        plan: &'t TablePlan,
        existing: &HashMap<String, u32>,
    ) -> Result<Task<'t>> {
        let is_new = !existing.contains_key(&table.name.to_ascii_lowercase());
        let sorts = plan.write_path == WritePath::Sorted
            || plan.indexes.iter().any(|index| index.write_path == WritePath::Sqlite);
        if !is_new && (sorts || table.without_rowid) {
            let message = format!("new rows of {} can't be appended as pages", table.name);
            return Err(Error::target(message).hint("store the rows with INSERT"));
        }
        Ok(Task { table, plan, is_new })
    }

    /// Creates a table, and the indexes whose entries are written as pages.
    fn make(&self, task: &Task<'_>) -> Result<()> {
        let Task { table, plan, .. } = task;
        self.execute(&table.sql)?;
        for (index, of_index) in table.indexes.iter().zip(&plan.indexes) {
            if let (Some(sql), WritePath::Sorted) = (&index.sql, of_index.write_path) {
                self.execute(sql)?;
            }
        }
        Ok(())
    }

    /// Writes the pages of tables and makes them part of the database.
    fn write_pages(
        &self,
        plan: &Plan,
        jobs: Vec<Job<'_>>,
        tasks: &[Task<'_>],
        rejects: Option<&mut RejectFile>,
        phases: &mut Phases<'_>,
    ) -> Result<Outcome> {
        // The indexes of existing tables that get rows are rebuilt.
        let refilled = self.refilled(tasks)?;
        let clearing = Clearing::prepare(self, &refilled)?;
        let (page_count, mut output) = self.past_the_end()?;
        let mut outcome =
            Outcome { tables: Vec::new(), page_count, pages_written: 0, output: output.describe() };
        if jobs.is_empty() {
            return Ok(outcome);
        }
        let roots = self.roots()?;
        let trees_of_all = tasks.iter().map(|task| self.existing_trees(task, &roots, page_count));
        let trees_of_all = trees_of_all.collect::<Result<Vec<_>>>()?;
        let jobs = jobs.into_iter().zip(tasks).zip(trees_of_all);
        let jobs = jobs.map(|((job, task), existing_trees)| (job, task.plan, Some(existing_trees)));
        let settings = Settings {
            geometry: self.existing().geometry(),
            workers: plan.threads,
            chunk_bytes: plan.chunk_bytes,
            chunks_per_worker: plan.chunks_per_worker,
            sort_bytes: plan.sort_bytes as usize,
            temp_dir: plan.temp_dir()?,
            ignores_checks: plan.ignores_checks,
            on_conflict: plan.on_conflict,
            page_count,
            counted_from: 0,
        };
        let progress = phases.progress();
        let old = OldIndexes { transaction: self, page_count, threads: plan.threads, progress };
        let Pages { tables, appender } = trees::write_tables(
            jobs.collect(),
            &settings,
            Some(&old),
            &mut output,
            rejects,
            phases,
            self.cancel(),
        )?;
        phases.begin("sync", None);
        outcome.page_count = appender.page_count();
        let overwritten = appender.finish_growing(&mut output)?;
        outcome.output = output.describe();
        outcome.pages_written = u64::from(outcome.page_count - page_count) + overwritten.len() as u64;
        let last = output.finish()?;
        clearing.clear()?;
        let last = (outcome.page_count > page_count).then_some(last);
        self.publish(&overwritten, outcome.page_count, last)?;
        for (task, written) in tasks.iter().zip(&tables) {
            let write_paths: Vec<WritePath> =
                task.plan.indexes.iter().map(|index| index.write_path).collect();
            verify::verify(self.connection(), task.table, &write_paths, written, task.is_new)?;
            if task.table.autoincrement {
                self.note_sequence(task.table, written.largest_rowid.max(task.table.largest_given))?;
            }
        }
        outcome.tables = tables;
        Ok(outcome)
    }

    /// Returns the root pages of the indexes that are rebuilt: all indexes of existing tables that get rows.
    fn refilled(&self, tasks: &[Task<'_>]) -> Result<Vec<u32>> {
        let grown = tasks.iter().filter(|task| !task.is_new).flat_map(|task| &task.table.indexes);
        grown.map(|index| self.root_page(&index.name)).collect()
    }

    /// Returns the root pages of a table and its indexes, and the right edge of the table's B-tree, after which rows are appended.
    fn existing_trees(
        &self,
        task: &Task<'_>,
        roots: &HashMap<String, u32>,
        page_count: u32,
    ) -> Result<ExistingTrees> {
        let Task { table, is_new, .. } = task;
        let root_of = |name: &str| roots.get(&name.to_ascii_lowercase()).copied().unwrap_or(0);
        let root_page = root_of(&table.name);
        let indexes = table.indexes.iter().map(|index| root_of(&index.name)).collect();
        let mut edge = match *is_new || self.is_emptied(task)? {
            true => Edge::default(),
            false => {
                let geometry = self.existing().geometry();
                edge::read(root_page, page_count, geometry, |number| self.read_page(number))?
            }
        };
        if table.autoincrement {
            edge.counted_from = edge.counted_from.max(self.sequence(table)?.unwrap_or(0)).max(0);
        }
        Ok(ExistingTrees { root_page, indexes, edge })
    }

    /// Returns `true` if this transaction has deleted all rows of the table. In this case, SQLite's page cache has an empty root page, but
    /// the file still has the old root page, so the right edge must not be read from the file.
    fn is_emptied(&self, task: &Task<'_>) -> Result<bool> {
        if task.plan.action != Action::Replace {
            return Ok(false);
        }
        let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM main.{})", quoted(&task.table.name));
        self.connection().query_row(&sql, [], |row| row.get(0)).map_err(|error| self.failed(error, "read"))
    }

    /// Returns the largest rowid that an AUTOINCREMENT table has ever had, or `None` if the table never had a row.
    fn sequence(&self, table: &Table) -> Result<Option<i64>> {
        let sql = "SELECT max(CAST(seq AS INTEGER)) FROM main.sqlite_sequence WHERE name = ?1";
        self.connection()
            .query_row(sql, [&table.name], |row| row.get(0))
            .map_err(|error| self.failed(error, "read the sequences of"))
    }

    /// Records the largest rowid of an AUTOINCREMENT table in `sqlite_sequence`, as SQLite does for each row.
    pub(crate) fn note_sequence(&self, table: &Table, largest: Option<i64>) -> Result<()> {
        // `sqlite_sequence` has no row for a table that never had a row.
        let Some(largest) = largest.map(|largest| largest.max(0)) else { return Ok(()) };
        let noted = || {
            let update =
                "UPDATE main.sqlite_sequence SET seq = max(CAST(seq AS INTEGER), ?2) WHERE name = ?1";
            if self.connection().execute(update, rusqlite::params![table.name, largest])? == 0 {
                let insert = "INSERT INTO main.sqlite_sequence (name, seq) VALUES (?1, ?2)";
                self.connection().execute(insert, rusqlite::params![table.name, largest])?;
            }
            Ok(())
        };
        noted().map_err(|error| self.failed(error, "update sqlite_sequence in"))
    }

    /// Has SQLite do the work that is left when the rows are written: other indexes, views, triggers, checks of constraints, ANALYZE.
    fn finish(&self, plan: &Plan, schema: &Schema, phases: &mut Phases<'_>) -> Result<()> {
        let work = Work { schema, plan };
        if !work.is_needed() && schema.others.is_empty() {
            return Ok(());
        }
        phases.time("sqlite");
        // Foreign keys may refer to tables that get no rows. So the schema for the checks has all tables.
        let all = self.existing().schema()?;
        let more = all.tables.into_iter().filter(|table| schema.table(&table.name).is_none());
        let mut schema = schema.clone();
        schema.tables.extend(more);
        let context = Context::default().progress(phases.progress()).cancel(self.cancel());
        Work { schema: &schema, plan }.finish_in(self.connection(), self.existing().path(), &context)
    }
}

/// Writes the tables of `schema`, or rows of existing tables, to the database at `target` as pages. For tests.
///
/// # Errors
/// If the tables can't be written. The database is then unchanged.
#[doc(hidden)]
pub fn write_into(
    target: &Path,
    schema: &Schema,
    sources: Vec<Box<dyn Source + '_>>,
    options: &WriteOptions,
    busy_timeout: Duration,
    context: &Context<'_>,
) -> Result<Report> {
    let target = Target::resolve(target, options);
    let mut existing = Existing::open(&target, busy_timeout)?.with_pending_byte(options.tuning.pending_byte);
    let plan = Plan::new(schema, Some(target), options)?;
    let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
        table,
        coercion: Coercion::All,
        source,
    });
    let started = Instant::now();
    let mut phases = Phases::new(context.progress, "write");
    let page_bytes = existing.geometry().page_bytes();
    let mut transaction = existing.begin(&context.cancel.child())?;
    let outcome = transaction.write(&plan, schema, jobs.collect(), None, &mut phases)?;
    phases.begin("commit", None);
    transaction.commit()?;
    let Outcome { tables, page_count, output, .. } = outcome;
    let bytes = u64::from(page_count) * page_bytes as u64;
    let report = Report::of(&plan, &tables, page_count, output, started, phases);
    Ok(Report { page_bytes, bytes, ..report })
}
