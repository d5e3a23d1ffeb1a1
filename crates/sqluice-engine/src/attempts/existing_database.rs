//! Changes an existing database from start to end in one transaction.
//!
//! ```text
//!  begin    the write lock; the schema must be the one that the plan was made for
//!  pages    tables whose rows are written as pages, each with its indexes (`existing`)
//!  insert   tables whose rows SQLite inserts; a new table gets its non-unique indexes after the rows
//!  others   views and triggers, so that no new trigger fires for the rows; foreign keys of the tables written as pages; ANALYZE
//!  commit
//! ```
//!
//! Before the rows of an existing table are written, columns are added to the table, and its old rows are deleted if the new rows replace
//! them.
//!
//! Pages can't be written directly while, for example, another process reads the WAL. This can become known only under the write lock.
//! SQLite then inserts all rows.

use std::time::Instant;

use sqluice_core::error::{Assumption, Error, Result};
use sqluice_core::progress::Context;
use sqluice_core::schema::{Object, Schema, Table, quoted};
use sqluice_core::source::BadRow;

use crate::existing::{Existing, Outcome, Transaction};
use crate::insert::{self, Insert, Inserted};
use crate::options::{Action, OnConflict, WritePath};
use crate::output;
use crate::phases::Phases;
use crate::plan::{ExistingPlan, Plan, TablePlan};
use crate::reject::RejectFile;
use crate::report::{ExistingReport, Report};
use crate::sqlite::{check_foreign_keys, refuse_cascade};
use crate::trees::{Job, Written, WrittenTree};

/// The largest size in bytes of a database in which the rows of a table are counted before and after the inserts, to report how many rows
/// were replaced. Up to this size, counting takes some milliseconds.
const COUNTED_BYTES_MAX: u64 = 64 << 20;

/// Writes the rows of `jobs` into the existing database as `plan` says. `jobs` has the rows of each table of `schema`, in the order of the
/// tables. Bad rows go to `rejects`, if given. `phase` names the phase that the caller has begun; the report lists its time.
///
/// # Errors
/// If a row can't be stored, another process keeps the database locked, or the database can't be written. The database is unchanged then,
/// except that its state is unknown if SQLite could not write while it committed. The error may refute an [`Assumption`] of the plan.
pub(crate) fn write(
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    mut rejects: Option<RejectFile>,
    phase: &str,
    context: &Context<'_>,
) -> Result<Report> {
    let started = Instant::now();
    let (Some(target), Some(known)) = (&plan.target, &plan.existing) else {
        return Err(Error::usage("no existing database is named"));
    };
    let mut existing = Existing::open(target, known.busy_timeout)?.with_pending_byte(plan.pending_byte);
    existing.set_foreign_keys(plan.foreign_keys)?;
    // Removes temporary files that killed processes left behind.
    let path = target.path()?;
    let mut removed = Vec::new();
    for folder in plan.temp_dir.iter().chain([&path.folder]) {
        removed.extend(output::remove_stale(folder, &path.file_name));
    }
    let mut phases = Phases::new(context.progress, phase);
    let mut transaction = existing.begin(&context.cancel)?;
    let journal_mode_before = transaction.existing().journal_mode().to_owned();
    refuse_changed(&transaction, known)?;
    let tables: Vec<&str> = schema.tables.iter().map(|table| table.name.as_str()).collect();
    transaction.refuse_damaged(&tables)?;
    let pages_before = transaction.page_count()?;
    let plan = match transaction.obstacle()? {
        Some(why) => &plan.by_insert(schema, &why),
        None => plan,
    };
    let mut attempt =
        ExistingDatabaseAttempt { plan, schema, rejects: rejects.as_mut(), phases: &mut phases, context };
    let Outcome { tables, pages_written, output, .. } = attempt.write(&mut transaction, jobs)?;
    let pages = transaction.page_count()?;
    phases.begin("commit", None);
    RejectFile::finish_around(rejects, || transaction.commit())?;
    let journal_mode_after = existing.connection().query_row("PRAGMA journal_mode", [], |row| row.get(0));
    let journal_mode_after = journal_mode_after.unwrap_or_else(|_| journal_mode_before.clone());
    drop(existing);

    let all = |of: fn(&TablePlan) -> &Vec<String>| plan.tables.iter().flat_map(of).cloned().collect();
    let mut full_text: Vec<String> = all(|table| &table.full_text);
    for name in plan.tables.iter().flat_map(|table| &table.asked.names) {
        if !full_text.contains(name) {
            full_text.push(name.clone());
        }
    }
    let about = ExistingReport {
        journal_mode_before,
        journal_mode_after,
        pages_before,
        pages_written,
        full_text_behind: all(|table| &table.full_text_behind),
    };
    let existing = Some(about);
    Ok(Report { existing, full_text, removed, ..Report::of(plan, &tables, pages, output, started, phases) })
}

/// Returns an error if another process has changed the schema since the plan was made. `known` has the schema version of that time.
fn refuse_changed(transaction: &Transaction<'_>, known: &ExistingPlan) -> Result<()> {
    let version = "PRAGMA main.schema_version";
    let version: i64 = transaction
        .connection()
        .query_row(version, [], |row| row.get(0))
        .map_err(|error| transaction.failed(error, "read"))?;
    if version == known.schema_version {
        return Ok(());
    }
    let name = transaction.existing().name().display();
    Err(Error::target(format!("the schema of {name} has changed since the run was planned"))
        .hint("run again")
        .refuting(Assumption::Schema))
}

/// An attempt to write into an existing database.
struct ExistingDatabaseAttempt<'r, 'p> {
    plan: &'r Plan,
    schema: &'r Schema,
    rejects: Option<&'r mut RejectFile>,
    phases: &'r mut Phases<'p>,
    context: &'r Context<'r>,
}

impl ExistingDatabaseAttempt<'_, '_> {
    /// Does all work of the transaction between begin and commit, and returns the written tables.
    fn write(&mut self, transaction: &mut Transaction<'_>, jobs: Vec<Job<'_>>) -> Result<Outcome> {
        let (by_insert, by_pages): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .enumerate()
            .partition(|(index, _)| self.plan.tables[*index].write_path == WritePath::Insert);
        let mut tables = vec![Written::default(); self.schema.tables.len()];
        let mut outcome = Outcome { tables: Vec::new(), page_count: 0, pages_written: 0, output: "sqlite" };
        if !by_pages.is_empty() {
            let (indexes, jobs): (Vec<usize>, Vec<Job<'_>>) = by_pages.into_iter().unzip();
            outcome = self.pages(transaction, &indexes, jobs)?;
            indexes.iter().zip(outcome.tables).for_each(|(&index, written)| tables[index] = written);
        }
        for (index, job) in by_insert {
            tables[index] = self.insert(transaction, index, job)?;
            let table = &self.schema.tables[index];
            if table.autoincrement {
                transaction.note_sequence(table, table.largest_given)?;
            }
        }
        for table in self.plan.tables.iter().filter(|table| table.asked.is_remade) {
            let means = transaction.means_of_text(self.plan, self.phases.progress())?;
            transaction.remake_asked(&table.asked, &means)?;
        }
        self.finish(transaction)?;
        Ok(Outcome { tables, ..outcome })
    }

    /// Writes the rows of `jobs` directly as pages. `indexes` has, for each job, the position of its table in the schema's `tables`.
    fn pages(
        &mut self,
        transaction: &mut Transaction<'_>,
        indexes: &[usize],
        jobs: Vec<Job<'_>>,
    ) -> Result<Outcome> {
        let tables: Vec<Table> = indexes.iter().map(|&index| self.schema.tables[index].clone()).collect();
        let mut schema = self.schema.clone();
        (schema.tables, schema.others) = (tables, Vec::new());
        let tables: Vec<TablePlan> = indexes.iter().map(|&index| self.plan.tables[index].clone()).collect();
        tables.iter().try_for_each(|table| change(transaction, table))?;
        // Views, triggers, foreign keys and ANALYZE are left out of this plan, because `finish` does this work after all tables.
        let plan =
            Plan { tables, others: Vec::new(), analyze: false, foreign_keys: false, ..self.plan.clone() };
        transaction.write(&plan, &schema, jobs, self.rejects.as_deref_mut(), self.phases)
    }

    /// Lets SQLite insert the rows of a table. If the table is new, creates it before, and its non-unique indexes afterwards.
    fn insert(&mut self, transaction: &Transaction<'_>, index: usize, job: Job<'_>) -> Result<Written> {
        let (plan, table) = (&self.plan.tables[index], &self.schema.tables[index]);
        let make = |which: &dyn Fn(bool) -> bool| {
            let indexes = table.indexes.iter().filter(|index| which(index.unique));
            indexes.filter_map(|index| index.sql.as_deref()).try_for_each(|sql| transaction.execute(sql))
        };
        change(transaction, plan)?;
        if plan.action == Action::Make {
            transaction.execute(&plan.sql)?;
            make(&|unique| unique)?;
        }
        let asked = (!plan.asked.names.is_empty() && !plan.asked.is_remade).then_some(&plan.asked);
        let state = asked.map(|asked| transaction.begin_asked(table, asked)).transpose()?;
        let written = self.store(transaction, index, job)?;
        if let (Some(asked), Some(state)) = (asked, state) {
            let means = transaction.means_of_text(self.plan, self.phases.progress())?;
            transaction.end_asked(table, asked, state, &means)?;
        }
        if plan.action == Action::Make {
            self.phases.begin("indexes", None);
            make(&|unique| !unique)?;
        }
        Ok(written)
    }

    /// Lets SQLite insert the rows of a table that was there before or has just been created, and counts how many rows were replaced.
    fn store(&mut self, transaction: &Transaction<'_>, index: usize, job: Job<'_>) -> Result<Written> {
        let (plan, table) = (&self.plan.tables[index], &self.schema.tables[index]);
        let (workers, known) = (self.plan.threads, self.plan.existing.as_ref());
        let upsert = known.filter(|_| plan.action == Action::Upsert).map(|known| known.upsert.clone());
        let of_one = Insert::new(table);
        let how = Insert {
            columns: plan.columns.clone().unwrap_or(of_one.columns),
            coercion: job.coercion,
            on_conflict: self.plan.on_conflict,
            upsert: upsert.unwrap_or_default(),
            workers,
            worker_bytes: (self.plan.memory_bytes as usize / 4 / workers.max(1)).min(of_one.worker_bytes),
            ..of_one
        };
        let replaces = plan.action == Action::Upsert || how.on_conflict == OnConflict::Replace;
        let before = if replaces { self.counted(transaction, table)? } else { None };
        let mut add = self.rejects.as_deref_mut().map(|rejects| move |bad: &BadRow| rejects.add(bad));
        let rejects = add.as_mut().map(|add| add as &mut insert::Rejects<'_>);
        let inserted = if table.is_virtual && plan.full_text.contains(&table.name) {
            let means = transaction.means_of_text(self.plan, self.phases.progress())?;
            transaction.insert_texts(table, job.source, how, rejects, (self.context, &means))
        } else {
            insert::insert(transaction.connection(), table, job.source, &how, rejects, self.context)
        };
        let Inserted { rows, ignored, rejected } = inserted?;
        let root_page = transaction.root_page(&table.name)?;
        let tree = WrittenTree { root_page, entries: rows, ..WrittenTree::default() };
        let indexes = vec![None; table.indexes.len()];
        let replacing = match before {
            Some(before) => {
                let after = self.counted(transaction, table)?;
                after.map(|after| before.saturating_add(rows).saturating_sub(after))
            }
            None => None,
        };
        Ok(Written { tree, rejected, ignored, replacing, indexes, ..Written::default() })
    }

    /// Counts the rows of a table, to find out how many rows the inserts replace. Returns `None` if counting would take too long, or if the
    /// table has triggers, which may add or delete rows as well.
    fn counted(&self, transaction: &Transaction<'_>, table: &Table) -> Result<Option<u64>> {
        let bytes = u64::from(transaction.page_count()?) * self.plan.page_bytes as u64;
        if bytes > COUNTED_BYTES_MAX {
            return Ok(None);
        }
        let no_triggers = "NOT EXISTS (SELECT 1 FROM main.sqlite_schema \
                           WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE)";
        let sql =
            format!("SELECT iif({no_triggers}, (SELECT count(*) FROM main.{}), NULL)", quoted(&table.name));
        let counted =
            transaction.connection().query_row(&sql, [&table.name], |row| row.get::<_, Option<i64>>(0));
        let counted = counted.map_err(|error| transaction.failed(error, "read"))?;
        Ok(counted.and_then(|rows| u64::try_from(rows).ok()))
    }

    /// Creates views and triggers, checks foreign keys, and runs ANALYZE. All rows must be written already.
    fn finish(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        // Virtual tables with rows exist already.
        let is_made = |object: &&Object| {
            object.kind == "table" && self.schema.table(&object.name).is_some_and(|table| table.is_virtual)
        };
        let others = self.schema.others.iter().filter(|object| !is_made(object));
        for sql in others.filter_map(|object| object.sql.as_deref()) {
            transaction.execute(sql)?;
        }
        let tables = || self.schema.tables.iter().zip(&self.plan.tables);
        if self.plan.foreign_keys {
            // SQLite has checked the rows that it inserted, so only tables that were written as pages are checked.
            let by_pages =
                tables().filter(|(table, plan)| table.foreign_keys && plan.write_path != WritePath::Insert);
            let by_pages: Vec<_> = by_pages.collect();
            if !by_pages.is_empty() {
                let schema = transaction.existing().schema()?;
                for (table, _) in by_pages {
                    check_foreign_keys(transaction.connection(), &schema, table)?;
                }
            }
        }
        if self.plan.analyze {
            self.phases.begin("analyze", None);
            for (table, _) in tables() {
                transaction.execute(&format!("ANALYZE main.{}", quoted(&table.name)))?;
            }
        }
        Ok(())
    }
}

/// Prepares an existing table for new rows: adds columns, and deletes all rows if the plan replaces them.
fn change(transaction: &Transaction<'_>, plan: &TablePlan) -> Result<()> {
    plan.alter.iter().try_for_each(|sql| transaction.execute(sql))?;
    if plan.action == Action::Replace {
        refuse_cascade(transaction.connection(), &plan.name)?;
        // Foreign keys are checked only at the commit, because rows that are deleted now may be inserted again until then.
        transaction.execute("PRAGMA defer_foreign_keys = ON")?;
        transaction.delete_rows(&plan.name)?;
    }
    Ok(())
}
