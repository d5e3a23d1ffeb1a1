//! Encodes the parts of a source as Arrow record batches, and writes Arrow IPC files.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray, TimestampMicrosecondArray,
};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use sqluice_core::batch::{Batch, Bytes, Column, Spans, Value, Values, describe};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::source::{BadRow, BadText, Part, Refused, Sink};

use crate::dates;
use crate::digits::{push_int, push_real};
use crate::in_order::Encode;
use crate::types::{ColumnType, Kind, fits_double};
use crate::unfit::{Mixed, Nulled, without_bad_text};

/// The maximum number of bytes of text in a column of a batch. Arrow's offsets have 31 bits, and the last value may have 1 GB.
const TEXT_BYTES_MAX: usize = 1 << 30;

/// An encoder that turns the parts of a source into Arrow record batches.
pub struct ArrowEncoder {
    schema: SchemaRef,
    types: Vec<ColumnType>,
    mixed: Mixed,
    nulled: Arc<Nulled>,
    /// The number of rows of the last batch. The next batch is usually of the same size, so this number is the initial capacity of its
    /// vectors, which then need not grow.
    rows_before: AtomicUsize,
    /// The number of bytes of text in each column of the last batch: the initial capacity for the text of the next batch.
    bytes_before: Vec<AtomicUsize>,
}

/// The rows of a part as record batches.
#[derive(Debug, Default)]
pub struct ArrowPiece {
    /// The rows: one batch, or several if the values are very large.
    pub batches: Vec<RecordBatch>,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes of input that the part was decoded from.
    pub input_bytes: u64,
}

impl ArrowEncoder {
    /// Creates an encoder for columns with these names and types. `mixed` is the handling of values that do not fit the type of their
    /// column; values that become NULL are counted in `nulled`.
    pub fn new(names: &[String], types: Vec<ColumnType>, mixed: Mixed, nulled: Arc<Nulled>) -> ArrowEncoder {
        let field = |(name, of): (&String, &ColumnType)| Field::new(name, data_type(of.kind), true);
        let fields: Vec<Field> = names.iter().zip(&types).map(field).collect();
        let bytes_before = types.iter().map(|_| AtomicUsize::new(0)).collect();
        let schema = Arc::new(Schema::new(fields));
        ArrowEncoder { schema, types, mixed, nulled, rows_before: AtomicUsize::new(0), bytes_before }
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Int => DataType::Int64,
        Kind::Real => DataType::Float64,
        Kind::Text => DataType::Utf8,
        Kind::Blob => DataType::Binary,
        Kind::Date => DataType::Date32,
        Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

impl Encode for ArrowEncoder {
    type Piece = ArrowPiece;

    fn encode(&self, part: &mut dyn Part) -> Result<ArrowPiece> {
        let mut sink =
            ArrowSink { encoder: self, columns: Vec::new(), rows: 0, piece: ArrowPiece::default() };
        sink.begin();
        part.decode(&mut sink)?;
        sink.finish_batch()?;
        Ok(ArrowPiece { input_bytes: part.input_bytes(), ..sink.piece })
    }
}

/// An Arrow IPC file that is written batch by batch.
pub struct ArrowFile<W: Write>(FileWriter<W>);

impl<W: Write> ArrowFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If the first bytes can't be written.
    pub fn begin(out: W, schema: &Schema) -> Result<ArrowFile<W>> {
        FileWriter::try_new(out, schema).map(ArrowFile).map_err(unwritten)
    }

    /// Appends a batch.
    ///
    /// # Errors
    /// If the batch can't be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(unwritten)
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// If the end can't be written.
    pub fn finish(mut self) -> Result<()> {
        self.0.finish().map_err(unwritten)
    }
}

fn unwritten(error: ArrowError) -> Error {
    Error::target("cannot write an Arrow file").because(error)
}

/// Returns the error for a record batch that Arrow refuses.
pub(crate) fn failed(error: ArrowError) -> Error {
    Error::input("cannot make a record batch").because(error)
}

/// A column of a batch that is being built.
struct Building {
    values: BuildingValues,
    nulls: NullBufferBuilder,
}

enum BuildingValues {
    Ints(Vec<i64>),
    Reals(Vec<f64>),
    Days(Vec<i32>),
    Bytes { offsets: Vec<i32>, data: Vec<u8> },
}

struct ArrowSink<'e> {
    encoder: &'e ArrowEncoder,
    columns: Vec<Building>,
    rows: usize,
    piece: ArrowPiece,
}

impl ArrowSink<'_> {
    fn begin(&mut self) {
        let rows = self.encoder.rows_before.load(Ordering::Relaxed);
        let building = |(of, bytes): (&ColumnType, &AtomicUsize)| Building {
            values: match of.kind {
                Kind::Int | Kind::Timestamp => BuildingValues::Ints(Vec::with_capacity(rows)),
                Kind::Real => BuildingValues::Reals(Vec::with_capacity(rows)),
                Kind::Date => BuildingValues::Days(Vec::with_capacity(rows)),
                Kind::Text | Kind::Blob => {
                    let mut offsets = Vec::with_capacity(rows + 1);
                    offsets.push(0);
                    BuildingValues::Bytes { offsets, data: Vec::with_capacity(bytes.load(Ordering::Relaxed)) }
                }
            },
            nulls: NullBufferBuilder::new(rows),
        };
        self.columns = self.encoder.types.iter().zip(&self.encoder.bytes_before).map(building).collect();
    }

    fn finish_batch(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.encoder.rows_before.store(self.rows, Ordering::Relaxed);
        for (column, before) in self.columns.iter().zip(&self.encoder.bytes_before) {
            if let BuildingValues::Bytes { data, .. } = &column.values {
                before.store(data.len(), Ordering::Relaxed);
            }
        }
        let columns = std::mem::take(&mut self.columns).into_iter().zip(&self.encoder.types);
        let arrays = columns.map(|(column, of)| column.finish(of.kind)).collect::<Result<Vec<_>, _>>();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = arrays.and_then(|arrays| {
            RecordBatch::try_new_with_options(Arc::clone(&self.encoder.schema), arrays, &options)
        });
        self.piece.batches.push(batch.map_err(failed)?);
        self.piece.rows += self.rows as u64;
        self.rows = 0;
        Ok(())
    }
}

impl Sink for ArrowSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let large = |building: &Building, column: &Column<'_>| match (&building.values, column.values) {
            (BuildingValues::Bytes { data, .. }, Values::Text(bytes) | Values::Blob(bytes)) => {
                data.len() + bytes.data.len() > TEXT_BYTES_MAX
            }
            (BuildingValues::Bytes { data, .. }, _) => data.len() > TEXT_BYTES_MAX / 2,
            _ => false,
        };
        if self.columns.iter().zip(&batch.columns).any(|(building, column)| large(building, column)) {
            self.finish_batch()?;
            self.begin();
        }
        let encoder = self.encoder;
        for (index, (building, column)) in self.columns.iter_mut().zip(&batch.columns).enumerate() {
            let of = encoder.types[index];
            if building.append_all(column, batch.rows, of) {
                continue;
            }
            for row in 0..batch.rows {
                let value = column.get(row);
                if !building.append(&value, of) {
                    if encoder.mixed != Mixed::Null {
                        return Err(Refused::Stop {
                            at: Some((row, index)),
                            error: other_kind(&value, of.kind),
                        });
                    }
                    encoder.nulled.count(index);
                    building.append(&Value::Null, of);
                }
            }
        }
        self.rows += batch.rows;
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        Err(without_bad_text(bad.error))
    }

    fn bad_text(&mut self, column: usize) -> BadText {
        self.encoder.mixed.bad_text(&self.encoder.nulled, column)
    }
}

/// Returns the error for a value that does not have the kind of its column.
fn other_kind(value: &Value<'_>, kind: Kind) -> Error {
    let what = match kind {
        Kind::Int => "integers",
        Kind::Real => "doubles",
        Kind::Text => "text",
        Kind::Blob => "bytes",
        Kind::Date => "dates",
        Kind::Timestamp => "timestamps",
    };
    let error = Error::input(format!("{} in a column of {what}", describe(value)));
    error.hint(match kind {
        Kind::Date | Kind::Timestamp => {
            message![
                Setting::Mixed.to("null"),
                " writes NULL instead; without ",
                Setting::Dates,
                " they stay text"
            ]
        }
        Kind::Text => message![Setting::Mixed.to("null"), " writes NULL instead"],
        _ => message![
            Setting::Mixed.to("text"),
            " writes the whole column as text, ",
            Setting::Mixed.to("null"),
            " writes NULL instead of such values"
        ],
    })
}

impl Building {
    /// Appends a whole column. Returns `false`, with nothing appended, if the values must be converted one by one.
    fn append_all(&mut self, column: &Column<'_>, rows: usize, of: ColumnType) -> bool {
        match (&mut self.values, column.values, of.kind) {
            (BuildingValues::Ints(ints), Values::Int(values), Kind::Int) => {
                ints.extend_from_slice(&values[..rows])
            }
            // A NaN becomes NULL, so columns with NaNs are appended value by value.
            (BuildingValues::Reals(reals), Values::Real(values), Kind::Real)
                if column.validity.is_none() && !values[..rows].iter().any(|real| real.is_nan()) =>
            {
                reals.extend_from_slice(&values[..rows]);
            }
            (BuildingValues::Bytes { offsets, data }, Values::Text(bytes), Kind::Text)
            | (BuildingValues::Bytes { offsets, data }, Values::Blob(bytes), Kind::Blob) => {
                let Bytes { data: from, spans: Spans::Offsets(spans) } = bytes else { return false };
                let (start, base) = (spans[0], data.len());
                offsets.extend(spans[1..=rows].iter().map(|end| (base + (end - start) as usize) as i32));
                data.extend_from_slice(&from[start as usize..spans[rows] as usize]);
            }
            _ => return false,
        }
        match column.validity {
            None => self.nulls.append_n_non_nulls(rows),
            Some(validity) => (0..rows).for_each(|row| self.nulls.append(validity.get(row))),
        }
        true
    }

    /// Appends a value. Returns `false` if the value does not fit the type of the column and can't be converted.
    fn append(&mut self, value: &Value<'_>, of: ColumnType) -> bool {
        let ColumnType { kind, int_as_real, number_as_text } = of;
        match (&mut self.values, value) {
            (BuildingValues::Ints(ints), Value::Null) => ints.push(0),
            (BuildingValues::Reals(reals), Value::Null) => reals.push(0.0),
            (BuildingValues::Days(days), Value::Null) => days.push(0),
            (BuildingValues::Bytes { offsets, data }, Value::Null) => offsets.push(data.len() as i32),
            (BuildingValues::Ints(ints), Value::Int(int)) if kind == Kind::Int => ints.push(*int),
            (BuildingValues::Ints(ints), Value::Text(text)) if kind == Kind::Timestamp => {
                let Some(micros) = dates::micros(text) else { return false };
                ints.push(micros);
            }
            (BuildingValues::Reals(reals), Value::Real(real)) => reals.push(*real),
            (BuildingValues::Reals(reals), Value::Int(int)) if int_as_real && fits_double(*int) => {
                reals.push(*int as f64);
            }
            (BuildingValues::Days(all), Value::Text(text)) => {
                let Some(days) = dates::days(text) else { return false };
                all.push(days);
            }
            (BuildingValues::Bytes { offsets, data }, value) => {
                match value {
                    Value::Text(text) if kind == Kind::Text => data.extend_from_slice(text),
                    Value::Blob(blob) if kind == Kind::Blob => data.extend_from_slice(blob),
                    Value::Int(int) if number_as_text => push_int(data, *int),
                    Value::Real(real) if number_as_text && real.is_finite() => push_real(data, *real),
                    Value::Real(real) if number_as_text => {
                        data.extend_from_slice(if *real > 0.0 { b"Infinity" } else { b"-Infinity" });
                    }
                    _ => return false,
                }
                offsets.push(data.len() as i32);
            }
            _ => return false,
        }
        self.nulls.append(!matches!(value, Value::Null));
        true
    }

    fn finish(mut self, kind: Kind) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.finish();
        Ok(match self.values {
            BuildingValues::Ints(ints) if kind == Kind::Timestamp => {
                Arc::new(TimestampMicrosecondArray::try_new(ints.into(), nulls)?)
            }
            BuildingValues::Ints(ints) => Arc::new(Int64Array::try_new(ints.into(), nulls)?),
            BuildingValues::Reals(reals) => Arc::new(Float64Array::try_new(reals.into(), nulls)?),
            BuildingValues::Days(days) => Arc::new(Date32Array::try_new(days.into(), nulls)?),
            BuildingValues::Bytes { offsets, data } => {
                let (offsets, data) = (OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from(data));
                match kind {
                    Kind::Blob => Arc::new(BinaryArray::try_new(offsets, data, nulls)?),
                    _ => Arc::new(StringArray::try_new(offsets, data, nulls)?),
                }
            }
        })
    }
}
