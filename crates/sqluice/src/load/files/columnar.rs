//! Parquet and Arrow files of a load: they declare their columns and types themselves.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use sqluice_core::error::Result;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_sources::arrow::{ArrowOptions, ArrowRows, ArrowSource, ipc};
use sqluice_sources::input::{InputFile, RemoteRanges};
use sqluice_sources::parquet::{FilePart, ParquetFile};

use super::sample::changed;

/// How a Parquet or Arrow file is read.
pub(crate) struct ColumnarFile {
    pub(crate) kind: ColumnarKind,
    pub(crate) options: ArrowOptions,
    pub(crate) schema: SchemaRef,
}

pub(crate) enum ColumnarKind {
    Parquet(Box<ParquetFile>),
    /// Arrow IPC; whether it is a file, not a stream.
    Arrow(bool),
}

impl ColumnarFile {
    /// Opens a file for its rows.
    pub(crate) fn source(
        &self,
        input: &InputFile,
        map: Vec<ColumnFrom>,
        as_text: &[bool],
        rows: Range<u64>,
    ) -> Result<Box<dyn Counted>> {
        match &self.kind {
            ColumnarKind::Parquet(parquet) => Ok(Box::new(parquet.source(map, as_text, self.options, rows))),
            ColumnarKind::Arrow(is_file) => {
                let (schema, batches) =
                    ipc::read(regular(input)?, *is_file, input.name(), self.options.memory)?;
                if schema != self.schema {
                    return Err(changed());
                }
                let fields = schema.fields().len();
                let of = ArrowRows::new(input.name().to_owned(), fields, map, as_text, self.options);
                Ok(Box::new(ArrowSource::new(batches, of, rows)))
            }
        }
    }
}

/// The file that an input is, or the ranges of one behind a URL, which are kept in `folder`.
pub(crate) fn part(input: &InputFile, folder: &Path) -> Result<FilePart> {
    match input.remote() {
        Some(remote) => {
            let bytes = remote.bytes().unwrap_or(0);
            Ok(FilePart::of_remote(RemoteRanges::new(Arc::clone(remote), folder)?, bytes))
        }
        None => regular(input),
    }
}

/// The file that an input is.
fn regular(input: &InputFile) -> Result<FilePart> {
    let (file, start, bytes) = input.file()?;
    Ok(FilePart::new(file, start, bytes))
}
