//! Reads Arrow data of any library, through [its
//! PyCapsules](https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html).
//!
//! ```text
//!  __arrow_c_stream__  ──> a stream of record batches
//!  __arrow_c_array__   ──> one record batch, or the values of a column
//!  an iterable of these ─> batches one after another, all with the columns of the first
//! ```
//!
//! If the data can be read twice, its values decide the type of a column of decimals that have more digits than SQLite's numbers.

use std::ffi::{CStr, c_int};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator};
use sqluice::error::Error;
use sqluice::infer::Inferred;
use sqluice::source::arrow::foreign::{ForeignBatches, import_column};
use sqluice::source::arrow::{ArrowOptions, guessed_type, infer_decimals};

use crate::errors::{raised_by_write, usage};
use crate::packed::Packed;
use crate::run::Feed;
use crate::source::{FoundColumn, Piece};

/// The rows of some data: arrays of structs, which can be read without the GIL.
type Arrays = Box<dyn Iterator<Item = Result<Rows, ArrowError>> + Send>;

/// An array of structs, before or after its import.
enum Rows {
    /// An array of another library, which is not imported yet.
    Foreign(FFI_ArrowArray),
    /// A batch that the parent process has imported.
    Imported(RecordBatch),
}

/// The record batches of a Python object, or of an iterable of such objects.
pub(crate) struct ArrowFeed {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: ForeignBatches,
    current: Arrays,
    /// The objects whose batches follow those of `current`; `None` if there are no others.
    more: Option<Py<PyIterator>>,
    /// The number of objects that were taken so far, for messages.
    number: u64,
    /// The first batch, if [`ArrowFeed::look`] has taken it already.
    first: Option<RecordBatch>,
    /// For columns of decimals whose type follows from their values: the type so far. `None` for other columns.
    watched: Vec<Option<Inferred>>,
    /// `true` if a later value needs another type than the type in `watched`.
    pub(crate) other: bool,
}

impl ArrowFeed {
    /// Makes a feed of the batches of `first`, and then those of each object of `more`.
    pub(crate) fn new(first: &Bound<'_, PyAny>, more: Option<&Bound<'_, PyAny>>) -> PyResult<ArrowFeed> {
        let (schema, current) = read(first)?;
        let more = more.map(|more| more.try_iter()).transpose()?.map(Bound::unbind);
        let (batches, watched) = (ForeignBatches::new(&schema), vec![None; schema.fields().len()]);
        Ok(ArrowFeed { batches, schema, current, more, number: 1, first: None, watched, other: false })
    }

    /// Makes a feed of the batches of `data`. Errors count rows from `rows` on, the number of earlier rows.
    pub(crate) fn after(data: &Bound<'_, PyAny>, rows: u64) -> PyResult<ArrowFeed> {
        let feed = ArrowFeed::new(data, None)?;
        Ok(ArrowFeed { batches: feed.batches.after(rows), ..feed })
    }

    /// Returns, for each column of decimals whose type follows from its values, the type that keeps all digits of the first batch and of
    /// the values that earlier attempts have found (`known`). `None` for other columns.
    pub(crate) fn look(
        &mut self,
        py: Python<'_>,
        known: &[FoundColumn],
        options: ArrowOptions,
    ) -> PyResult<Vec<Option<Inferred>>> {
        let guesses = self.schema.fields().iter().map(|field| guessed_type(field.data_type(), options));
        let known = known.iter().map(|known| known.decimals).chain(std::iter::repeat(None));
        let found: Vec<_> = guesses.zip(known).map(|(guess, known)| guess.max(known)).collect();
        if found.iter().all(Option::is_none) {
            return Ok(found);
        }
        self.first = self.batch(py)?;
        Ok(match &self.first {
            Some(batch) => with_decimals(&found, batch),
            None => found,
        })
    }

    /// Sets, for each column, the type with which a column of decimals is declared; `None` for other columns. A batch that needs another
    /// type is then an error.
    pub(crate) fn watch(&mut self, watched: Vec<Option<Inferred>>) {
        self.watched = watched;
    }

    /// Returns an element for each column: for columns of decimals whose type follows from their values, the type that the values so far
    /// need; for other columns, the default.
    pub(crate) fn found(&self) -> Vec<FoundColumn> {
        let watched = self.watched.iter();
        watched.map(|decimals| FoundColumn { decimals: *decimals, ..FoundColumn::default() }).collect()
    }

    /// Returns the next batch that has rows.
    fn batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let (current, batches) = (&mut self.current, &mut self.batches);
            let next = py.detach(|| {
                let array = current.next()?.map_err(broken);
                Some(array.and_then(|array| match array {
                    // SAFETY: `read` returned the array together with its schema, which was found to be equal to that of the first data.
                    Rows::Foreign(array) => unsafe { batches.import(array) },
                    Rows::Imported(batch) => Ok(batch),
                }))
            });
            if let Some(batch) = next {
                let batch = batch.map_err(|error| raised_by_write(py, &error))?;
                if batch.num_rows() > 0 {
                    return Ok(Some(batch));
                }
                continue;
            }
            let next = self.more.as_ref().and_then(|more| more.clone_ref(py).into_bound(py).next());
            let Some(next) = next.transpose()? else { return Ok(None) };
            self.number += 1;
            let (schema, arrays) = read(&next)?;
            if let Some(error) = other_columns(&self.schema, &schema, self.number) {
                return Err(raised_by_write(py, &error));
            }
            self.current = arrays;
        }
    }
}

/// Returns types of columns of decimals that keep the digits of both the values so far, whose types are `found`, and a batch.
pub(crate) fn with_decimals(found: &[Option<Inferred>], batch: &RecordBatch) -> Vec<Option<Inferred>> {
    let columns = found.iter().zip(batch.columns());
    columns.map(|(found, column)| found.map(|guess| infer_decimals(column, guess))).collect()
}

/// Returns the error for data with other columns than the first data; `None` if they are the same.
fn other_columns(first: &Schema, other: &Schema, number: u64) -> Option<Error> {
    let (fields, others) = (first.fields(), other.fields());
    let message = |what: String| format!("batch {number} has other columns than the first: {what}");
    let lacks = |of: &Schema, name: &str| of.index_of(name).is_err();
    if let Some(field) = fields.iter().find(|field| lacks(other, field.name())) {
        return Some(Error::usage(message(format!("{} is missing", field.name()))).of_column(field.name()));
    }
    if let Some(field) = others.iter().find(|field| lacks(first, field.name())) {
        return Some(Error::usage(message(format!("{} is new", field.name()))).of_column(field.name()));
    }
    let differs = |(field, other): &(&FieldRef, &FieldRef)| {
        (field.name(), field.data_type()) != (other.name(), other.data_type())
    };
    let (field, other) = fields.iter().zip(others).find(differs)?;
    let error = match field.name() == other.name() {
        true => {
            let (was, is) = (field.data_type(), other.data_type());
            Error::usage(message(format!("{} is of type {is}, and was of type {was}", field.name())))
                .hint("cast it, or give all batches in a list, in which types that fit all are found first")
        }
        false => Error::usage(message(format!("{} stands in the place of {}", other.name(), field.name())))
            .hint("select the columns in the order of the first"),
    };
    Some(error.of_column(field.name()))
}

impl Feed for ArrowFeed {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Piece>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(Piece::Batch(first)));
        }
        let Some(batch) = self.batch(py)? else { return Ok(None) };
        let found = with_decimals(&self.watched, &batch);
        if found != self.watched {
            (self.watched, self.other) = (found, true);
            return Err(usage(py, "a decimal needs another type than the values before it"));
        }
        Ok(Some(Piece::Batch(batch)))
    }
}

/// Returns the schema and the rows of an object with Arrow data. The rows have this schema.
fn read(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Arrays)> {
    let py = data.py();
    if let Ok(packed) = data.cast::<Packed>() {
        let Packed { schema, batches } = packed.get();
        return Ok((
            schema.clone(),
            Box::new(batches.clone().into_iter().map(|batch| Ok(Rows::Imported(batch)))),
        ));
    }
    py.import("sqluice._rows")?.getattr("refuse_columns")?.call1((data,))?;
    refuse_short_buffers(data)?;
    if data.hasattr("__arrow_c_stream__")? {
        let capsule = exported(data, "__arrow_c_stream__")?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
        // SAFETY: the name of the capsule guarantees the type of its pointer, and the capsule lives until the end of this function. The
        // stream is moved out of the capsule, which leaves a released stream behind, as the interface requires.
        let stream = unsafe { Stream::from_raw(stream) };
        let stream = stream.map_err(|error| raised_by_write(py, &error))?;
        return Ok((stream.schema.clone(), Box::new(stream)));
    }
    let (schema, array) = capsules(data)?;
    if schema.format() != STRUCT {
        return Err(usage(py, ONE_COLUMN));
    }
    let schema = of_c(&schema).map_err(|error| raised_by_write(py, &error))?;
    Ok((Arc::new(schema), Box::new(std::iter::once(Ok(Rows::Foreign(array))))))
}

/// Returns `true` for data with rows of Arrow.
pub(crate) fn is_rows(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.is_instance_of::<Packed>()
        || data.hasattr("__arrow_c_stream__")?
        || data.hasattr("__arrow_c_array__")?)
}

/// Returns `true` for data with a column of Arrow.
pub(crate) fn is_column(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.is_instance_of::<Packed>() || data.hasattr("__arrow_c_array__")?)
}

/// Returns the array of an object with a column of Arrow, and its type. For errors, the column is called `name`, and its first value has
/// the number `first_row`, counted from 0.
pub(crate) fn array(data: &Bound<'_, PyAny>, name: &str, first_row: u64) -> PyResult<(ArrayRef, DataType)> {
    let py = data.py();
    if let Some(column) = data.cast::<Packed>().ok().and_then(|packed| packed.get().column()) {
        return Ok(column);
    }
    refuse_short_buffers(data)?;
    let (schema, array) = capsules(data)?;
    let kind = DataType::try_from(&schema).map_err(|error| raised_by_write(py, &broken(error)))?;
    // SAFETY: `capsules` returned the array together with its type `kind`, from the same object.
    let array = py.detach(|| unsafe { import_column(array, &kind, name, first_row) });
    Ok((array.map_err(|error| raised_by_write(py, &error))?, kind))
}

/// Raises an error if buffers of pyarrow's data are too short. The C interface does not give their lengths.
fn refuse_short_buffers(data: &Bound<'_, PyAny>) -> PyResult<()> {
    data.py().import("sqluice._rows")?.getattr("refuse_short_buffers")?.call1((data,)).map(drop)
}

/// Returns the type and the array of an object with `__arrow_c_array__`.
fn capsules(data: &Bound<'_, PyAny>) -> PyResult<(FFI_ArrowSchema, FFI_ArrowArray)> {
    let capsules = exported(data, "__arrow_c_array__")?;
    let pair: PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = capsules.extract();
    let (schema, array) = pair.map_err(|_| no_capsule(data.py()))?;
    let schema = pointer::<FFI_ArrowSchema>(&schema, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&array, c"arrow_array")?;
    // SAFETY: the names of the capsules guarantee the types of their pointers, and the capsules live until the end of this function. Type
    // and array are moved out of them, which leaves released ones behind.
    Ok(unsafe { (FFI_ArrowSchema::from_raw(schema), FFI_ArrowArray::from_raw(array)) })
}

/// Calls a method of the PyCapsule interface. Exceptions of the library become input errors.
fn exported<'py>(data: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    data.py().import("sqluice._rows")?.getattr("exported")?.call1((data, method))
}

/// The format string of a struct in the C interface. Rows are structs.
const STRUCT: &str = "+s";

const ONE_COLUMN: &str = "an Arrow array is one column, not rows of a table";

/// Reads the schema of rows. The error for a type that Arrow does not have names the column.
fn of_c(schema: &FFI_ArrowSchema) -> Result<Schema, Error> {
    let unknown = schema.children().find(|column| DataType::try_from(*column).is_err());
    match unknown {
        None => Schema::try_from(schema).map_err(broken),
        Some(column) => {
            let name = column.name().unwrap_or_default();
            let message =
                format!("column {name} has an unknown type, {:?} in Arrow's C interface", column.format());
            Err(Error::input(message).hint("cast it to another type").of_column(name))
        }
    }
}

/// A stream of record batches.
struct Stream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
}

impl Stream {
    /// Moves the stream out of its place, and reads its schema.
    ///
    /// # Safety
    /// `stream` must point to a stream of the C interface.
    unsafe fn from_raw(stream: *mut FFI_ArrowArrayStream) -> Result<Stream, Error> {
        // SAFETY: the caller guarantees that `stream` points to a stream of the C interface.
        let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
        let mut schema = FFI_ArrowSchema::empty();
        let get_schema = stream.get_schema().ok_or_else(|| broken(released()))?;
        // SAFETY: the stream is alive, and the function is its own. The function fills `schema`, whose address is valid during the call.
        let status = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if status != 0 {
            return Err(broken(last_error(&mut stream, status)));
        }
        if schema.format() != STRUCT {
            return Err(Error::usage(ONE_COLUMN));
        }
        let schema = Arc::new(of_c(&schema)?);
        Ok(Stream { stream, schema })
    }
}

impl Iterator for Stream {
    type Item = Result<Rows, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut array = FFI_ArrowArray::empty();
        let Some(get_next) = self.stream.get_next() else { return Some(Err(released())) };
        // SAFETY: the stream is alive, and the function is its own. The function fills `array`, whose address is valid during the call.
        let status = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if status != 0 {
            return Some(Err(last_error(&mut self.stream, status)));
        }
        if array.is_released() {
            return None;
        }
        Some(Ok(Rows::Foreign(array)))
    }
}

fn released() -> ArrowError {
    ArrowError::CDataInterface("the stream is released".to_owned())
}

/// Returns the error that a stream reports after a failed call.
fn last_error(stream: &mut FFI_ArrowArrayStream, status: c_int) -> ArrowError {
    let message = stream.get_last_error().and_then(|get| {
        // SAFETY: the stream is alive, and the function is its own. The text that it returns lives until the next call of the stream.
        let message = unsafe { get(stream) };
        // SAFETY: the pointer is checked for NULL, and otherwise points to a text that ends with NUL. The text is copied before the next
        // call.
        (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
    });
    ArrowError::CDataInterface(message.unwrap_or_else(|| format!("error {status}")))
}

/// Returns the pointer in a capsule. It is an error if the object is no capsule with this name.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let py = capsule.py();
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| no_capsule(py))?;
    let pointer = capsule.pointer_checked(Some(name)).map_err(|_| no_capsule(py))?;
    Ok(pointer.as_ptr().cast())
}

fn no_capsule(py: Python<'_>) -> PyErr {
    raised_by_write(
        py,
        &Error::input("the Arrow data can't be read: it is not in capsules of Arrow's C interface"),
    )
}

fn broken(error: ArrowError) -> Error {
    Error::input("the Arrow data can't be read").because(error)
}
