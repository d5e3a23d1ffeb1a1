//! Plans a load from the columns, types and row orders that samples and failed attempts have shown.

pub(crate) mod estimate;
pub(crate) mod near_types;
mod notes;

use sqluice_core::error::Result;
use sqluice_core::schema::{Schema, Table};
use sqluice_engine::plan::{ColumnReport, Plan};

use crate::full_text::OverOthers;
use crate::load::expressions::checked::SOURCE_FILE;
use crate::load::files::file::LoadFile;
use crate::load::order;
use crate::load::request::{Request, of_made_sql};
use crate::load::tables;
use crate::load::tables::table::LoadTable;

/// Returns the schema of the tables to write, and the plan without the size of the database.
pub(crate) fn plan(load: &Request, tables: &mut [LoadTable]) -> Result<(Schema, Plan)> {
    let schema = tables::declare(load, tables)?;
    let plan = Plan::of(&schema, Some(&load.to), load.existing.as_ref(), &load.write);
    let plan = if load.schema.is_none() { plan.map_err(of_made_sql) } else { plan };
    let mut plan = plan?;
    if load.existing.is_none() {
        OverOthers::of(&schema)?.add_to(&mut plan);
    }
    for table in tables.iter().filter(|table| table.exists()) {
        plan.tables[table.index_in(&schema)].alter = table.alter().collect();
    }
    for table in &mut *tables {
        order::plan(load, table, &schema, &mut plan)?;
    }
    plan.notes.extend(load.type_notes.iter().map(Into::into));
    for table in &*tables {
        let plan = &mut plan.tables[table.index_in(&schema)];
        plan.sources = table.files.iter().map(LoadFile::describe).collect();
        plan.first_rows = table.first_rows().to_vec();
        if !table.is_settled() {
            plan.why += "; types are those of a sample, and checked with every value";
        }
    }
    for table in tables.iter() {
        for source in table.own_sources() {
            let what = if *source == SOURCE_FILE { "the name of the file" } else { "the line of the record" };
            let note = format!("table {}: {source} is the column of that name, not {what}", table.name());
            plan.notes.push(note.into());
        }
    }
    note_files(tables, &mut plan);
    for table in tables {
        let index = table.index_in(&schema);
        let (declared, columns) = (&schema.tables[index], &mut plan.tables[index].all_columns);
        report_conversions(table, declared, columns);
        near_types::report(table, load, declared, columns);
    }
    Ok((schema, plan))
}

/// Adds the notes about files to the plan, in few lines.
fn note_files(tables: &[LoadTable], plan: &mut Plan) {
    let files = || tables.iter().flat_map(|table| &table.files);
    let names: Vec<String> = files().map(LoadFile::name).collect();
    let noted = files().zip(&names);
    let noted = noted.flat_map(|(file, name)| file.notes.iter().map(move |note| (name.as_str(), note)));
    plan.notes.extend(notes::in_few(noted));
}

/// Adds the conversion of each column to `reports`, which has one report for each column of the table.
fn report_conversions(table: &LoadTable, declared: &Table, reports: &mut [ColumnReport]) {
    for (column, report) in declared.columns.iter().zip(reports) {
        report.conversion = table.conversion(&column.name).map(ToString::to_string);
    }
}
