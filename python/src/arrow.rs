//! Arrow from any library, through [its PyCapsules](https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html).
//!
//! ```text
//!  __arrow_c_stream__  ──> a stream of record batches
//!  __arrow_c_array__   ──> one record batch, or the values of a column
//!  an iterable of such ──> one after another, all with the columns of the first
//! ```

use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, make_array};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
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
    py.import("sqluice._rows")?.getattr("refuse_objects")?.call1((data,))?;
    if data.hasattr("__arrow_c_stream__")? {
        let capsule = data.call_method0("__arrow_c_stream__")?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
        // SAFETY: the capsule's name says what it points to, and it lives until the end of this function. The stream is
        // moved out of it, which leaves a released one behind, as the interface wants it.
        let stream = unsafe { Stream::from_raw(stream) };
        let stream = stream.map_err(|error| broken(py, error))?;
        return Ok((stream.schema.clone(), Box::new(stream)));
    }
    let rows = array(data)?;
    let Some(rows) = rows.as_any().downcast_ref::<StructArray>() else {
        return Err(usage(py, "an Arrow array is one column, and no table"));
    };
    if rows.null_count() > 0 {
        return Err(usage(py, "an Arrow array of structs has rows that are NULL as a whole"));
    }
    let batch = batch_of(rows.clone()).map_err(|error| broken(py, error))?;
    Ok((batch.schema(), Box::new(std::iter::once(Ok(batch)))))
}

/// The array that something has.
pub(crate) fn array(data: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = data.py();
    let capsules = data.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = capsules.extract()?;
    let schema = pointer::<FFI_ArrowSchema>(&schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&array, c"arrow_array")?;
    // SAFETY: the capsules' names say what they point to, and they live until the end of this function. The schema is read
    // and stays the capsule's, the array is moved out of its own.
    let array = unsafe {
        DataType::try_from(&*schema).and_then(|kind| imported(FFI_ArrowArray::from_raw(array), kind))
    };
    array.map_err(|error| broken(py, error))
}

/// A stream of record batches. The reader of the Arrow crate refuses columns of nulls that have a buffer, as polars exports them.
struct Stream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    kind: DataType,
}

impl Stream {
    /// Takes the stream out of its place.
    ///
    /// # Safety
    /// `stream` must point to a stream of the C interface.
    unsafe fn from_raw(stream: *mut FFI_ArrowArrayStream) -> Result<Stream, ArrowError> {
        // SAFETY: as the caller says.
        let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
        let mut schema = FFI_ArrowSchema::empty();
        let get_schema = stream.get_schema().ok_or_else(released)?;
        // SAFETY: the function is the stream's own, and fills the schema.
        let status = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if status != 0 {
            return Err(last_error(&mut stream, status));
        }
        let kind = DataType::try_from(&schema)?;
        if !matches!(kind, DataType::Struct(_)) {
            return Err(ArrowError::CDataInterface("it is one column, and no table".to_owned()));
        }
        let schema = Arc::new(Schema::try_from(&schema)?);
        Ok(Stream { stream, schema, kind })
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut array = FFI_ArrowArray::empty();
        let Some(get_next) = self.stream.get_next() else { return Some(Err(released())) };
        // SAFETY: the function is the stream's own, and fills the array.
        let status = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if status != 0 {
            return Some(Err(last_error(&mut self.stream, status)));
        }
        if array.is_released() {
            return None;
        }
        // SAFETY: an array of a stream has the type that the stream's schema says.
        let rows = unsafe { imported(array, self.kind.clone()) };
        let batch = rows.and_then(|rows| {
            let rows = rows.as_any().downcast_ref::<StructArray>().cloned();
            batch_of(rows.ok_or_else(released)?)?.with_schema(self.schema.clone())
        });
        Some(batch)
    }
}

/// The columns of an array of structs.
fn batch_of(rows: StructArray) -> Result<RecordBatch, ArrowError> {
    let count = rows.len();
    let (fields, columns, nulls) = rows.into_parts();
    if nulls.is_some_and(|nulls| nulls.null_count() > 0) {
        return Err(ArrowError::InvalidArgumentError("some rows are NULL as a whole".to_owned()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}

fn released() -> ArrowError {
    ArrowError::CDataInterface("the stream is released".to_owned())
}

/// Why a stream has failed.
fn last_error(stream: &mut FFI_ArrowArrayStream, status: c_int) -> ArrowError {
    let message = stream.get_last_error().and_then(|get| {
        // SAFETY: the function is the stream's own; what it returns lives until the next call.
        let message = unsafe { get(stream) };
        // SAFETY: as above; it is NULL or a text.
        (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
    });
    ArrowError::CDataInterface(message.unwrap_or_else(|| format!("error {status}")))
}

/// An array of the C interface.
///
/// # Safety
/// The array must be one of this type.
unsafe fn imported(mut array: FFI_ArrowArray, kind: DataType) -> Result<ArrayRef, ArrowError> {
    // SAFETY: as the caller says; `Raw` has the layout of the C interface.
    unsafe { without_buffers_of_nulls((&raw mut array).cast(), &kind) };
    // SAFETY: as the caller says.
    unsafe { from_ffi_and_data_type(array, kind) }.map(make_array)
}

/// An array as the C interface lays it out.
#[repr(C)]
struct Raw {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Raw,
    dictionary: *mut Raw,
    release: Option<unsafe extern "C" fn(*mut Raw)>,
    private_data: *mut c_void,
}

/// Takes the buffers of arrays of nulls off, which have none by the interface: polars gives them one. Who made the array frees what is
/// its own, whatever these fields say.
///
/// # Safety
/// The array must be one of this type.
unsafe fn without_buffers_of_nulls(array: *mut Raw, kind: &DataType) {
    // SAFETY: as the caller says.
    let array = unsafe { &mut *array };
    let of_children: Vec<&DataType> = match kind {
        DataType::Null => {
            array.n_buffers = 0;
            return;
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        DataType::Dictionary(_, values) if !array.dictionary.is_null() => {
            // SAFETY: the dictionary of an array of this type has the type of its values.
            unsafe { without_buffers_of_nulls(array.dictionary, values) };
            return;
        }
        _ => return,
    };
    if array.children.is_null() {
        return;
    }
    for (index, kind) in
        of_children.into_iter().enumerate().take(usize::try_from(array.n_children).unwrap_or(0))
    {
        // SAFETY: `index` is below the number of children, which have these types.
        unsafe { without_buffers_of_nulls(*array.children.add(index), kind) };
    }
}

/// What a capsule of that name points to.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

fn broken(py: Python<'_>, error: ArrowError) -> PyErr {
    raised(py, &Error::input("the Arrow data can't be read").because(error))
}
