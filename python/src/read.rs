//! Reads rows of a database as [a stream of Arrow](https://arrow.apache.org/docs/format/CStreamInterface.html), which any library can
//! take.
//!
//! ```text
//!  pyarrow, polars, ... ──> __arrow_c_stream__ ──> a capsule: batches are made on the engine's threads while they are taken
//! ```

use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use sqluice::error::{Error, Result};
use sqluice::given::Given;
use sqluice::progress::Context;
use sqluice::read::{Read, RecordBatches};
use sqluice::settings::Verb;

use crate::errors::raised_by;
use crate::options::given;
use crate::run::run;
use crate::sending::Sending;
use crate::terms::Function;

/// The rows to read: a table or a query, or a part of a table.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rows {
    table: Option<String>,
    query: Option<String>,
    part: Option<(u32, u32)>,
    basis: Option<String>,
}

impl Rows {
    fn read(self, source: PathBuf, given: &Given) -> Result<Read> {
        let read = match (self.table, self.query) {
            (Some(table), None) => Read::table(source, table),
            (None, Some(sql)) => Read::query(source, sql),
            _ => {
                return Err(Error::usage("give either a table or a query to read")
                    .hint("name a table, or give a SELECT as query="));
            }
        };
        let mut read = read.part(self.part).basis(self.basis);
        given.hand_over(&mut [&mut read])?;
        Ok(read)
    }
}

/// Rows that can be read, once or several times.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Reading {
    read: Read,
}

#[pymethods]
impl Reading {
    #[new]
    fn new(py: Python<'_>, source: PathBuf, rows: Rows, arguments: &Bound<'_, PyDict>) -> PyResult<Reading> {
        let given = given(Verb::Read, arguments)?;
        let read = run(py, Function::Read, None, |context| {
            let read = rows.read(source, &given)?;
            read.check(context)?;
            Ok(read)
        })?;
        Ok(Reading { read })
    }

    /// Returns, as text, the state of the database and the types of the columns. Other readers that are given this text read parts of the
    /// same state, with the same types.
    fn basis(&self, py: Python<'_>) -> PyResult<String> {
        run(py, Function::Read, None, |context| self.read.find_basis(context))
    }

    /// Returns a capsule with a stream of the rows. The stream holds `guard`, which marks the file as used, until it is released.
    fn stream<'py>(&self, py: Python<'py>, guard: Py<PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        let stream = FFI_ArrowArrayStream::new(Box::new(self.batches(py, Some(guard))?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Returns an iterator of the rows as bytes, for the parent process.
    fn sending(&self, py: Python<'_>) -> PyResult<Sending> {
        Ok(Sending::new(Box::new(self.batches(py, None)?)))
    }
}

impl Reading {
    fn batches(&self, py: Python<'_>, guard: Option<Py<PyAny>>) -> PyResult<Batches> {
        let opened = py.detach(|| self.read.open(&Context::default()));
        let batches = opened.map_err(|error| raised_by(py, &error, Function::Read))?;
        Ok(Batches { batches, _guard: guard })
    }
}

/// The batches of a stream.
struct Batches {
    batches: RecordBatches,
    /// The Python object that marks the file as used; `None` if the batches go to the parent process. The mark is dropped after `batches`,
    /// because this field follows it.
    _guard: Option<Py<PyAny>>,
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.map_err(|error| {
            let function = Function::Read;
            let mut text = function.rendered(error.what());
            if let Some(hint) = error.remedy().and_then(|remedy| function.hint(remedy)) {
                text += &format!(" (hint: {hint})");
            }
            ArrowError::ExternalError(text.into())
        }))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.batches.schema().clone()
    }
}
