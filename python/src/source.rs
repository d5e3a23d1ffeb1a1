//! The receiving end of the channel: a source that gives the engine the rows which the calling thread sends.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DECIMAL256_MAX_PRECISION, DataType};
use crossbeam_channel::Receiver;
use sqluice::affinity::Affinity;
use sqluice::batch::{Batch, Column, ROWS_MAX, Value, Values};
use sqluice::convert::MomentForm;
use sqluice::error::{Error, Result};
use sqluice::infer::Inferred;
use sqluice::progress::Amount;
use sqluice::schema::Table;
use sqluice::source::arrow::{
    ArrowOptions, BadValue, OneColumn, declared_type, guessed_type, infer_decimals, is_moment,
};
use sqluice::source::cells::{Cells, FLOAT_INT_MAX, Seen};
use sqluice::source::chain::Counted;
use sqluice::source::columns::{ColumnFrom, Constant};
use sqluice::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};

/// A message of the calling thread to the engine's threads: rows, or the end of the rows.
pub(crate) enum Piece {
    /// Rows of Python.
    Rows(RowsOfPython),
    /// Rows of Arrow.
    Batch(RecordBatch),
    /// No more rows follow. If a sender is dropped without sending this, it has failed.
    End,
}

/// Rows of Python, column by column.
pub(crate) struct RowsOfPython {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<ColumnOfPython>,
}

/// A column of rows of Python. A frame may have columns of Arrow beside others.
pub(crate) enum ColumnOfPython {
    Cells(Cells),
    /// The imported array, in which text is binary data, and the type of the original data.
    Arrow(ArrayRef, DataType),
}

impl ColumnOfPython {
    /// Returns the approximate number of bytes of the column.
    fn bytes(&self) -> usize {
        match self {
            ColumnOfPython::Cells(cells) => cells.bytes(),
            ColumnOfPython::Arrow(array, _) => array.to_data().get_slice_memory_size().unwrap_or(0),
        }
    }

    /// Returns the kinds of the column's values, from which the declared type follows.
    pub(crate) fn found(&self) -> FoundColumn {
        match self {
            ColumnOfPython::Cells(cells) => FoundColumn { seen: cells.seen(), ..FoundColumn::default() },
            ColumnOfPython::Arrow(_, DataType::Null) => FoundColumn::default(),
            ColumnOfPython::Arrow(array, kind) => FoundColumn::of_arrow(array, kind),
        }
    }
}

/// The kinds of values that a column has had so far. The declared type of the column follows from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FoundColumn {
    /// The kinds of values: integers, floats, text, blobs.
    pub(crate) seen: Seen,
    /// The Arrow type of all values; `None` if they are objects of Python or of several types.
    pub(crate) arrow: Option<DataType>,
    /// The type that keeps all digits of decimals.
    pub(crate) decimals: Option<Inferred>,
}

impl FoundColumn {
    fn of_arrow(array: &ArrayRef, kind: &DataType) -> FoundColumn {
        let options = ArrowOptions::default();
        let decimals = match guessed_type(kind, options) {
            Some(guess) => Some(infer_decimals(array, guess)),
            None => decimal_places(kind).map(|places| match places {
                ..=0 => Inferred::Integer,
                _ => Inferred::Real,
            }),
        };
        let declared =
            decimals.map_or_else(|| declared_type(kind, options).unwrap_or_default(), Inferred::name);
        let seen = match kind {
            DataType::Int64 if !has_wide_ints(array) => Seen::of_ints(),
            DataType::UInt64 if !has_wide_uints(array) => Seen::of_ints(),
            DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32 => Seen::of_ints(),
            _ => Seen::of_declared(declared),
        };
        FoundColumn { seen, arrow: Some(kind.clone()), decimals }
    }

    /// Combines the kinds of values of two parts of a column.
    pub(crate) fn and(self, other: FoundColumn) -> FoundColumn {
        let nothing = FoundColumn::default();
        match () {
            () if other == nothing => self,
            () if self == nothing => other,
            () => FoundColumn {
                seen: self.seen.and(other.seen),
                arrow: self.arrow.zip(other.arrow).and_then(|(one, other)| in_common(one, &other)),
                decimals: self.decimals.zip(other.decimals).map(|(one, other)| one.max(other)),
            },
        }
    }

    /// Returns the declared type of a column with these values; empty for a column without a type.
    pub(crate) fn declared_type(&self, options: ArrowOptions) -> &'static str {
        match (&self.arrow, self.decimals) {
            (Some(kind), Some(decimals)) if guessed_type(kind, options).is_some() => decimals.name(),
            (Some(kind), _) => declared_type(kind, options).unwrap_or_default(),
            (None, _) => self.seen.declared_type(),
        }
    }
}

/// Returns the Arrow type that can hold the values of both types; `None` if the types differ and are not both decimals.
fn in_common(one: DataType, other: &DataType) -> Option<DataType> {
    if one == *other {
        return Some(one);
    }
    let ((digits, places), (other_digits, other_places)) = (decimal_shape(&one)?, decimal_shape(other)?);
    let scale = places.max(other_places);
    let whole =
        (i16::from(digits) - i16::from(places)).max(i16::from(other_digits) - i16::from(other_places));
    let digits = (whole + i16::from(scale)).clamp(1, DECIMAL256_MAX_PRECISION.into());
    Some(DataType::Decimal256(digits as u8, scale))
}

/// Returns the number of digits and the scale of a decimal type; `None` for other types.
fn decimal_shape(kind: &DataType) -> Option<(u8, i8)> {
    match *kind {
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => Some((digits, scale)),
        _ => None,
    }
}

fn decimal_places(kind: &DataType) -> Option<i8> {
    decimal_shape(kind).map(|(_, scale)| scale)
}

/// Returns `true` if an integer of an array is too large for a float to hold exactly.
fn has_wide_ints(array: &ArrayRef) -> bool {
    let ints = array.as_primitive::<Int64Type>();
    ints.iter().flatten().any(|int| int.unsigned_abs() > FLOAT_INT_MAX)
}

fn has_wide_uints(array: &ArrayRef) -> bool {
    array.as_primitive::<UInt64Type>().iter().flatten().any(|int| int > FLOAT_INT_MAX)
}

/// Receives the next message; `None` at the end. A sender that is dropped without an end has failed, which is an error.
fn next(pieces: &Receiver<Piece>) -> Result<Option<Piece>> {
    match pieces.recv() {
        Ok(Piece::End) => Ok(None),
        Ok(piece) => Ok(Some(piece)),
        Err(_) => Err(Error::interrupted()),
    }
}

/// An iterator over received record batches.
pub(crate) struct Batches(pub(crate) Receiver<Piece>);

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match next(&self.0) {
            Ok(Some(Piece::Batch(batch))) => Some(Ok(batch)),
            Ok(Some(_)) => Some(Err(Error::usage("rows of Python among those of Arrow"))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// An iterator over received rows of Python.
pub(crate) struct Pieces(pub(crate) Receiver<Piece>);

impl Iterator for Pieces {
    type Item = Result<RowsOfPython>;

    fn next(&mut self) -> Option<Result<RowsOfPython>> {
        match next(&self.0) {
            Ok(Some(Piece::Rows(rows))) => Some(Ok(rows)),
            Ok(Some(_)) => Some(Err(Error::usage("rows of Arrow among those of Python"))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// A source of rows of Python.
pub(crate) struct RowSource<I> {
    pieces: I,
    goal: Arc<Goal>,
    first_row: u64,
}

impl<I> RowSource<I> {
    /// Makes a source of rows for a table. `filled` gives the field or constant for each column of the table; `options` apply to columns of
    /// Arrow.
    pub(crate) fn new(
        pieces: I,
        (table, filled): (&Table, &[ColumnFrom]),
        options: ArrowOptions,
        forms: &Forms,
    ) -> RowSource<I> {
        let columns =
            table.columns.iter().map(|column| (column.name.clone(), column.affinity == Affinity::Text));
        let forms = table.columns.iter().map(|column| forms.of(&column.name)).collect();
        let goal = Goal { filled: filled.to_vec(), columns: columns.collect(), options, forms };
        RowSource { pieces, goal: Arc::new(goal), first_row: 0 }
    }
}

/// The table that the rows are for, and the origin of each of its columns.
struct Goal {
    filled: Vec<ColumnFrom>,
    /// The columns of the table: the name, and `true` for TEXT affinity.
    columns: Vec<(String, bool)>,
    options: ArrowOptions,
    /// The forms in which timestamps are written to the columns; `None` for the usual form.
    forms: Vec<Option<MomentForm>>,
}

/// The forms that timestamps have in the columns of an existing table.
#[derive(Clone, Default)]
pub(crate) struct Forms(pub(crate) Vec<(String, Option<MomentForm>)>);

impl Forms {
    /// Returns the form of timestamps in a column; `None` if it is that of a new table.
    pub(crate) fn of(&self, column: &str) -> Option<MomentForm> {
        self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).and_then(|(_, form)| *form)
    }
}

impl<I: Iterator<Item = Result<RowsOfPython>> + Send> Source for RowSource<I> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(rows) = self.pieces.next().transpose()? else { return Ok(None) };
        let first_row = self.first_row;
        self.first_row += rows.rows as u64;
        Ok(Some(Box::new(RowPart { rows, goal: Arc::clone(&self.goal), first_row })))
    }
}

struct RowPart {
    rows: RowsOfPython,
    goal: Arc<Goal>,
    first_row: u64,
}

impl RowPart {
    /// Gives `count` rows, from the row `from` on, to the sink. If a column of Arrow has a value that SQLite can't store, gives no rows,
    /// and returns the first such value.
    fn give(
        &self,
        from: usize,
        count: usize,
        constants: &[Vec<Value<'_>>],
        sink: &mut dyn Sink,
    ) -> Result<Option<BadValue>> {
        let RowsOfPython { columns, .. } = &self.rows;
        let Goal { filled, columns: declared, options, forms } = &*self.goal;
        let cells = columns.iter().map(|column| match column {
            ColumnOfPython::Cells(cells) => cells.mixed(from, count),
            ColumnOfPython::Arrow(_, _) => Vec::new(),
        });
        let mixed: Vec<Vec<Value<'_>>> = cells.collect();
        let slices = columns.iter().map(|column| match column {
            ColumnOfPython::Cells(_) => None,
            ColumnOfPython::Arrow(array, kind) => Some((array.slice(from, count), kind)),
        });
        let slices: Vec<Option<(ArrayRef, &DataType)>> = slices.collect();
        let mut converted: Vec<Option<OneColumn<'_>>> = Vec::new();
        let mut fault: Option<BadValue> = None;
        for (column, source) in filled.iter().enumerate() {
            let slice = match source {
                ColumnFrom::Field(field) => slices[*field].as_ref(),
                ColumnFrom::Constant(_) => None,
            };
            let Some((slice, kind)) = slice else {
                converted.push(None);
                continue;
            };
            let (name, as_text) = &declared[column];
            match OneColumn::new(slice, kind, name, *as_text, *options) {
                Ok(values) => converted.push(Some(match forms[column] {
                    Some(form) if is_moment(kind, *options) => values.in_form(&form),
                    _ => values,
                })),
                Err(found) => {
                    converted.push(None);
                    if fault.as_ref().is_none_or(|first| found.row < first.row) {
                        fault = Some(found);
                    }
                }
            }
        }
        if fault.is_some() {
            return Ok(fault);
        }
        let of_table = filled.iter().zip(constants).zip(&converted);
        let of_table = of_table.map(|((source, constant), converted)| match (source, converted) {
            (_, Some(converted)) => converted.column(),
            (ColumnFrom::Field(field), None) => match &columns[*field] {
                ColumnOfPython::Cells(cells) => cells.column(from, count, &mixed[*field]),
                ColumnOfPython::Arrow(_, _) => Column::NULL,
            },
            (ColumnFrom::Constant(_), None) => Column::new(Values::Any(&constant[..count])),
        });
        let batch = Batch { rows: count, columns: of_table.collect() };
        if let Err(refused) = sink.rows(&batch) {
            let (at, error) = refused.first();
            let Some((row, column)) = at else { return Err(error) };
            let error = match (error.column(), declared.get(column)) {
                (None, Some((name, _))) => error.of_column(name),
                _ => error,
            };
            return Err(match error.record() {
                None => error.of_record("", self.first_row + (from + row) as u64 + 1),
                Some(_) => error,
            });
        }
        Ok(None)
    }
}

impl Part for RowPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.rows.columns.iter().map(ColumnOfPython::bytes).sum::<usize>() as u64
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let rows = self.rows.rows;
        let constants: Vec<Vec<Value<'_>>> = self.goal.filled.iter().map(repeated).collect();
        for from in (0..rows).step_by(ROWS_MAX) {
            let mut count = ROWS_MAX.min(rows - from);
            let mut refused: Option<Error> = None;
            // The rows before the bad value are given first, because they may have another fault, which must be reported instead.
            while count > 0 {
                let Some(bad) = self.give(from, count, &constants, sink)? else { break };
                let number = self.first_row + (from + bad.row) as u64 + 1;
                refused = Some(bad.error.with_words(format!(" (row {number})")).of_record("", number));
                count = bad.row;
            }
            if let Some(error) = refused {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Returns a constant repeated for each row of the largest batch; empty for a column that is no constant.
fn repeated(from: &ColumnFrom) -> Vec<Value<'_>> {
    let ColumnFrom::Constant(constant) = from else { return Vec::new() };
    let value = match constant {
        Constant::Null => Value::Null,
        Constant::Int(int) => Value::Int(*int),
        Constant::Real(real) => Value::Real(*real),
        Constant::Text(text) => Value::Text(text.as_bytes()),
        Constant::Blob(blob) => Value::Blob(blob),
    };
    vec![value; ROWS_MAX]
}

/// A source that adds the number of the row to errors of another source.
pub(crate) struct Numbered(pub(crate) Box<dyn Counted>);

impl Source for Numbered {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        Ok(self.0.next_part()?.map(|part| Box::new(NumberedPart(part)) as Box<dyn Part>))
    }

    fn total(&self) -> Option<Amount> {
        self.0.total()
    }
}

struct NumberedPart(Box<dyn Part>);

impl Part for NumberedPart {
    fn first_row(&self) -> u64 {
        self.0.first_row()
    }

    fn input_bytes(&self) -> u64 {
        self.0.input_bytes()
    }

    fn is_typed(&self) -> bool {
        self.0.is_typed()
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let next = self.0.first_row();
        self.0.decode(&mut Numbering { sink, next })
    }
}

/// A sink that counts rows, and adds the number of the row to errors.
struct Numbering<'s> {
    sink: &'s mut dyn Sink,
    /// The number of the next row, from 0.
    next: u64,
}

impl Sink for Numbering<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let first = self.next;
        let number = |error: Error, row: usize| match error.record() {
            None => error.of_record("", first + row as u64 + 1),
            Some(_) => error,
        };
        match self.sink.rows(batch) {
            Ok(()) => {
                self.next += batch.rows as u64;
                Ok(())
            }
            Err(Refused::Stop { at: Some((row, column)), error }) => {
                Err(Refused::Stop { at: Some((row, column)), error: number(error, row) })
            }
            Err(Refused::Rows(rows)) => {
                let rows = rows.into_iter();
                let rows =
                    rows.map(|refused| RefusedRow { error: number(refused.error, refused.row), ..refused });
                Err(Refused::Rows(rows.collect()))
            }
            Err(stop) => Err(stop),
        }
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.next += 1;
        let error = match bad.error.record() {
            None => bad.error.of_record("", self.next),
            Some(_) => bad.error,
        };
        self.sink.bad_row(BadRow { error, ..bad })
    }
}
