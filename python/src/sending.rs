//! Converts rows to bytes, for the pipe between parent and child process, and back.
//!
//! ```text
//!  parent    data of Arrow ──> Packing ──> bytes          received <── bytes
//!  child     Packed <── bytes, in place of the data       a stream of Arrow ──> Sending ──> bytes
//! ```

use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::arrow::{self, ArrowFeed};
use crate::errors::raised_by_write;
use crate::packed::{broken, packed};
use crate::run::Feed as _;
use crate::source::Piece;

/// An iterator over Arrow data that packs each batch as bytes. The first item has the schema and no rows.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Packing(Mutex<Option<Data>>);

struct Data {
    feed: ArrowFeed,
    began: bool,
}

impl Data {
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let batch = match std::mem::replace(&mut self.began, true) {
            false => None,
            true => match self.feed.next(py)? {
                Some(Piece::Batch(batch)) => Some(batch),
                _ => return Ok(None),
            },
        };
        let (types, rows) = (&self.feed.schema, self.feed.batches.schema());
        let bytes = py.detach(|| packed(types, rows, batch.as_ref()));
        let bytes = bytes.map_err(|error| raised_by_write(py, &broken(error)))?;
        Ok(Some(PyBytes::new(py, &bytes)))
    }
}

#[pymethods]
impl Packing {
    #[new]
    fn new(first: &Bound<'_, PyAny>, more: Option<&Bound<'_, PyAny>>) -> PyResult<Packing> {
        let feed = ArrowFeed::new(first, more)?;
        Ok(Packing(Mutex::new(Some(Data { feed, began: false }))))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(mut data) = taken(&self.0) else { return Ok(None) };
        let next = data.next(py)?;
        put_back(&self.0, data);
        Ok(next)
    }
}

/// Takes an iterator out of its mutex for one step; `None` once it has ended. If the step fails, the iterator is not put back, so the
/// iteration ends.
fn taken<T>(iterator: &Mutex<Option<T>>) -> Option<T> {
    iterator.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put_back<T>(to: &Mutex<Option<T>>, iterator: T) {
    *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(iterator);
}

/// Packs the array of a column called `name`.
#[pyfunction]
pub(crate) fn packed_column<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let (array, kind) = arrow::array(data, name, 0)?;
    let schema = |kind: &DataType| Arc::new(Schema::new(vec![Field::new(name, kind.clone(), true)]));
    let (types, rows) = (schema(&kind), schema(array.data_type()));
    let bytes = RecordBatch::try_new(Arc::clone(&rows), vec![array])
        .and_then(|batch| packed(&types, &rows, Some(&batch)));
    let bytes = bytes.map_err(|error| raised_by_write(py, &broken(error)))?;
    Ok(PyBytes::new(py, &bytes))
}

/// An iterator over a stream of Arrow that returns each batch as an IPC stream. The first item has the schema and no rows.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Sending(Mutex<Option<Batches>>);

struct Batches {
    batches: Box<dyn RecordBatchReader + Send>,
    began: bool,
}

impl Batches {
    fn next(&mut self) -> Option<Result<Vec<u8>, ArrowError>> {
        let batch = match std::mem::replace(&mut self.began, true) {
            false => None,
            true => Some(self.batches.next()?),
        };
        Some(batch.transpose().and_then(|batch| {
            let mut stream = StreamWriter::try_new(Vec::new(), &self.batches.schema())?;
            if let Some(batch) = batch {
                stream.write(&batch)?;
            }
            stream.into_inner()
        }))
    }
}

impl Sending {
    /// Makes the iterator over these batches.
    pub(crate) fn new(batches: Box<dyn RecordBatchReader + Send>) -> Sending {
        Sending(Mutex::new(Some(Batches { batches, began: false })))
    }
}

#[pymethods]
impl Sending {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(mut batches) = taken(&self.0) else { return Ok(None) };
        let Some(bytes) = py.detach(|| batches.next()) else { return Ok(None) };
        // The text of the error is the one that a stream in the parent process would have.
        let bytes = bytes.map_err(|error| PyOSError::new_err(said(&error)))?;
        put_back(&self.0, batches);
        Ok(Some(PyBytes::new(py, &bytes)))
    }
}

fn said(error: &ArrowError) -> String {
    match error {
        ArrowError::ExternalError(inner) => inner.to_string(),
        other => other.to_string(),
    }
}

/// Returns a capsule with a stream of Arrow. `next` returns the next IPC stream as bytes, or `None` after the last.
#[pyfunction]
pub(crate) fn received<'py>(py: Python<'py>, next: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let first: Vec<u8> = next.call0()?.extract()?;
    let opened = StreamReader::try_new(Cursor::new(first), None);
    let schema = opened.map_err(|error| raised_by_write(py, &broken(error)))?.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(Received { next: next.clone().unbind(), schema }));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The batches that the child process reads.
struct Received {
    next: Py<PyAny>,
    schema: SchemaRef,
}

impl Iterator for Received {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // A library may take batches on any thread.
        let bytes: PyResult<Option<Vec<u8>>> = Python::attach(|py| self.next.call0(py)?.extract(py));
        let bytes = match bytes {
            Ok(bytes) => bytes?,
            Err(error) => {
                let text = Python::attach(|py| error.value(py).to_string());
                return Some(Err(ArrowError::ExternalError(text.into())));
            }
        };
        StreamReader::try_new(Cursor::new(bytes), None)
            .and_then(|mut stream| stream.next().transpose())
            .transpose()
    }
}

impl RecordBatchReader for Received {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
