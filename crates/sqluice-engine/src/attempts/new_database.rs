//! Writes a new database: the pages of the tables, the schema, page 1, and at last the name of the file.

use std::collections::HashMap;
use std::time::Instant;

use sqluice_core::checksum::Checksum;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::schema::{Schema, Table};
use sqluice_core::source::project::Project;
use sqluice_format::database::{Header, SchemaEntry, write_schema};
use sqluice_format::page::{DATABASE_HEADER_BYTES, PageKind};

use crate::full_text::given;
use crate::options::{OnConflict, WritePath};
use crate::output::{self, Discard, Output, ReadBack, Replacement, Scratch};
use crate::phases::Phases;
use crate::plan::{Plan, TablePlan};
use crate::reject::RejectFile;
use crate::report::Report;
use crate::sqlite::Work;
use crate::trees::{
    self, Appender, Job, Pages, Settings, Written, WrittenTree, append_empty_leaf, sequence_table,
};

/// Writes the rows of `jobs` to a new database as `plan` says. `jobs` has the rows of each table of `schema`, in the order of the tables.
/// Bad rows go to `rejects`, if given. `phase` names the phase that the caller has begun; the report lists its time.
pub(crate) fn write(
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    mut rejects: Option<RejectFile>,
    phase: &str,
    context: &Context<'_>,
) -> Result<Report> {
    let started = Instant::now();
    let work = Work { schema, plan };
    let (mut replaced, mut removed) = (None, Vec::new());
    let mut output: Box<dyn Output> = match plan.wanted() {
        Some(wanted) => {
            let folder = plan.temp_dir()?;
            let folder = work.is_needed().then_some(&*folder);
            let created = output::create(&wanted, plan.geometry(), None, folder, &context.cancel)?;
            (replaced, removed) = (created.replaced, created.removed);
            created.output
        }
        None if work.is_needed() => return Err(nowhere(plan)),
        None => Box::new(Discard),
    };
    // Removes temporary files that killed processes left behind, even in a folder that is not used now.
    if let (Some(folder), Some(target)) = (&plan.temp_dir, &plan.target) {
        removed.extend(output::remove_stale(folder, &target.path()?.file_name));
    }
    let mut phases = Phases::new(context.progress, phase);
    let mut attempt =
        NewDatabaseAttempt { plan, rejects: rejects.as_mut(), phases: &mut phases, cancel: &context.cancel };
    let mut file = attempt.whole(schema, jobs, &mut *output)?;
    if let (true, Some(path)) = (work.is_needed(), output.path()) {
        ReadBack { page_count: file.page_count, checksum: file.checksum } =
            output::read_back(path, plan.geometry(), context)?;
    }
    context.cancel.check()?;
    phases.begin("sync", None);
    let described = output.describe();
    let replacement = RejectFile::finish_around(rejects, || output.commit())?;
    let report = Report::of(plan, &file.tables, file.page_count, described, started, phases);
    let report = Report { full_text: full_text(schema, plan), replaced, removed, ..report };
    Ok(match &replacement {
        Some(Replacement::Transaction { .. }) => Report { output: "sqlite", replacement, ..report },
        _ => Report { checksum: file.checksum.to_hex(), replacement, ..report },
    })
}

/// Returns the full-text tables whose indexes are made when all rows are stored: first those that are given rows, then those whose text is
/// in other tables or views.
fn full_text(schema: &Schema, plan: &Plan) -> Vec<String> {
    let given = schema.tables.iter().filter(|table| table.is_virtual);
    let given = given.filter(|table| given::is_built_here(table, plan.on_conflict).is_ok());
    given.map(|table| table.name.clone()).chain(plan.full_text.iter().cloned()).collect()
}

/// Writes the rows of `jobs` to the file `output` as `plan` says. The file is neither synced nor renamed. `plan.target` is the database for
/// which the file is needed.
///
/// # Errors
/// If a row can't be stored or the file can't be written.
pub(crate) fn write_unfinished(
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    output: &mut dyn Output,
    phases: &mut Phases<'_>,
    cancel: &Cancel,
) -> Result<()> {
    NewDatabaseAttempt { plan, rejects: None, phases, cancel }.whole(schema, jobs, output).map(drop)
}

/// Completes `written`, the report on all tables, with the tables that SQLite filled and the indexes that SQLite built. `staged` and
/// `stored` have an element for each table that SQLite filled: `staged` the rows that SQLite got, `stored` the number of rows that it kept.
fn take_over(schema: &Schema, plan: &Plan, written: &mut [Written], staged: &[Written], stored: &[u64]) {
    let mut filled = staged.iter().zip(stored);
    for ((table, plan), written) in schema.tables.iter().zip(&plan.tables).zip(written) {
        if plan.write_path == WritePath::Sqlite
            && let Some((staged, &stored)) = filled.next()
        {
            let root_page = written.tree.root_page;
            written.tree = WrittenTree { root_page, entries: stored, ..WrittenTree::default() };
            (written.rejected, written.ignored) = (staged.rejected, staged.tree.entries - stored);
        }
        let write_paths = plan.indexes.iter().map(|index| index.write_path);
        for ((index, write_path), made) in table.indexes.iter().zip(write_paths).zip(&mut written.indexes) {
            if write_path == WritePath::Sqlite {
                let root_page = made.map_or(0, |made| made.root_page);
                // The number of entries of a partial index is not known here.
                let entries = if index.partial { 0 } else { written.tree.entries };
                *made = Some(WrittenTree { root_page, entries, ..WrittenTree::default() });
            }
        }
    }
}

/// Returns the error for a run without a target whose plan needs SQLite.
fn nowhere(plan: &Plan) -> Error {
    let by_sqlite = plan.tables.iter().find(|table| table.write_path == WritePath::Sqlite);
    let why = by_sqlite.map_or("a constraint or an index", |table| table.why.as_str());
    Error::usage(format!("SQLite must do a part of the work, and needs a target database for it: {why}"))
        .hint("name a target, or leave out of the schema what needs SQLite")
}

/// Divides the jobs into those whose rows are written as pages, and those whose rows SQLite inserts. The second kind gets a source without
/// generated columns.
fn divide<'a>(schema: &Schema, plan: &Plan, jobs: Vec<Job<'a>>) -> (Vec<Job<'a>>, Vec<Job<'a>>) {
    let (mut direct, mut staged) = (Vec::new(), Vec::new());
    for ((job, table), plan) in jobs.into_iter().zip(&schema.tables).zip(&plan.tables) {
        if plan.write_path != WritePath::Sqlite {
            direct.push(job);
            continue;
        }
        let given = (0..table.columns.len()).filter(|&column| table.columns[column].generated.is_none());
        let source = Box::new(Project::new(job.source, given.collect()));
        staged.push(Job { source, ..job });
    }
    (direct, staged)
}

/// An attempt to write a new database.
struct NewDatabaseAttempt<'r, 'p> {
    plan: &'r Plan,
    rejects: Option<&'r mut RejectFile>,
    phases: &'r mut Phases<'p>,
    cancel: &'r Cancel,
}

/// The result of writing all pages of a database file.
struct File {
    tables: Vec<Written>,
    page_count: u32,
    checksum: Checksum,
}

/// A temporary database with the rows that SQLite will insert, and the row counts of its tables.
struct Staging {
    file: Scratch,
    tables: Vec<Written>,
}

impl NewDatabaseAttempt<'_, '_> {
    /// Writes all pages of the database, and lets SQLite do what needs SQLite: insert rows from a temporary database, and create indexes,
    /// views and triggers.
    fn whole(&mut self, schema: &Schema, jobs: Vec<Job<'_>>, output: &mut dyn Output) -> Result<File> {
        let NewDatabaseAttempt { plan, cancel, .. } = *self;
        let work = Work { schema, plan };
        let (direct, staged) = divide(schema, plan, jobs);
        let staging = work.staging_schema()?;
        let staging = staging.map(|schema| self.stage(&schema, staged)).transpose()?;
        let mut file = self.pages(schema, &plan.tables, direct, work.is_needed(), output)?;
        if let (true, Some(path)) = (work.is_needed(), output.path()) {
            self.phases.time("sqlite");
            let staged = staging.as_ref().map(|staging| staging.file.path());
            let context = Context::default().progress(self.phases.progress()).cancel(cancel);
            let stored = work.finish(path, staged, &context)?;
            let staged = staging.as_ref().map_or(&[][..], |staging| &staging.tables);
            take_over(schema, plan, &mut file.tables, staged, &stored);
        }
        Ok(file)
    }

    /// Writes the rows that SQLite will insert to a temporary database, from which SQLite reads them.
    fn stage(&mut self, schema: &Schema, jobs: Vec<Job<'_>>) -> Result<Staging> {
        let target = self.plan.target.as_ref();
        let mut file = target.expect("`nowhere` has refused a plan without a target").scratch()?;
        let jobs = jobs.into_iter().zip(&schema.tables).map(|(job, table)| Job { table, ..job });
        let plans: Vec<TablePlan> =
            schema.tables.iter().map(|table| TablePlan::new(table, OnConflict::Abort)).collect();
        let tables = self.pages(schema, &plans, jobs.collect(), false, &mut file)?.tables;
        Ok(Staging { file, tables })
    }

    /// Writes all pages of a database. A table that SQLite will fill, and its automatic indexes, get an empty root. If SQLite has work left
    /// (`unfinished`), views and triggers are not in the schema yet.
    fn pages(
        &mut self,
        schema: &Schema,
        plans: &[TablePlan],
        jobs: Vec<Job<'_>>,
        unfinished: bool,
        output: &mut dyn Output,
    ) -> Result<File> {
        let plan = self.plan;
        let settings = Settings {
            geometry: plan.geometry(),
            workers: plan.threads,
            chunk_bytes: plan.chunk_bytes,
            chunks_per_worker: plan.chunks_per_worker,
            sort_bytes: plan.sort_bytes as usize,
            temp_dir: plan.temp_dir()?,
            ignores_checks: plan.ignores_checks,
            on_conflict: plan.on_conflict,
            page_count: 1,
            counted_from: plan.first_rowid.wrapping_sub(1),
        };
        let direct = plans.iter().filter(|plan| plan.write_path != WritePath::Sqlite);
        let jobs = jobs.into_iter().zip(direct).map(|(job, plan)| (job, plan, None)).collect();
        let Pages { tables, mut appender } = trees::write_tables(
            jobs,
            &settings,
            None,
            output,
            self.rejects.as_deref_mut(),
            self.phases,
            self.cancel,
        )?;
        let mut direct = tables.into_iter();
        let tables: Vec<Written> = schema
            .tables
            .iter()
            .zip(plans)
            .map(|(table, plan)| {
                let written = if plan.write_path == WritePath::Sqlite { None } else { direct.next() };
                with_empty_trees(table, written, &mut appender)
            })
            .collect();

        let sequence = sequences(schema, &tables, &mut appender)?;
        let mut entries = entries(schema, &tables, sequence);
        if unfinished {
            entries.retain(|entry| entry.root_page != 0);
        }
        let mut page_1 = write_schema(&entries, settings.geometry, &mut appender);
        let page_count = appender.page_count();
        let version = u32::try_from(rusqlite::version_number())
            .map_err(|error| Error::target("SQLite reports no version").because(error))?;
        let header = Header {
            schema_cookie: entries.len().max(1) as u32,
            user_version: schema.user_version.cast_unsigned(),
            application_id: schema.application_id.cast_unsigned(),
            ..Header::new(settings.geometry, page_count, version)
        };
        page_1[..DATABASE_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        let checksum = appender.finish(&page_1, output)?;
        Ok(File { tables, page_count, checksum })
    }
}

/// Completes `written` with an empty root for each tree that SQLite will fill: the table if it was not written, and its automatic indexes,
/// which no later statement creates. A virtual table has no tree.
fn with_empty_trees(table: &Table, written: Option<Written>, appender: &mut Appender) -> Written {
    if table.is_virtual {
        return Written::default();
    }
    let mut empty = |kind| WrittenTree {
        root_page: append_empty_leaf(kind, appender),
        leaf_pages: 1,
        ..WrittenTree::default()
    };
    let mut written = written.unwrap_or_else(|| Written {
        tree: empty(if table.without_rowid { PageKind::LeafIndex } else { PageKind::LeafTable }),
        indexes: vec![None; table.indexes.len()],
        ..Written::default()
    });
    for (index, written) in table.indexes.iter().zip(&mut written.indexes) {
        if index.sql.is_none() && written.is_none() {
            *written = Some(empty(PageKind::LeafIndex));
        }
    }
    written
}

/// Writes the table `sqlite_sequence` if any table has AUTOINCREMENT. Returns its root page.
fn sequences(schema: &Schema, written: &[Written], appender: &mut Appender) -> Result<Option<u32>> {
    let numbered = || schema.tables.iter().zip(written).filter(|(table, _)| table.autoincrement);
    if numbered().next().is_none() {
        return Ok(None);
    }
    // `sqlite_sequence` has no row for a table that never had a row.
    let rows = numbered().filter_map(|(table, written)| {
        let largest = written.largest_rowid.max(table.largest_given)?;
        Some((table.name.clone(), largest.max(0)))
    });
    sequence_table::write(&rows.collect::<Vec<_>>(), appender).map(|tree| Some(tree.root_page))
}

/// Returns the rows of `sqlite_schema`, in the order of `schema.objects`. `sequence` is the root page of `sqlite_sequence`, if it was
/// written.
fn entries(schema: &Schema, written: &[Written], sequence: Option<u32>) -> Vec<SchemaEntry> {
    let entry = |kind: &str, name: &str, table: &str, root_page: u32, sql: Option<&str>| SchemaEntry {
        kind: kind.to_owned(),
        name: name.to_owned(),
        table: table.to_owned(),
        root_page,
        sql: sql.map(str::to_owned),
    };
    let of_table = |(table, written): (&Table, &Written)| {
        let Table { name, sql, .. } = table;
        let indexes = table.indexes.iter().zip(&written.indexes).filter_map(|(index, tree)| {
            tree.map(|tree| entry("index", &index.name, name, tree.root_page, index.sql.as_deref()))
        });
        let table = entry("table", name, name, written.tree.root_page, Some(sql));
        std::iter::once(table).chain(indexes).collect::<Vec<_>>()
    };
    // The entries of virtual tables are made from `schema.others` below.
    let stored = schema.tables.iter().zip(written).filter(|(table, _)| !table.is_virtual);
    let tables = stored.flat_map(of_table);
    let sequence = sequence.map(|root_page| {
        let name = sequence_table::NAME;
        entry("table", name, name, root_page, Some("CREATE TABLE sqlite_sequence(name,seq)"))
    });
    let others = schema
        .others
        .iter()
        .map(|object| entry(&object.kind, &object.name, &object.table, 0, object.sql.as_deref()));
    let mut entries: Vec<SchemaEntry> = tables.chain(sequence).chain(others).collect();
    let places = schema.objects.iter().enumerate().map(|(place, (kind, name))| ((&**kind, &**name), place));
    let places: HashMap<(&str, &str), usize> = places.collect();
    entries.sort_by_cached_key(|entry| places.get(&(&*entry.kind, &*entry.name)).copied());
    entries
}
