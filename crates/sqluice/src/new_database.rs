//! A new database from start to end: the tables' pages, the schema, page 1, and then its name.

use std::time::Instant;

use sqluice_format::database::{Header, SchemaEntry, write_schema};
use sqluice_format::page::DATABASE_HEADER_BYTES;

use crate::error::{Error, Result};
use crate::output::{Discard, NewFile, Output};
use crate::pipeline::{self, Job, Settings, Written};
use crate::plan::Plan;
use crate::progress::{Cancel, Progress};
use crate::reject::RejectFile;
use crate::report::{Report, TableReport};
use crate::schema::Schema;

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
    };
    let mut pages = pipeline::run(jobs, settings, &mut *output, rejects.as_mut(), progress, cancel)?;

    let mut page_1 = write_schema(&entries(schema, &pages.tables), geometry, &mut pages.appender);
    let page_count = pages.appender.page_count();
    let version = u32::try_from(rusqlite::version_number())
        .map_err(|error| Error::target("SQLite tells no version").because(error))?;
    let header = Header {
        schema_cookie: (schema.tables.len() + schema.others.len()).max(1) as u32,
        user_version: schema.user_version.cast_unsigned(),
        application_id: schema.application_id.cast_unsigned(),
        ..Header::new(geometry, page_count, version)
    };
    page_1[..DATABASE_HEADER_BYTES].copy_from_slice(&header.to_bytes());
    let checksum = pages.appender.finish(&page_1, &mut *output)?;
    cancel.check()?;
    progress.phase("sync", None);
    let described = output.describe();
    // Before the database: what is not in it is in that file, whatever happens.
    rejects.take_if(|rejects| rejects.rows() > 0).map_or(Ok(()), RejectFile::finish)?;
    output.commit()?;
    rejects.map_or(Ok(()), RejectFile::finish)?;

    let tables = plan.tables.iter().zip(&pages.tables).map(|(table, written)| TableReport {
        name: table.name.clone(),
        rows: written.rows,
        rejected: written.rejected,
        road: table.road,
        root_page: written.root_page,
        leaf_pages: written.leaf_pages,
        interior_pages: written.interior_pages,
        overflow_pages: written.overflow_pages,
        indexes: Vec::new(),
    });
    Ok(Report {
        target: plan.target.clone(),
        rows: pages.tables.iter().map(|table| table.rows).sum(),
        rejected: pages.tables.iter().map(|table| table.rejected).sum(),
        pages: page_count,
        page_bytes: geometry.page_bytes(),
        bytes: u64::from(page_count) * geometry.page_bytes() as u64,
        checksum: checksum.to_hex(),
        output: described,
        threads: plan.threads,
        seconds: started.elapsed().as_secs_f64(),
        phases: Vec::new(),
        tables: tables.collect(),
    })
}

/// The rows of `sqlite_schema`: tables with their root pages, then what has none.
fn entries(schema: &Schema, written: &[Written]) -> Vec<SchemaEntry> {
    let tables = schema.tables.iter().zip(written).map(|(table, written)| SchemaEntry {
        kind: "table".to_owned(),
        name: table.name.clone(),
        table: table.name.clone(),
        root_page: written.root_page,
        sql: Some(table.sql.clone()),
    });
    let others = schema.others.iter().map(|object| SchemaEntry {
        kind: object.kind.clone(),
        name: object.name.clone(),
        table: object.table.clone(),
        root_page: 0,
        sql: object.sql.clone(),
    });
    tables.chain(others).collect()
}
