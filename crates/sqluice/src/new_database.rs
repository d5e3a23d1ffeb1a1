//! A new database from start to end: the tables' pages, the schema, page 1, and then its name.

use std::path::{Path, PathBuf};
use std::time::Instant;

use sqluice_format::chunk::Chunk;
use sqluice_format::database::{Header, SchemaEntry, write_schema};
use sqluice_format::page::{self, DATABASE_HEADER_BYTES, PageKind};
use sqluice_format::record;
use sqluice_format::tree::{AppendPage, Child, TableTree};
use sqluice_format::value::Value;

use crate::error::{Error, Result};
use crate::output::{Discard, NewFile, Output};
use crate::pipeline::{self, Appender, Job, Settings, Written, WrittenTree};
use crate::plan::{Plan, TablePlan};
use crate::progress::{Cancel, Progress};
use crate::reject::RejectFile;
use crate::report::{IndexReport, Phases, Report, TableReport};
use crate::schema::{Schema, Table};

/// Writes what `plan` says: the tables of `schema`, in their order, with the rows of `jobs`; bad rows to `rejects`, if that is
/// there.
pub(crate) fn write(
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    mut rejects: Option<RejectFile>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Report> {
    let started = Instant::now();
    let geometry = plan.geometry();
    let mut output: Box<dyn Output> = match plan.wanted() {
        Some(wanted) => Box::new(NewFile::create(&wanted, geometry.page_bytes())?),
        None => Box::new(Discard),
    };
    let settings = Settings {
        geometry,
        workers: plan.threads,
        chunk_bytes: plan.chunk_bytes,
        chunks_per_worker: plan.chunks_per_worker,
        sort_bytes: plan.sort_bytes as usize,
        temp_dir: temp_dir(plan),
        on_conflict: plan.on_conflict,
    };
    let mut phases = Phases::new(progress, "load");
    let jobs = jobs.into_iter().zip(&plan.tables).collect();
    let mut pages = pipeline::run(jobs, &settings, &mut *output, rejects.as_mut(), &mut phases, cancel)?;

    let sequence = sequences(schema, &pages.tables, &mut pages.appender);
    let entries = entries(schema, &pages.tables, sequence);
    let mut page_1 = write_schema(&entries, geometry, &mut pages.appender);
    let page_count = pages.appender.page_count();
    let version = u32::try_from(rusqlite::version_number())
        .map_err(|error| Error::target("SQLite tells no version").because(error))?;
    let header = Header {
        schema_cookie: entries.len().max(1) as u32,
        user_version: schema.user_version.cast_unsigned(),
        application_id: schema.application_id.cast_unsigned(),
        ..Header::new(geometry, page_count, version)
    };
    page_1[..DATABASE_HEADER_BYTES].copy_from_slice(&header.to_bytes());
    let checksum = pages.appender.finish(&page_1, &mut *output)?;
    cancel.check()?;
    phases.begin("sync", None);
    let described = output.describe();
    // Before the database: what is not in it is in that file, whatever happens.
    rejects.take_if(|rejects| rejects.rows() > 0).map_or(Ok(()), RejectFile::finish)?;
    output.commit()?;
    rejects.map_or(Ok(()), RejectFile::finish)?;

    let tables = plan.tables.iter().zip(&pages.tables).map(|(plan, written)| report_of_table(plan, written));
    Ok(Report {
        target: plan.target.clone(),
        rows: pages.tables.iter().map(|table| table.tree.entries).sum(),
        rejected: pages.tables.iter().map(|table| table.rejected).sum(),
        pages: page_count,
        page_bytes: geometry.page_bytes(),
        bytes: u64::from(page_count) * geometry.page_bytes() as u64,
        checksum: checksum.to_hex(),
        output: described,
        threads: plan.threads,
        seconds: started.elapsed().as_secs_f64(),
        phases: phases.finish(),
        tables: tables.collect(),
    })
}

/// Where what does not fit the memory is kept: in the folder of the target, if the user names no other.
fn temp_dir(plan: &Plan) -> PathBuf {
    let beside = || match plan.target.as_deref().and_then(Path::parent) {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) => PathBuf::from("."),
        None => std::env::temp_dir(),
    };
    plan.temp_dir.clone().unwrap_or_else(beside)
}

fn report_of_table(plan: &TablePlan, written: &Written) -> TableReport {
    let WrittenTree { root_page, entries, leaf_pages, interior_pages, overflow_pages } = written.tree;
    let indexes = plan.indexes.iter().zip(&written.indexes).map(|(plan, written)| {
        let tree = written.unwrap_or_default();
        IndexReport {
            name: plan.name.clone(),
            road: plan.road,
            entries: tree.entries,
            root_page: tree.root_page,
            leaf_pages: tree.leaf_pages,
            interior_pages: tree.interior_pages,
            overflow_pages: tree.overflow_pages,
        }
    });
    TableReport {
        name: plan.name.clone(),
        rows: entries,
        rejected: written.rejected,
        ignored: written.ignored,
        road: plan.road,
        root_page,
        leaf_pages,
        interior_pages,
        overflow_pages,
        indexes: indexes.collect(),
    }
}

/// The table that SQLite keeps the largest rowids of AUTOINCREMENT tables in
/// ([§2.6.2](https://www.sqlite.org/fileformat2.html#the_sqlite_sequence_table)).
const SEQUENCE: &str = "sqlite_sequence";

/// Writes that table, if there is a table that needs it; returns its root.
fn sequences(schema: &Schema, written: &[Written], appender: &mut Appender) -> Option<u32> {
    let numbered = schema.tables.iter().zip(written).filter(|(table, _)| table.autoincrement);
    let geometry = appender.geometry();
    let mut chunk = Chunk::new(geometry, 1);
    let mut rowid = 0;
    let mut any = false;
    let mut leaves = TableTree::new(geometry);
    for (table, written) in numbered {
        any = true;
        // A table that never had a row is not there.
        let Some(largest) = written.largest_rowid else { continue };
        let mut record = Vec::new();
        record::encode(&[Value::Text(table.name.as_bytes()), Value::Int(largest.max(0))], &mut record);
        rowid += 1;
        if !chunk.push(rowid, &record) {
            add_leaf(&mut chunk, &mut leaves, appender);
            chunk.push(rowid, &record);
        }
    }
    if !any {
        return None;
    }
    if rowid == 0 {
        let mut empty = vec![0; geometry.page_bytes()];
        page::write_header(&mut empty, PageKind::LeafTable, 0, geometry.usable_bytes());
        return Some(appender.append_page(&empty));
    }
    add_leaf(&mut chunk, &mut leaves, appender);
    Some(leaves.finish(appender))
}

/// Puts the single leaf of a chunk into the tree.
fn add_leaf(chunk: &mut Chunk, tree: &mut TableTree, pages: &mut Appender) {
    chunk.finish();
    let page = pages.append_page(chunk.bytes());
    tree.add_leaf(Child { page, last_rowid: chunk.leaves()[0].last_rowid }, pages);
    chunk.clear();
}

/// The rows of `sqlite_schema`, in the order of the schema.
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
    let tables = schema.tables.iter().zip(written).flat_map(of_table);
    let sequence = sequence.map(|root_page| {
        entry("table", SEQUENCE, SEQUENCE, root_page, Some("CREATE TABLE sqlite_sequence(name,seq)"))
    });
    let others = schema.others.iter().map(|object| {
        entry(&object.kind, &object.name, &object.table, 0, object.sql.as_deref())
    });
    let mut entries: Vec<SchemaEntry> = tables.chain(sequence).chain(others).collect();
    let place = |entry: &SchemaEntry| {
        schema.objects.iter().position(|(kind, name)| (kind, name) == (&entry.kind, &entry.name))
    };
    entries.sort_by_cached_key(place);
    entries
}
