//! Opens Parquet and Arrow files: their columns and types, and how many rows they have.

use arrow_schema::SchemaRef;
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::Silent;
use sqluice_sources::arrow::{MemoryBound, declared_type, ipc};
use sqluice_sources::infer::Evidence;
use sqluice_sources::input::magic::ARROW_FILE;
use sqluice_sources::json::unique_names;
use sqluice_sources::parquet::ParquetFile;

use crate::load::files::columnar::{ColumnarFile, ColumnarKind, part};
use crate::load::files::file::{Content, LoadFile};
use crate::load::files::format::FileFormat;
use crate::load::files::sample::Opened;
use crate::load::request::Request;

/// Rows of a sample.
const SAMPLE_ROWS: u64 = 16 << 10;

/// Opens a Parquet or Arrow file by what it says of itself.
pub(crate) fn open(
    mut file: LoadFile,
    format: FileFormat,
    load: &Request,
    rows_max: u64,
) -> Result<LoadFile> {
    let folder = load.temp_folder()?;
    // Parquet's end is read first, and then the columns that are needed. Arrow is read from start to end, several times.
    match format {
        FileFormat::Parquet => file.input.spool(&folder, &Silent)?,
        _ => file.input.keep(&folder, &Silent)?,
    }
    let memory = MemoryBound(Some(load.write.memory_bytes));
    let options = load.arrow.lossy(load.lossy).memory(memory);
    let part = part(&file.input, &folder)?;
    let name = file.input.name().to_owned();
    let mut notes = Vec::new();
    let (kind, schema, rows) = match format {
        FileFormat::Parquet => {
            let parquet = ParquetFile::open(part, &name)?;
            let (schema, rows) = (parquet.schema().clone(), parquet.rows());
            if parquet.has_unreadable_hint() {
                notes.push("its Arrow schema can't be read, its Parquet schema says the types");
            }
            (ColumnarKind::Parquet(Box::new(parquet)), schema, Some(rows))
        }
        _ => {
            let is_file = file.input.sample(ARROW_FILE.len())?.text.starts_with(ARROW_FILE);
            let (schema, mut batches) = ipc::read(part, is_file, &name, options.memory)?;
            let mut seen = 0;
            let all = loop {
                match batches.next() {
                    None => break Some(seen),
                    Some(batch) => seen += batch?.num_rows() as u64,
                }
                if seen >= SAMPLE_ROWS {
                    break None;
                }
            };
            (ColumnarKind::Arrow(is_file), schema, all)
        }
    };
    if schema.fields().is_empty() {
        return Err(Error::input("the file has no column").at(Place::file(&name)));
    }
    let sample = rows.unwrap_or(SAMPLE_ROWS).min(SAMPLE_ROWS).min(rows_max);
    let whole = rows.is_some_and(|rows| sample == rows.min(rows_max));
    let opened = Opened {
        sample_bytes: 0,
        text_bytes: sample,
        whole,
        plain: false,
        compression: None,
        encoding: None,
    };
    file.sampled(opened);
    (file.sample_rows, file.text_bytes, file.words) = (sample, rows, format.words().to_owned());
    name_columns(&mut file, &schema, load);
    file.notes.extend(notes.into_iter().map(Into::into));
    file.content = Content::Columnar(ColumnarFile { kind, options, schema });
    Ok(file)
}

/// The names of the columns, and their types.
fn name_columns(file: &mut LoadFile, schema: &SchemaRef, load: &Request) {
    let fields = schema.fields();
    let (names, renamed) = unique_names(fields.iter().map(|field| field.name().clone()).collect());
    let notes = renamed.iter().map(|renamed| {
        format!("column {} ({:?}) is called {:?}", renamed.index + 1, renamed.from, renamed.to)
    });
    file.notes = notes.map(Into::into).collect();
    file.places = Some(vec![Place::file(file.input.name()); names.len()]);
    let types = fields.iter().map(|field| {
        // A STRICT table has no NUMERIC columns.
        let declared = declared_type(field.data_type(), load.arrow);
        declared.map(|name| if load.strict && name == "NUMERIC" { "REAL" } else { name })
    });
    file.types = types.collect();
    let evidence = |declared: &Option<&str>| declared.map_or(Evidence::new(), Evidence::of_declared);
    file.evidence = file.types.iter().map(evidence).collect();
    file.names = names;
}
