//! Imports arrays from other libraries through the Arrow [C data interface](https://arrow.apache.org/docs/format/CDataInterface.html).
//!
//! ```text
//!  FFI_ArrowArray ──> raw: buffers ──> build: checked ──> RecordBatch, its text as binary data ──> ArrowRows: UTF-8, row by row
//!                                        │
//!                                        └── level: the row of a fault
//! ```
//!
//! The Arrow crate imports such arrays without checking their content. Descending offsets, a key beyond the end of its dictionary or text
//! that is not UTF-8 would then be undefined behaviour. Here, invalid content is an error that names the column and the row.
//!
//! Invariant: every array is created by a constructor that checks its parts. No imported array has a text type: text is checked later, when
//! rows are converted, on all cores. A row with text that is not UTF-8 is a bad row, as in files.
//!
//! Bytes that belong to no row, such as values under a NULL, may be anything and are ignored.

mod build;
mod level;
#[allow(unsafe_code, reason = "the interface consists of pointers")]
mod raw;
#[cfg(test)]
#[allow(unsafe_code, reason = "the tests also use the pointers of the interface")]
mod tests;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema, SchemaRef};
use sqluice_core::error::{Error, Result};

use self::build::{Dictionaries, build, plain_field};
use self::level::Level;
use self::raw::Node;
use super::damaged::read_damaged;

/// The description of invalid content in an array.
#[derive(Debug)]
struct Fault {
    /// The name of the column; empty if the fault concerns all columns.
    column: String,
    /// The path to the invalid value: the column, and the fields within it.
    path: String,
    /// The first row with the fault, counted from 0.
    row: Option<usize>,
    message: String,
}

/// The import of a sequence of record batches from another library.
pub struct ForeignBatches {
    kinds: Vec<DataType>,
    kind: DataType,
    schema: SchemaRef,
    dictionaries: Dictionaries,
    /// The number of imported batches that have rows.
    batches: u64,
    rows: u64,
}

impl ForeignBatches {
    /// Creates an import of batches with the given schema.
    pub fn new(schema: &Schema) -> ForeignBatches {
        let fields = schema.fields();
        let plain: Vec<_> = fields.iter().map(plain_field).collect();
        ForeignBatches {
            kinds: fields.iter().map(|field| field.data_type().clone()).collect(),
            kind: DataType::Struct(fields.clone()),
            schema: Arc::new(Schema::new(plain)),
            dictionaries: Dictionaries::default(),
            batches: 0,
            rows: 0,
        }
    }

    /// Sets the number of earlier rows. The numbers of the imported rows continue after it.
    #[must_use]
    pub fn after(mut self, rows: u64) -> ForeignBatches {
        self.rows = rows;
        self
    }

    /// Returns the schema of the imported batches, in which text columns have binary types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the original types of the columns, for [`ArrowRows::kinds`](super::ArrowRows::kinds).
    pub fn kinds(&self) -> &[DataType] {
        &self.kinds
    }

    /// Imports the next batch.
    ///
    /// # Errors
    /// If the content contradicts itself. The error names the row, counted from 1 over all batches, or the batch if no row is at fault.
    ///
    /// # Safety
    /// `array` must be an array of the C data interface: an array of structs with the fields of the schema. Each of its pointers must be
    /// NULL or valid, and each buffer must be as long as the layout of its type requires.
    #[allow(unsafe_code, reason = "the caller guarantees that the array is valid")]
    pub unsafe fn import(&mut self, array: FFI_ArrowArray) -> Result<RecordBatch> {
        self.dictionaries.rewind();
        // SAFETY: the caller guarantees that the array is valid.
        let rows = unsafe { imported(array, &self.kind, "", &mut self.dictionaries) };
        let batch = rows.and_then(|rows| self.batch(&rows)).map_err(|fault| {
            let batch = self.batches + 1;
            let place = match fault.row {
                Some(row) if batch > 1 => {
                    format!("row {}, row {} of batch {batch}", self.rows + row as u64 + 1, row + 1)
                }
                Some(row) => format!("row {}", self.rows + row as u64 + 1),
                None => format!("batch {batch}"),
            };
            fault.error(&place, self.rows)
        })?;
        self.rows += batch.num_rows() as u64;
        self.batches += u64::from(batch.num_rows() > 0);
        Ok(batch)
    }

    fn batch(&self, rows: &ArrayRef) -> Result<RecordBatch, Fault> {
        let fault =
            |message: String| Fault { column: String::new(), path: String::new(), row: None, message };
        let rows = rows.as_struct();
        if let Some(row) = (0..rows.len()).find(|row| rows.is_null(*row)) {
            return Err(Fault { row: Some(row), ..fault("the whole row is NULL".to_owned()) });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), rows.columns().to_vec(), &options)
            .map_err(|error| fault(error.to_string()))
    }
}

/// Imports an array as the column `name`. `first_row` is the number of its first row, counted from 0.
///
/// # Errors
/// If the content contradicts itself.
///
/// # Safety
/// `array` must be valid, as [`ForeignBatches::import`] requires of its arrays, and have the type `kind`.
#[allow(unsafe_code, reason = "the caller guarantees that the array is valid")]
pub unsafe fn import_column(
    array: FFI_ArrowArray,
    kind: &DataType,
    name: &str,
    first_row: u64,
) -> Result<ArrayRef> {
    // SAFETY: the caller guarantees that the array is valid.
    let array = unsafe { imported(array, kind, name, &mut Dictionaries::default()) };
    array.map_err(|fault| {
        let place = fault.row.map(|row| format!("row {}", first_row + row as u64 + 1));
        fault.error(place.as_deref().unwrap_or("all rows"), first_row)
    })
}

#[allow(unsafe_code, reason = "the caller guarantees that the array is valid")]
unsafe fn imported(
    array: FFI_ArrowArray,
    kind: &DataType,
    name: &str,
    dictionaries: &mut Dictionaries,
) -> Result<ArrayRef, Fault> {
    let owner = Arc::new(array);
    let whole =
        |message: String| Fault { column: name.to_owned(), path: name.to_owned(), row: None, message };
    if owner.is_released() {
        return Err(whole("the array is already released".to_owned()));
    }
    // SAFETY: the caller guarantees that the array is valid, and it is not released.
    let node = unsafe { Node::root(&owner, kind) };
    node.check().map_err(whole)?;
    let rows = Level::rows(node.length());
    let edges = |each: level::Each<'_>| (0..node.length()).for_each(|row| each(row, row..row + 1));
    let column = rows.child(name, node.length(), &edges);
    let read = read_damaged(|| Ok::<_, Error>(build(node, 0, node.length(), &column, dictionaries)));
    read.map_err(|error| whole(error.to_string()))?
}

impl Fault {
    fn error(self, place: &str, rows_before: u64) -> Error {
        let Fault { column, path, row, message } = self;
        let path = if path.is_empty() { String::new() } else { format!("column {path}: ") };
        let error = Error::input(format!("the Arrow data contradicts itself: {path}{message} ({place})"))
            .hint(
                "the library that created the data has a fault; in pyarrow, validate(full=True) tells more",
            );
        let error = if column.is_empty() { error } else { error.of_column(column) };
        match row {
            Some(row) => error.of_record("", rows_before + row as u64 + 1),
            None => error,
        }
    }
}
