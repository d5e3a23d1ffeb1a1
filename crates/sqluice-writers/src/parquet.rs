//! Encodes each part of a source as a row group of a Parquet file: any thread encodes and compresses the columns of a group, and one
//! thread appends the groups in order.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use sqluice_core::error::{Error, Result};
use sqluice_core::source::Part;

use crate::arrow::{ArrowEncoder, ArrowPiece};
use crate::in_order::Encode;
use crate::repeats::repeats;

/// An encoder of parts as row groups.
pub struct ParquetEncoder {
    arrow: ArrowEncoder,
    /// Writers for columns whose values repeat.
    with_dictionary: ArrowRowGroupWriterFactory,
    /// Writers for other columns. Their dictionary would hold nearly every value: it would take time to build, and make the file larger.
    plain: ArrowRowGroupWriterFactory,
}

/// The rows of a part as the columns of a row group.
pub struct ParquetPiece {
    chunks: Vec<ArrowColumnChunk>,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes of input that the part was decoded from.
    pub input_bytes: u64,
}

/// A Parquet file that is written group by group.
pub struct ParquetFile<W: Write + Send>(SerializedFileWriter<W>);

/// Begins a file with the columns of `schema`.
fn file_writer<W: Write + Send>(
    out: W,
    schema: &SchemaRef,
    dictionary: bool,
) -> Result<SerializedFileWriter<W>> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(dictionary)
        .set_created_by(concat!("sqluice ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    let columns = ArrowSchemaConverter::new().convert(schema).map_err(failed)?;
    SerializedFileWriter::new(out, columns.root_schema_ptr(), Arc::new(properties)).map_err(failed)
}

/// Returns the error for a file that Parquet's writer can't write.
fn failed(error: ParquetError) -> Error {
    Error::target("cannot write a Parquet file").because(error)
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file. Returns the file and the encoder of its parts.
    ///
    /// # Errors
    /// If the first bytes can't be written.
    pub fn begin(out: W, arrow: ArrowEncoder) -> Result<(ParquetFile<W>, ParquetEncoder)> {
        let writer = file_writer(out, arrow.schema(), true)?;
        let with_dictionary = ArrowRowGroupWriterFactory::new(&writer, Arc::clone(arrow.schema()));
        // A factory of column writers takes its settings from a file writer, so a second one, which writes nowhere, serves columns
        // without a dictionary.
        let nowhere = file_writer(io::sink(), arrow.schema(), false)?;
        let plain = ArrowRowGroupWriterFactory::new(&nowhere, Arc::clone(arrow.schema()));
        Ok((ParquetFile(writer), ParquetEncoder { arrow, with_dictionary, plain }))
    }

    /// Appends a row group.
    ///
    /// # Errors
    /// If the group can't be written.
    pub fn write(&mut self, piece: ParquetPiece) -> Result<()> {
        if piece.rows == 0 {
            return Ok(());
        }
        let mut group = self.0.next_row_group().map_err(failed)?;
        for chunk in piece.chunks {
            chunk.append_to_row_group(&mut group).map_err(failed)?;
        }
        group.close().map(drop).map_err(failed)
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// If the end can't be written.
    pub fn finish(self) -> Result<()> {
        self.0.close().map(drop).map_err(failed)
    }
}

impl ParquetEncoder {
    /// Returns a writer for each column of a row group. Columns whose values repeat in the first batch get a writer with a dictionary.
    fn writers(&self, first: Option<&RecordBatch>) -> Result<Vec<ArrowColumnWriter>> {
        // The index of the group matters only for encryption, which is not used.
        let with_dictionary = self.with_dictionary.create_column_writers(0).map_err(failed)?;
        let plain = self.plain.create_column_writers(0).map_err(failed)?;
        let columns = first.map_or(&[][..], RecordBatch::columns);
        let both = with_dictionary.into_iter().zip(plain).enumerate();
        let chosen = both.map(|(index, (with_dictionary, plain))| match columns.get(index) {
            Some(column) if !repeats(column) => plain,
            _ => with_dictionary,
        });
        Ok(chosen.collect())
    }
}

impl Encode for ParquetEncoder {
    type Piece = ParquetPiece;

    fn encode(&self, part: &mut dyn Part) -> Result<ParquetPiece> {
        let ArrowPiece { batches, rows, input_bytes } = self.arrow.encode(part)?;
        let mut writers = self.writers(batches.first())?;
        for batch in batches {
            let columns = batch.schema_ref().fields().iter().zip(batch.columns());
            for ((field, array), writer) in columns.zip(&mut writers) {
                for leaf in compute_leaves(field, array).map_err(failed)? {
                    writer.write(&leaf).map_err(failed)?;
                }
            }
        }
        let chunks =
            writers.into_iter().map(|writer| writer.close()).collect::<Result<_, _>>().map_err(failed)?;
        Ok(ParquetPiece { chunks, rows, input_bytes })
    }
}
