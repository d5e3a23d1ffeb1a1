//! Arrow from whoever has it, through [its PyCapsules](https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html).
//!
//! ```text
//!  __arrow_c_stream__  ──> a stream of record batches
//!  __arrow_c_array__   ──> one record batch
//!  an iterable of such ──> one after another, all with the columns of the first
//! ```

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator};
use sqluice::error::Error;

use crate::errors::{raised, usage};
use crate::run::Feed;
use crate::source::Piece;

/// Record batches, without the GIL.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Record batches of Python's.
pub(crate) struct ArrowFeed {
    pub(crate) schema: SchemaRef,
    current: Batches,
    /// Others that come after it.
    more: Option<Py<PyIterator>>,
}

impl ArrowFeed {
    /// What `first` gives, and then `more`.
    pub(crate) fn new(first: &Bound<'_, PyAny>, more: Option<&Bound<'_, PyAny>>) -> PyResult<ArrowFeed> {
        let (schema, current) = read(first)?;
        let more = more.map(|more| more.try_iter()).transpose()?.map(Bound::unbind);
        Ok(ArrowFeed { schema, current, more })
    }
}

impl Feed for ArrowFeed {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Piece>> {
        loop {
            let current = &mut self.current;
            if let Some(batch) = py.detach(|| current.next()) {
                let batch = batch.map_err(|error| broken(py, error))?;
                if batch.num_rows() > 0 {
                    return Ok(Some(Piece::Batch(batch)));
                }
                continue;
            }
            let next = self.more.as_ref().and_then(|more| more.clone_ref(py).into_bound(py).next());
            let Some(next) = next.transpose()? else { return Ok(None) };
            let (schema, batches) = read(&next)?;
            let types = |schema: &SchemaRef| {
                let fields = schema.fields().iter();
                fields.map(|field| (field.name().clone(), field.data_type().clone())).collect::<Vec<_>>()
            };
            if types(&schema) != types(&self.schema) {
                return Err(usage(py, "a batch has other columns than the first"));
            }
            self.current = batches;
        }
    }
}

/// The schema and the batches of something.
fn read(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Batches)> {
    let py = data.py();
    if data.hasattr("__arrow_c_stream__")? {
        let capsule = data.call_method0("__arrow_c_stream__")?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
        // SAFETY: the capsule's name says what it points to, and it lives until the end of this function. The stream is
        // moved out of it, which leaves a released one behind, as the interface wants it.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream) };
        let reader = reader.map_err(|error| broken(py, error))?;
        return Ok((reader.schema(), Box::new(reader)));
    }
    let capsules = data.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = capsules.extract()?;
    let schema = pointer::<FFI_ArrowSchema>(&schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&array, c"arrow_array")?;
    // SAFETY: as above; the schema is read and stays the capsule's, the array is moved out of its own.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array), &*schema) };
    let data = data.map_err(|error| broken(py, error))?;
    if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
        return Err(usage(py, "an Arrow array is one column, and no table"));
    }
    let rows = StructArray::from(data);
    if rows.null_count() > 0 {
        return Err(usage(py, "an Arrow array of structs has rows that are NULL as a whole"));
    }
    let batch = RecordBatch::from(rows);
    Ok((batch.schema(), Box::new(std::iter::once(Ok(batch)))))
}

/// What a capsule of that name points to.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

fn broken(py: Python<'_>, error: ArrowError) -> PyErr {
    raised(py, &Error::input("the Arrow data can't be read").because(error))
}
