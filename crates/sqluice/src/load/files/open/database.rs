//! Opens databases: each of their tables is an input of its own.

use std::path::Path;
use std::sync::Arc;

use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::{Cancel, Silent};
use sqluice_reader::rows::{Rows, Selection};
use sqluice_reader::snapshot::ReadOptions;
use sqluice_sources::infer::Evidence;
use sqluice_sources::input::{InputFile, InputOptions};

use crate::load::files::database::DatabaseTable;
use crate::load::files::file::{Content, LoadFile};
use crate::load::files::format::refuse_csv_flags;
use crate::load::files::sample::Opened;
use crate::load::request::Request;
use crate::remote;

/// Rows of a sample.
const SAMPLE_ROWS: u64 = 16 << 10;

/// Opens the tables of a database: all, or the one that is asked for.
pub(crate) fn open(path: &Path, load: &Request, cancel: &Cancel, rows_max: u64) -> Result<Vec<LoadFile>> {
    refuse_csv_flags(&load.format, path, "a database")?;
    let mut options = ReadOptions::new();
    options.busy_timeout = load.write.busy_timeout;
    options.requests = load.write.requests;
    let folder = load.temp_folder()?;
    let snapshot = Arc::new(remote::snapshot(path, &folder, &options, (&Silent, cancel))?);
    let schema = snapshot.schema()?;
    let names: Vec<String> = match &load.table {
        Some(table) => vec![table.clone()],
        None => schema.tables.iter().map(|table| table.name.clone()).collect(),
    };
    if names.is_empty() {
        return Err(Error::input("the database has no tables").at(Place::file(path)));
    }
    let open = |name: &String| {
        load.refuse_table(name)?;
        let rows = Rows::of_table(&snapshot, &schema, name, &Selection::default())?;
        table((path, snapshot.name()), rows, load, cancel, rows_max)
    };
    names.iter().map(open).collect()
}

fn table(
    (path, name): (&Path, &Path),
    rows: Rows,
    load: &Request,
    cancel: &Cancel,
    rows_max: u64,
) -> Result<LoadFile> {
    let options = InputOptions::new().cancel(cancel.clone());
    let input = match remote::file(path, &load.write.requests, cancel)? {
        Some(file) => InputFile::of_remote(file, options)?,
        None => InputFile::new(path, options)?,
    };
    let mut file = LoadFile::new(rows.name().to_owned(), input, "database");
    let table = DatabaseTable { rows, cancel: cancel.clone() };
    let sample = SAMPLE_ROWS.min(rows_max);
    let mut source = table.source(Vec::new(), 0..sample)?;
    while source.next_part()?.is_some() {}
    let found = source.rows_done();
    let all = (found < SAMPLE_ROWS).then_some(found);
    drop(source);
    file.sampled(Opened {
        sample_bytes: 0,
        text_bytes: found,
        whole: all.is_some(),
        plain: false,
        compression: None,
        encoding: None,
    });
    (file.sample_rows, file.text_bytes) = (found, all);
    file.words = format!("table {} of a database", table.rows.name());
    file.names = table.rows.columns().iter().map(|column| column.name.clone()).collect();
    file.places = Some(vec![Place::file(name); file.names.len()]);
    file.types = table
        .types()
        .into_iter()
        // A STRICT table has no NUMERIC columns.
        .map(|name| if load.strict && name == Some("NUMERIC") { Some("ANY") } else { name })
        .collect();
    let evidence = |declared: &Option<&'static str>| declared.map_or(Evidence::new(), Evidence::of_declared);
    file.evidence = file.types.iter().map(evidence).collect();
    file.content = Content::Database(table);
    file.find_conversions(load)?;
    Ok(file)
}
