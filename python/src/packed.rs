//! Packs Arrow data as bytes, for another process, and unpacks it.
//!
//! ```text
//!  a record batch    8 bytes: length of the next stream    an IPC stream without batches,    an IPC stream with one batch or none,
//!                                                          with the types of the data        as imported: text is binary data
//! ```
//!
//! A column by itself is a record batch with one column.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::prelude::*;
use sqluice::error::Error;

use crate::errors::raised_by_write;

/// The bytes of the length before the first stream.
const WORD: usize = size_of::<u64>();

/// Arrow data of another process. Functions take it in place of an object with Arrow's PyCapsule interface.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Packed {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

#[pymethods]
impl Packed {
    #[new]
    fn new(py: Python<'_>, bytes: &[u8]) -> PyResult<Packed> {
        let unpacked = unpacked(bytes).map_err(|error| raised_by_write(py, &broken(error)))?;
        Ok(Packed { schema: unpacked.0, batches: unpacked.1 })
    }
}

impl Packed {
    /// Returns the first column of the first batch, and its type; `None` if there is none.
    pub(crate) fn column(&self) -> Option<(ArrayRef, DataType)> {
        let kind = self.schema.fields().first()?.data_type().clone();
        Some((Arc::clone(self.batches.first()?.columns().first()?), kind))
    }
}

/// Unpacks the schema with the types of the data, and the batches.
fn unpacked(bytes: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    let short = || ArrowError::IpcError("the data ends too early".to_owned());
    let (word, rest) = bytes.split_first_chunk::<WORD>().ok_or_else(short)?;
    let of_types = usize::try_from(u64::from_le_bytes(*word)).map_err(|_| short())?;
    let (types, rows) = rest.split_at_checked(of_types).ok_or_else(short)?;
    let types = StreamReader::try_new(Cursor::new(types), None)?;
    let rows = StreamReader::try_new(Cursor::new(rows), None)?;
    Ok((types.schema(), rows.collect::<Result<_, _>>()?))
}

/// Packs a batch, or only the types if `batch` is `None`. `types` is the schema of the original data, and `rows` the schema of the
/// imported batch, in which text is binary data.
pub(crate) fn packed(
    types: &SchemaRef,
    rows: &SchemaRef,
    batch: Option<&RecordBatch>,
) -> Result<Vec<u8>, ArrowError> {
    let of_types = StreamWriter::try_new(Vec::new(), types)?.into_inner()?;
    let mut bytes = (of_types.len() as u64).to_le_bytes().to_vec();
    bytes.extend(of_types);
    let mut stream = StreamWriter::try_new(bytes, rows)?;
    if let Some(batch) = batch {
        stream.write(batch)?;
    }
    stream.into_inner()
}

/// Returns the error for data that cannot be packed or unpacked.
pub(crate) fn broken(error: ArrowError) -> Error {
    Error::input("the Arrow data can't be sent to the child process").because(error)
}
