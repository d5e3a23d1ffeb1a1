//! Opens Parquet files: reads the metadata at the end of the file first, and then only the columns that are needed.

use sqluice_core::error::Result;
use sqluice_core::progress::Silent;
use sqluice_core::source::chain::Counted;

use super::columnar::{opened, options, part};
use super::opened::{Content, OpenRequest, Opened, WantedRows};
use super::{FileFormat, Format};
use crate::arrow::ArrowOptions;
use crate::input::InputFile;
use crate::parquet::{ParquetFile, TableColumns};

/// The reader of Parquet files.
pub(super) struct Parquet;

impl Format for Parquet {
    fn open(
        &self,
        this: &'static FileFormat,
        mut input: InputFile,
        request: &OpenRequest<'_>,
    ) -> Result<Vec<Opened>> {
        let folder = (request.temp_folder)()?;
        input.decompress(&folder, &Silent)?;
        input.spool(&folder, &Silent)?;
        let part = part(&input, request)?;
        let parquet = ParquetFile::open(part, input.name())?;
        let (schema, rows) = (parquet.schema().clone(), parquet.rows());
        let has_unreadable_hint = parquet.has_unreadable_hint();
        let content = ParquetRows { parquet, options: options(request) };
        let mut opened = opened(this, input, request, &schema, Some(rows), Box::new(content))?;
        if has_unreadable_hint {
            let note = "the Arrow schema in its metadata can't be read, so the types are those of the Parquet schema";
            opened.columns.notes.push(note.into());
        }
        Ok(vec![opened])
    }
}

/// An opened Parquet file. Its [`Content`] reads the rows.
struct ParquetRows {
    parquet: ParquetFile,
    options: ArrowOptions,
}

impl Content for ParquetRows {
    fn source(&mut self, _: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>> {
        let WantedRows { map, as_text, as_blob, rows } = wanted;
        let of_table = TableColumns { from: map, as_text, as_blob };
        Ok(Box::new(self.parquet.source(of_table, self.options, rows)))
    }

    fn sample_source(
        &mut self,
        input: &mut InputFile,
        _: usize,
        wanted: WantedRows<'_>,
    ) -> Result<Box<dyn Counted>> {
        self.source(input, wanted)
    }

    fn has_untyped_values(&self) -> bool {
        false
    }
}
