//! Estimates the size of a database by encoding the samples and counting the pages.

use sqluice_core::progress::{Cancel, Context};
use sqluice_core::schema::Schema;
use sqluice_core::source::Source;
use sqluice_engine::attempts;
use sqluice_engine::encode::Coercion;
use sqluice_engine::plan::Plan;

use crate::load::request::Request;
use crate::load::tables::jobs;
use crate::load::tables::table::LoadTable;

/// The maximum number of rows of a sample that are encoded. More rows would not help: the rows after the sample may differ by more.
const MEASURED_ROWS_MAX: u64 = 4096;

/// The maximum number of tables whose samples are encoded.
const MEASURED_TABLES_MAX: usize = 32;

/// Returns the estimated size of the database in bytes: the pages of each table's sample, scaled to all of its rows. If the database has
/// many tables, only some are measured, and the others are assumed to be similar. Returns `None` if the size of the input is unknown or a
/// sample can't be read.
pub(crate) fn bytes(
    load: &Request,
    tables: &mut [LoadTable],
    schema: &Schema,
    plan: &Plan,
    stop: &Cancel,
) -> Option<u64> {
    let scales =
        tables.iter().map(|table| table.scale(load, MEASURED_ROWS_MAX)).collect::<Option<Vec<f64>>>()?;
    let mut sources: Vec<Option<Box<dyn Source + '_>>> = schema.tables.iter().map(|_| None).collect();
    let (count, mut measured, mut others) = (tables.len(), Vec::new(), Vec::new());
    for (place, (table, scale)) in tables.iter_mut().zip(scales).enumerate() {
        let (index, text_bytes) = (table.index_in(schema), table.sample_text_bytes(MEASURED_ROWS_MAX));
        // At most `MEASURED_TABLES_MAX` tables are measured, at equal distances from each other.
        if place * MEASURED_TABLES_MAX % count.max(MEASURED_TABLES_MAX) < MEASURED_TABLES_MAX {
            sources[index] = Some(table.sample_source(load, schema, MEASURED_ROWS_MAX).ok()?);
            measured.push((index, scale, text_bytes));
        } else {
            others.push(scale * text_bytes);
        }
    }
    // The pages are discarded, so the plan has no target and no ANALYZE.
    let nowhere = match load.existing {
        None => {
            let mut plan = plan.clone();
            (plan.target, plan.threads, plan.analyze) = (None, 1, false);
            plan
        }
        Some(_) => alone(schema, load)?,
    };
    let jobs = jobs(schema, sources, Coercion::All);
    let report =
        attempts::write(&nowhere, schema, jobs, None, "load", &Context::default().cancel(&stop.child()))
            .ok()?;
    let (mut more_pages, mut pages_beyond_roots, mut bytes) = (0, 0.0, 0.0);
    for (index, scale, text_bytes) in measured {
        let table = &report.tables[index];
        let rows = table.leaf_pages + table.interior_pages + table.overflow_pages;
        let indexes = table.indexes.iter();
        let entries: u64 =
            indexes.map(|index| index.leaf_pages + index.interior_pages + index.overflow_pages).sum();
        let pages = (rows + entries) as f64;
        more_pages += (pages * (scale - 1.0)) as u64;
        pages_beyond_roots += pages - 1.0 - table.indexes.len() as f64;
        bytes += text_bytes;
    }
    let like_these = |text_bytes: f64| (pages_beyond_roots.max(0.0) / bytes.max(1.0) * text_bytes) as u64;
    more_pages += others.into_iter().map(like_these).sum::<u64>();
    Some(report.bytes + more_pages * report.page_bytes as u64)
}

/// Returns a plan that writes only the new rows, in any order, as if their tables were empty: its pages are counted and discarded; `None`
/// if such a plan can't be made.
fn alone(schema: &Schema, load: &Request) -> Option<Plan> {
    let page_size = load.existing.as_ref().map_or(load.write.page_size, |existing| existing.page_size);
    let options = load.write.clone().page_size(page_size).threads(1).analyze(false);
    let mut plan = Plan::of(schema, None, None, &options).ok()?;
    for (index, table) in schema.tables.iter().enumerate().filter(|(_, table)| table.rowid_alias.is_some()) {
        plan.sort_rows((index, table), true, "", &options).ok()?;
    }
    Some(plan)
}
