//! Sources that convert the structs of an iterator to rows.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use sqluice_core::batch::{Batch, ROWS_MAX, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::source::cells::{Cells, Seen};
use sqluice_core::source::columns::{ColumnFrom, Filled};
use sqluice_core::source::{Part, Sink, Source};

use super::row::{Columns, RowFault};

/// The maximum number of rows of a part. With this many rows, the overhead of a part is small.
const PART_ROWS: usize = 4096;

/// The bytes of text and blobs that end a part.
const PART_BYTES: usize = 4 << 20;

/// The maximum number of parts that are converted before the table is created, to find its columns and their types. No further part is
/// converted once the converted parts have [`PART_BYTES`] bytes.
const LOOK_PARTS: usize = 4;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The first rows, converted, with the names of their fields and the kinds of their values.
#[derive(Debug)]
pub(super) struct Look {
    /// The names of the fields.
    pub(super) names: Vec<String>,
    /// The kinds of values of each field.
    pub(super) kinds: Vec<Seen>,
    /// The number of examined rows.
    pub(super) rows: u64,
    /// The minimum number of rows according to the iterator's size hint, if it has one.
    pub(super) about: Option<u64>,
    parts: VecDeque<Columns>,
    /// The error of the row after these rows, if any.
    error: Option<Error>,
}

impl Look {
    /// Returns the number of rows of a part, so that a part has at most `PART_BYTES` bytes if its rows are as large as the first rows.
    fn part_rows(&self) -> usize {
        let bytes: usize = self.parts.iter().map(Columns::data_bytes).sum();
        let each = bytes / (self.rows as usize).max(1);
        (PART_BYTES / each.max(1)).clamp(1, PART_ROWS)
    }
}

/// Reads the first rows. The names of the result are `names`, followed by the fields of these rows that are not among them. Also returns
/// the iterator of the remaining rows.
pub(super) fn look<T, E, I>(mut rows: I, names: &[String]) -> Result<(Look, I)>
where
    T: Serialize,
    E: Into<Failure>,
    I: Iterator<Item = std::result::Result<T, E>>,
{
    let mut look = Look {
        names: names.to_vec(),
        kinds: Vec::new(),
        rows: 0,
        about: None,
        parts: VecDeque::new(),
        error: None,
    };
    let mut bytes = 0;
    while look.parts.len() < LOOK_PARTS && bytes < PART_BYTES && look.error.is_none() {
        let mut columns = Columns::growing(&look.names);
        let is_last = fill(&mut columns, &mut rows, look.rows, &mut look.error);
        bytes += columns.data_bytes();
        look.rows += columns.rows() as u64;
        look.names = columns.names().to_vec();
        if columns.rows() > 0 {
            look.parts.push_back(columns);
        }
        if is_last {
            break;
        }
    }
    if look.rows == 0
        && let Some(error) = look.error
    {
        return Err(error);
    }
    let (least, most) = rows.size_hint();
    look.about = (least > 0 || most == Some(0)).then_some(look.rows + least as u64);
    look.kinds = vec![Seen::default(); look.names.len()];
    for part in &mut look.parts {
        part.widen(&look.names);
        for (kinds, more) in look.kinds.iter_mut().zip(part.kinds()) {
            *kinds = kinds.and(more);
        }
    }
    Ok((look, rows))
}

/// Converts rows until a part is full. Returns `true` if no rows are left, or a row was an error, which is then in `error`.
fn fill<T, E, I>(columns: &mut Columns, rows: &mut I, before: u64, error: &mut Option<Error>) -> bool
where
    T: Serialize,
    E: Into<Failure>,
    I: Iterator<Item = std::result::Result<T, E>>,
{
    while columns.rows() < PART_ROWS && columns.data_bytes() < PART_BYTES {
        let number = before + columns.rows() as u64 + 1;
        match rows.next() {
            None => return true,
            Some(Ok(row)) => {
                if let Err(fault) = columns.push(&row) {
                    *error = Some(faulty(fault, number));
                    return true;
                }
            }
            Some(Err(failure)) => {
                *error = Some(failed(failure, number));
                return true;
            }
        }
    }
    false
}

/// Returns the error for a row that can't be stored.
fn faulty(fault: RowFault, number: u64) -> Error {
    let RowFault { field, why } = fault;
    let message = match field {
        Some(field) => format!("row {number}, field {field:?}: {why}"),
        None => format!("row {number}: {why}"),
    };
    Error::input(message).of_record("", number)
}

/// Returns the error for an item of the iterator that is an error.
fn failed(failure: impl Into<Failure>, number: u64) -> Error {
    Error::input(format!("the source of the rows failed at row {number}"))
        .because(failure)
        .of_record("", number)
}

/// The table that gets the rows, and the origin of each of its columns.
#[derive(Debug)]
pub(super) struct Target {
    table: String,
    names: Vec<String>,
    filled: Vec<Filled>,
    /// For each column whose type was inferred, the kinds of values that it was inferred from; `None` for other columns.
    watched: Vec<Option<Seen>>,
}

impl Target {
    /// Creates the target of rows with the fields `names`, for a table with the mapping `filled`.
    pub(super) fn new(
        table: &str,
        names: Vec<String>,
        filled: Vec<ColumnFrom>,
        watched: Vec<Option<Seen>>,
    ) -> Target {
        let filled = Filled::all(filled, names.len());
        Target { table: table.to_owned(), names, filled, watched }
    }

    /// Returns the row and column of the first value that would change the inferred type of its column; `None` if no value would.
    fn first_other(&self, columns: &Columns) -> Option<(usize, usize)> {
        let watched = self.watched.iter().zip(columns.cells()).enumerate();
        let others = watched.filter_map(|(column, (seen, cells))| {
            let seen = (*seen)?;
            let declared = seen.declared_type();
            // A column without a type converts no values, so no value of it would change the type.
            if declared.is_empty() || seen.and(cells.seen()).declared_type() == declared {
                return None;
            }
            Some((cells.first_other(seen)?, column))
        });
        others.min().filter(|(row, _)| *row < columns.rows())
    }

    /// Passes rows to the sink, up to the first row with a value that would change the inferred type of its column.
    fn give(&self, columns: &Columns, first_row: u64, sink: &mut dyn Sink) -> Result<()> {
        let other = self.first_other(columns);
        let rows = other.map_or(columns.rows(), |(row, _)| row);
        for from in (0..rows).step_by(ROWS_MAX) {
            let count = ROWS_MAX.min(rows - from);
            self.give_batch(columns.cells(), from, count, sink).map_err(|refused| {
                let (at, error) = refused.first();
                match at {
                    Some((row, _)) if error.record().is_none() => {
                        let number = first_row + (from + row) as u64 + 1;
                        error.with_words(format!(" (row {number})")).of_record(&self.table, number)
                    }
                    _ => error,
                }
            })?;
        }
        let Some((row, column)) = other else { return Ok(()) };
        let declared = self.watched[column].map_or("", Seen::declared_type);
        let why =
            format!("the first rows gave this column the type {declared}, which does not fit this value");
        let field = self.names[column].clone();
        let hint = format!("declare the column: the type \"\" for {field:?} keeps all values as they are");
        Err(faulty(RowFault { field: Some(field), why }, first_row + row as u64 + 1).hint(hint))
    }

    fn give_batch(
        &self,
        cells: &[Cells],
        from: usize,
        rows: usize,
        sink: &mut dyn Sink,
    ) -> std::result::Result<(), sqluice_core::source::Refused> {
        let mixed: Vec<Vec<Value<'_>>> = cells.iter().map(|cells| cells.mixed(from, rows)).collect();
        let columns = self.filled.iter().map(|filled| match filled {
            Filled::Field(field) => cells[*field].column(from, rows, &mixed[*field]),
            Filled::Constant(constant) => constant.column(rows),
        });
        sink.rows(&Batch { rows, columns: columns.collect() })
    }
}

/// A source of structs. The threads that encode the rows also convert the structs.
pub(super) struct StructSource<I> {
    target: Arc<Target>,
    part_rows: usize,
    look: Look,
    rows: I,
    first_row: u64,
}

impl<I> StructSource<I> {
    /// Creates a source of the rows of `look`, followed by `rows`.
    pub(super) fn new(target: Target, look: Look, rows: I) -> StructSource<I> {
        let part_rows = look.part_rows();
        StructSource { target: Arc::new(target), part_rows, look, rows, first_row: 0 }
    }
}

impl<T, E, I> Source for StructSource<I>
where
    T: Serialize + Send + 'static,
    E: Into<Failure>,
    I: Iterator<Item = std::result::Result<T, E>> + Send,
{
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let first_row = self.first_row;
        let target = Arc::clone(&self.target);
        if let Some(columns) = self.look.parts.pop_front() {
            self.first_row += columns.rows() as u64;
            return Ok(Some(Box::new(ColumnsPart { columns, target, first_row })));
        }
        if let Some(error) = self.look.error.take() {
            return Err(error);
        }
        let mut rows = Vec::with_capacity(self.part_rows);
        while rows.len() < self.part_rows {
            match self.rows.next() {
                None => break,
                Some(Ok(row)) => rows.push(row),
                Some(Err(failure)) => {
                    // The rows before the error are written first, so the error is kept for later.
                    self.look.error = Some(failed(failure, first_row + rows.len() as u64 + 1));
                    break;
                }
            }
        }
        if rows.is_empty() {
            return self.look.error.take().map_or(Ok(None), Err);
        }
        self.first_row += rows.len() as u64;
        Ok(Some(Box::new(StructsPart { rows, target, first_row })))
    }
}

/// A source of structs that borrow data. They are converted on the iterator's thread.
pub(super) struct BorrowingSource<I> {
    target: Arc<Target>,
    look: Look,
    rows: I,
    first_row: u64,
}

impl<I> BorrowingSource<I> {
    /// Creates a source of the rows of `look`, followed by `rows`.
    pub(super) fn new(target: Target, look: Look, rows: I) -> BorrowingSource<I> {
        BorrowingSource { target: Arc::new(target), look, rows, first_row: 0 }
    }
}

impl<T, E, I> Source for BorrowingSource<I>
where
    T: Serialize,
    E: Into<Failure>,
    I: Iterator<Item = std::result::Result<T, E>> + Send,
{
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let first_row = self.first_row;
        let columns = match self.look.parts.pop_front() {
            Some(columns) => columns,
            None => {
                let mut columns = Columns::new(&self.target.names);
                if self.look.error.is_none() {
                    fill(&mut columns, &mut self.rows, first_row, &mut self.look.error);
                }
                columns
            }
        };
        if columns.rows() == 0 {
            return self.look.error.take().map_or(Ok(None), Err);
        }
        self.first_row += columns.rows() as u64;
        Ok(Some(Box::new(ColumnsPart { columns, target: Arc::clone(&self.target), first_row })))
    }
}

/// A part of converted rows.
struct ColumnsPart {
    columns: Columns,
    target: Arc<Target>,
    first_row: u64,
}

impl Part for ColumnsPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.target.give(&self.columns, self.first_row, sink)
    }
}

/// A part of unconverted rows.
struct StructsPart<T> {
    rows: Vec<T>,
    target: Arc<Target>,
    first_row: u64,
}

impl<T: Serialize + Send> Part for StructsPart<T> {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut columns = Columns::new(&self.target.names);
        let mut first_row = self.first_row;
        for row in &self.rows {
            let pushed = columns.push(row);
            if pushed.is_err() || columns.rows() == ROWS_MAX || columns.data_bytes() >= PART_BYTES {
                self.target.give(&columns, first_row, sink)?;
                first_row += columns.rows() as u64;
                columns.clear();
            }
            pushed.map_err(|fault| faulty(fault, first_row + 1))?;
        }
        self.target.give(&columns, first_row, sink)
    }
}
