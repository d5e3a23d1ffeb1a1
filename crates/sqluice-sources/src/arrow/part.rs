//! Provides the rows of record batches as a source of a load.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use sqluice_core::batch::{Batch, Column, ROWS_MAX};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::{ColumnFrom, Filled};
use sqluice_core::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};

use super::ArrowOptions;
use super::column::{Fault, Refusal, Wanted, convert};
use super::nested::{Json, members_of};
use crate::give::{self, give};

/// The maximum number of rows of a part.
pub(crate) const PART_ROWS: usize = 128 << 10;

/// The maximum number of bytes of texts and blobs in one batch, unless the batch is a single row. The limit is needed because a short
/// dictionary can stand for values of any size.
const BATCH_BYTES: usize = 4 << 20;

/// The mapping of the fields of record batches to the columns of a table.
pub struct ArrowRows {
    /// The file of the record batches; `None` if a program passes them.
    file: Option<PathBuf>,
    /// The field or the constant that fills each column of the table.
    pub columns: Vec<Filled>,
    as_text: Vec<bool>,
    declared_kinds: Vec<Option<DataType>>,
    kinds: Option<Vec<DataType>>,
    options: ArrowOptions,
}

impl ArrowRows {
    /// Creates a mapping that fills `columns` from record batches with `fields` fields. `as_text` is `true` for columns with TEXT affinity.
    /// If the batches come from a file, messages begin with `file`.
    ///
    /// # Panics
    /// If `columns` names a field that does not exist.
    pub fn new(
        file: Option<PathBuf>,
        fields: usize,
        columns: Vec<ColumnFrom>,
        as_text: &[bool],
        options: ArrowOptions,
    ) -> ArrowRows {
        let columns = Filled::all(columns, fields);
        ArrowRows {
            file,
            columns,
            as_text: as_text.to_vec(),
            declared_kinds: Vec::new(),
            kinds: None,
            options,
        }
    }

    /// Sets the types by which the fields are interpreted. This is needed for batches with unchecked text in binary arrays, such as those of
    /// [`ForeignBatches`](super::foreign::ForeignBatches). A row with text that is not UTF-8 is a bad row.
    pub fn kinds(mut self, kinds: &[DataType]) -> ArrowRows {
        self.kinds = Some(kinds.to_vec());
        self
    }

    /// Sets, for each column of the table, the type by which its field is interpreted because the column is declared TEXT or BLOB; `None`
    /// if the declaration makes no difference.
    #[cfg(feature = "parquet")]
    pub(crate) fn declared_kinds(mut self, kinds: Vec<Option<DataType>>) -> ArrowRows {
        self.declared_kinds = kinds;
        self
    }

    /// Returns the file of the rows.
    pub(crate) fn place(&self) -> Option<Place> {
        self.file.as_ref().map(Place::file)
    }

    /// Adds the file of the rows to an error.
    pub(crate) fn placed(&self, error: Error) -> Error {
        match self.place() {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// Passes all rows of a record batch to the sink. `first_row` is the number of the first row.
    pub(crate) fn give(&self, batch: &RecordBatch, first_row: u64, sink: &mut dyn Sink) -> Result<()> {
        self.give_as(self.kinds.as_deref(), batch, first_row, sink)
    }

    /// Passes all rows of a record batch to the sink, with its fields interpreted by the types `kinds`.
    pub(crate) fn give_as(
        &self,
        kinds: Option<&[DataType]>,
        batch: &RecordBatch,
        first_row: u64,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (mut from, mut rows_max) = (0, ROWS_MAX);
        while from < batch.num_rows() {
            let rows = rows_max.min(batch.num_rows() - from);
            let mut some = Slice {
                rows: self,
                kinds,
                batch: batch.slice(from, rows),
                first_row: first_row + from as u64,
                done: 0,
                overfull: false,
            };
            let given = give(rows, Vec::new(), &mut some, sink);
            let Slice { done, overfull, .. } = some;
            match given {
                Ok(()) => (from, rows_max) = (from + rows, (rows_max * 2).min(ROWS_MAX)),
                Err(_) if overfull => (from, rows_max) = (from + done, (rows / 2).max(1)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Some rows of a record batch.
struct Slice<'r> {
    rows: &'r ArrowRows,
    kinds: Option<&'r [DataType]>,
    batch: RecordBatch,
    /// The number of the first row.
    first_row: u64,
    /// The number of rows that are done, including bad rows.
    done: usize,
    /// `true` if the next rows are too large for one batch.
    overfull: bool,
}

impl Slice<'_> {
    /// Returns the type by which a field is interpreted.
    fn kind(&self, field: usize) -> &DataType {
        self.kinds.map_or_else(|| self.batch.column(field).data_type(), |kinds| &kinds[field])
    }
}

impl give::GivenRows for Slice<'_> {
    fn batch(&mut self, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), Refused> {
        let batch = self.batch.slice(rows.start, rows.len());
        let ArrowRows { columns, as_text, options, .. } = self.rows;
        let mut converted = Vec::new();
        let mut refused: Vec<RefusedRow> = Vec::new();
        let is_one = rows.len() == 1;
        let row_bytes = options.memory.row_bytes();
        let bytes_max = if is_one { row_bytes } else { BATCH_BYTES.min(row_bytes) };
        let mut bytes = 0;
        for (column, filled) in columns.iter().enumerate() {
            let Filled::Field(field) = filled else {
                converted.push(None);
                continue;
            };
            let declared = self.rows.declared_kinds.get(column).and_then(Option::as_ref);
            let wanted = Wanted {
                as_text: as_text.get(column) == Some(&true),
                kind: declared.unwrap_or_else(|| self.kind(*field)),
                options: *options,
            };
            match convert(&**batch.column(*field), wanted, bytes_max - bytes) {
                Ok(values) => {
                    bytes += values.bytes;
                    converted.push(Some(values));
                }
                Err(Refusal::Room(more)) => {
                    self.overfull = !is_one;
                    let number = self.first_row + rows.start as u64 + 1;
                    let error = options.memory.refuse_row((bytes + more) as u64);
                    let error = self.rows.placed(error.with_words(format!(" (row {number})")));
                    return Err(Refused::Stop { at: None, error });
                }
                Err(Refusal::Fault(Fault { row, message, hint })) => {
                    let name = batch.schema_ref().field(*field).name();
                    let error = Error::input(format!("column {name}: {message}")).of_column(name);
                    let error = match hint {
                        Some(hint) => error.hint(hint),
                        None => error,
                    };
                    refused.push(RefusedRow { row, column, error });
                }
            }
        }
        // Each column reports its first bad row. The smallest of them is removed, and then all columns are tried again.
        if let Some(first) = refused.into_iter().min_by_key(|refused| refused.row) {
            return Err(Refused::Rows(vec![first]));
        }
        let values = columns.iter().zip(&converted).map(|(filled, converted)| match (filled, converted) {
            (Filled::Constant(repeated), _) => repeated.column(rows.len()),
            (_, Some(converted)) => converted.column(),
            (_, None) => Column::NULL,
        });
        sink.rows(&Batch { rows: rows.len(), columns: values.collect() })?;
        self.done = rows.end;
        Ok(())
    }

    fn refused(&mut self, row: usize, column: usize, error: Error) -> BadRow {
        let number = self.first_row + row as u64 + 1;
        let schema = self.batch.schema();
        let kinds = (0..self.batch.num_columns()).map(|field| self.kind(field));
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let mut raw = String::new();
        let bytes_max = self.rows.options.memory.row_bytes();
        members_of(
            names.zip(kinds).zip(self.batch.columns()).map(|((name, kind), column)| (name, kind, column)),
            row,
            &mut Json::new(&mut raw, bytes_max),
        );
        self.done = row + 1;
        let error = match self.rows.columns.get(column) {
            Some(Filled::Field(field)) if error.column().is_none() => {
                error.of_column(schema.field(*field).name())
            }
            _ => error,
        };
        let error = self.rows.placed(error.with_words(format!(" (row {number})")));
        BadRow { error, raw: raw.into_bytes() }
    }
}

/// A source of the rows of record batches.
pub struct ArrowSource {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    rows: Arc<ArrowRows>,
    /// The rest of the current batch.
    rest: Option<RecordBatch>,
    first_row: u64,
    next_row: u64,
    end_row: u64,
}

impl ArrowSource {
    /// Creates a source of the rows of `batches`. The first row has the number `numbers.start`; reading stops at `numbers.end`.
    pub fn new(
        batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
        rows: ArrowRows,
        numbers: Range<u64>,
    ) -> ArrowSource {
        let rows = Arc::new(rows);
        let Range { start, end } = numbers;
        ArrowSource { batches, rows, rest: None, first_row: start, next_row: start, end_row: end }
    }
}

impl Source for ArrowSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        while self.rest.is_none() {
            match self.batches.next() {
                None => return Ok(None),
                Some(batch) => self.rest = Some(batch?).filter(|batch| batch.num_rows() > 0),
            }
        }
        let left = self.end_row.saturating_sub(self.next_row);
        let Some(batch) = self.rest.take().filter(|_| left > 0) else { return Ok(None) };
        let rows = batch.num_rows().min(PART_ROWS).min(usize::try_from(left).unwrap_or(usize::MAX));
        let part = batch.slice(0, rows);
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        let first_row = self.next_row;
        self.next_row += rows as u64;
        let input_bytes = part.get_array_memory_size() as u64;
        Ok(Some(Box::new(ArrowPart { batch: part, rows: Arc::clone(&self.rows), first_row, input_bytes })))
    }

    fn total(&self) -> Option<Amount> {
        None
    }
}

impl Counted for ArrowSource {
    fn rows_done(&self) -> u64 {
        self.next_row - self.first_row
    }
}

/// Some rows of a record batch.
struct ArrowPart {
    batch: RecordBatch,
    rows: Arc<ArrowRows>,
    first_row: u64,
    input_bytes: u64,
}

impl Part for ArrowPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    fn place(&self) -> Option<Place> {
        self.rows.place()
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.rows.give(&self.batch, self.first_row, sink)
    }
}
