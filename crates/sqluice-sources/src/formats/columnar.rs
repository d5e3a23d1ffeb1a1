//! Code that the readers of Parquet, Arrow and Avro files share. Files of these formats declare their columns and types in a schema.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::source::recognised::Recognised;

use super::FileFormat;
use super::opened::{Columns, Content, OpenRequest, Opened, SampledRows};
use super::sample::SampleFacts;
use crate::arrow::{ArrowOptions, MemoryBound, declared_type, guessed_type, is_moment};
use crate::input::{InputFile, RemoteRanges};
use crate::json::unique_names;
use crate::parquet::FilePart;

/// The maximum number of rows in a sample.
const SAMPLE_ROWS: u64 = 16 << 10;

/// Returns the options for turning Arrow values into SQLite values: how to store decimals and timestamps, whether digits may be lost, and
/// the memory of the load, which limits the size of a row or a record batch.
pub(super) fn options(request: &OpenRequest<'_>) -> ArrowOptions {
    request.arrow.lossy(request.lossy).memory(MemoryBound(Some(request.memory_bytes)))
}

/// Returns a reader of the input at any offset, of a local file or of a file on a server. Ranges from a server are stored in a temporary
/// file, so that most are fetched only once.
pub(super) fn part(input: &InputFile, request: &OpenRequest<'_>) -> Result<FilePart> {
    match input.remote() {
        Some(remote) => {
            let bytes = remote.bytes().unwrap_or(0);
            Ok(FilePart::of_remote(RemoteRanges::new(remote.clone(), &(request.temp_folder)()?)?, bytes))
        }
        None => regular(input),
    }
}

/// Returns a reader at any offset, of an input that is a local file or was copied to a local file by `InputFile::keep`.
pub(super) fn regular(input: &InputFile) -> Result<FilePart> {
    let (file, start, bytes) = input.file()?;
    Ok(FilePart::new(file, start, bytes))
}

/// Counts the rows of a file. Returns `None` if the file has at least [`SAMPLE_ROWS`] rows, as counting then stops.
pub(super) fn count_rows(batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<Option<u64>> {
    let mut seen = 0;
    for batch in batches {
        seen += batch?.num_rows() as u64;
        if seen >= SAMPLE_ROWS {
            return Ok(None);
        }
    }
    Ok(Some(seen))
}

/// Returns the [`Opened`] for a file: its columns and their types, from its Arrow `schema`. `rows` is the number of rows, if known.
pub(super) fn opened(
    format: &'static FileFormat,
    input: InputFile,
    request: &OpenRequest<'_>,
    schema: &SchemaRef,
    rows: Option<u64>,
    content: Box<dyn Content>,
) -> Result<Opened> {
    let fields = schema.fields();
    if fields.is_empty() {
        return Err(Error::input("the file has no column").at(Place::file(input.name())));
    }
    let sample = rows.unwrap_or(SAMPLE_ROWS).min(SAMPLE_ROWS).min(request.rows_max);
    let whole = rows.is_some_and(|rows| sample == rows.min(request.rows_max));
    let (names, renamed) = unique_names(fields.iter().map(|field| field.name().clone()).collect());
    let notes = renamed.iter().map(|renamed| {
        format!("column {} ({:?}) is called {:?}", renamed.index + 1, renamed.from, renamed.to)
    });
    let guesses: Vec<_> = fields.iter().map(|field| guessed_type(field.data_type(), request.arrow)).collect();
    let types = fields.iter().zip(&guesses).map(|(field, guess)| {
        // A guessed type is not declared: the values of the column decide.
        if guess.is_some() {
            return None;
        }
        // STRICT tables do not permit the type NUMERIC.
        let declared = declared_type(field.data_type(), request.arrow);
        declared.map(|name| if request.strict && name == "NUMERIC" { "REAL" } else { name })
    });
    Ok(Opened {
        table: None,
        columns: Columns {
            places: Some(vec![Place::file(input.name()); names.len()]),
            notes: notes.map(Into::into).collect(),
            names,
        },
        types: types.collect(),
        guesses,
        moments: fields.iter().map(|field| is_moment(field.data_type(), request.arrow)).collect(),
        recognised: Recognised::new(format.name),
        words: format.words.to_owned(),
        sample: SampleFacts::of_rows(sample, whole),
        rows: SampledRows::Declared { sample, all: rows },
        all_malformed: None,
        content,
        input,
    })
}
