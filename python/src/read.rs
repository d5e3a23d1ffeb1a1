//! Rows of a database as [a stream of Arrow](https://arrow.apache.org/docs/format/CStreamInterface.html) for any library.
//!
//! ```text
//!  pyarrow, polars, ... ──> __arrow_c_stream__ ──> a capsule: batches are made on the engine's threads while they are taken
//! ```

use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sqluice::error::{Error, Result};
use sqluice::export::{Mixed, ReadOptions};
use sqluice::progress::Context;
use sqluice::read::{Read, RecordBatches};

use crate::errors::raised_by;
use crate::options::{choice, requests, seconds};
use crate::run::run;
use crate::terms::Function;

/// How a database is read.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReadArgs {
    pub(crate) columns: Option<Vec<String>>,
    #[pyo3(item("where"))]
    pub(crate) filter: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) limit: Option<u64>,
    part: Option<(u32, u32)>,
    basis: Option<String>,
    mixed: String,
    pub(crate) dates: bool,
    pub(crate) threads: Option<usize>,
    busy_timeout: f64,
    timeout: Option<f64>,
    retries: Option<u32>,
    busy_limit: Option<f64>,
}

impl ReadArgs {
    pub(crate) fn mixed(&self) -> Result<Mixed> {
        match self.mixed.as_str() {
            "error" => Ok(Mixed::Error),
            "text" => Ok(Mixed::Text),
            "null" => Ok(Mixed::Null),
            other => Err(choice("mixed", other, "error, text or null")),
        }
    }

    pub(crate) fn options(&self) -> Result<ReadOptions> {
        let mut options = ReadOptions::new();
        options.busy_timeout = seconds(self.busy_timeout)?;
        options.busy_limit = self.busy_limit.map(seconds).transpose()?;
        options.requests = requests(self.timeout, self.retries)?;
        Ok(options)
    }

    fn read(self, source: PathBuf, table: Option<String>) -> Result<Read> {
        let (mixed, options) = (self.mixed()?, self.options()?);
        let read = match (table, self.query) {
            (Some(table), None) => Read::table(source, table),
            (None, Some(sql)) => Read::query(source, sql),
            _ => {
                return Err(Error::usage("what to read is missing, or given twice")
                    .hint("name a table, or give a query"));
            }
        };
        let read = read
            .columns(self.columns)
            .filter(self.filter)
            .limit(self.limit)
            .part(self.part)
            .basis(self.basis);
        Ok(read.mixed(mixed).dates(self.dates).threads(self.threads).read(options))
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
    fn new(py: Python<'_>, source: PathBuf, table: Option<String>, args: ReadArgs) -> PyResult<Reading> {
        let read = run(py, Function::Read, None, |context| {
            let read = args.read(source, table)?;
            read.check(context)?;
            Ok(read)
        })?;
        Ok(Reading { read })
    }

    /// What other readings need to read parts of the same state with the same types.
    fn basis(&self, py: Python<'_>) -> PyResult<String> {
        run(py, Function::Read, None, |context| self.read.find_basis(context))
    }

    /// A capsule with a stream; `guard` lives as long as that.
    fn stream<'py>(&self, py: Python<'py>, guard: Py<PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        let opened = py.detach(|| self.read.open(&Context::default()));
        let batches = opened.map_err(|error| raised_by(py, &error, Function::Read))?;
        let stream = FFI_ArrowArrayStream::new(Box::new(Batches { batches, _guard: guard }));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// What the stream reads.
struct Batches {
    batches: RecordBatches,
    /// Dropped after the batches.
    _guard: Py<PyAny>,
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
