//! Executes statements with the rows of their parameters, and reads results batch by batch.

use std::collections::VecDeque;
use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use sqluice_core::batch::Value;
use sqluice_core::rows::Cells;

use crate::columns::{Column, Refused};
use crate::errors::error;
use crate::raw::{Statement, refuse_while_pages_are_written};
use crate::shared::{RunningResult, State};
use crate::values::cells;

/// The default for the maximum number of rows in a batch. The values of the first batch determine the column types of a result.
pub(crate) const BATCH_ROWS: usize = 1024;

/// The number of bytes of texts and blobs after which a batch ends, even with few rows: an Arrow column holds at most 2 GiB.
const BATCH_BYTES: usize = 64 << 20;

/// The rows of parameters: a statement is executed once for each row.
pub(crate) struct Parameters {
    batches: Box<dyn RecordBatchReader + Send>,
    by_name: bool,
    /// The number of the parameter, from 1, to which each column is bound; `None` before the first row.
    numbers: Option<Vec<usize>>,
    columns: Vec<Cells>,
    rows: usize,
    row: usize,
}

impl Parameters {
    /// Creates the parameters of a statement. Columns are bound by their names if `by_name` is true, otherwise by position.
    pub(crate) fn new(batches: Box<dyn RecordBatchReader + Send>, by_name: bool) -> Parameters {
        Parameters { batches, by_name, numbers: None, columns: Vec::new(), rows: 0, row: 0 }
    }

    /// Reads the next row; returns `false` if there is none. The caller must not hold the lock of the connection, because the stream of
    /// rows may use it.
    fn fetch(&mut self) -> Result<bool> {
        while self.row >= self.rows {
            let Some(batch) = self.batches.next() else { return Ok(false) };
            let batch = batch?;
            (self.columns, self.rows, self.row) = (cells(&batch)?, batch.num_rows(), 0);
        }
        Ok(true)
    }

    /// Binds the row that [`Parameters::fetch`] has read.
    fn bind(&mut self, statement: &mut Statement, state: &State) -> Result<()> {
        let numbers = match self.numbers.take() {
            Some(numbers) => numbers,
            None => self.numbers_in(statement)?,
        };
        for (column, number) in self.columns.iter().zip(&numbers) {
            statement.bind(state, *number, column.get(self.row).unwrap_or(Value::Null))?;
        }
        self.numbers = Some(numbers);
        self.row += 1;
        Ok(())
    }

    fn numbers_in(&self, statement: &Statement) -> Result<Vec<usize>> {
        let (expected, found) = (statement.parameters(), self.columns.len());
        if !self.by_name {
            return match expected == found {
                true => Ok((1..=found).collect()),
                false => {
                    let message = format!("parameter count mismatch: expected {expected} but found {found}");
                    Err(error(Status::InvalidState, message))
                }
            };
        }
        let names: Vec<String> = (1..=expected).map(|number| statement.parameter_name(number)).collect();
        let schema = self.batches.schema();
        let numbers = schema.fields().iter().map(|field| {
            let is_it = |name: &String| name == field.name() || name.get(1..) == Some(field.name());
            names.iter().position(is_it).map(|position| position + 1).ok_or_else(|| {
                error(Status::InvalidState, format!("parameter not found: '{}'", field.name()))
            })
        });
        numbers.collect()
    }
}

/// Executes a statement with each row of its parameters, and drops its results. Returns the number of changed rows; `None` if the statement
/// only reads.
pub(crate) fn execute(mut statement: Statement, mut parameters: Option<Parameters>) -> Result<Option<i64>> {
    let shared = Arc::clone(statement.shared());
    let cancellations = shared.cancellations();
    refuse_change(&shared.lock(), &statement)?;
    shared.lock().begin()?;
    let before = shared.lock().connection.total_changes();
    loop {
        if let Some(parameters) = &mut parameters
            && !parameters.fetch()?
        {
            break;
        }
        let state = shared.lock();
        if let Some(parameters) = &mut parameters {
            shared.check_cancelled(cancellations)?;
            parameters.bind(&mut statement, &state)?;
        }
        while statement.step(&state)? {}
        statement.reset();
        if parameters.is_none() {
            break;
        }
    }
    let changed = shared.lock().connection.total_changes() - before;
    Ok((!statement.only_reads()).then(|| i64::try_from(changed).unwrap_or(i64::MAX)))
}

/// Returns an error if the statement is not a query and this connection is writing rows as pages.
fn refuse_change(state: &State, statement: &Statement) -> Result<()> {
    match statement.only_reads() && statement.columns() > 0 {
        true => Ok(()),
        false => refuse_while_pages_are_written(state),
    }
}

/// The rows of a statement, batch by batch.
pub(crate) struct Results {
    statement: Statement,
    parameters: Option<Parameters>,
    schema: SchemaRef,
    rows_max: usize,
    /// Batches that have been read and not yet returned: the first, or all of them if the statement must not stay open.
    read: VecDeque<Result<RecordBatch>>,
    /// Marks this result as running on the connection while the statement may have more rows; `None` afterwards.
    running: Option<RunningResult>,
}

impl Results {
    /// Executes a statement and reads its first batch, from which the column types follow. Begins no transaction.
    pub(crate) fn new(
        statement: Statement,
        parameters: Option<Parameters>,
        rows_max: usize,
    ) -> Result<Results> {
        let shared = Arc::clone(statement.shared());
        refuse_change(&shared.lock(), &statement)?;
        let names: Vec<String> =
            (0..statement.columns()).map(|column| statement.column_name(column)).collect();
        let mut results = Results {
            statement,
            parameters,
            schema: Arc::new(Schema::empty()),
            rows_max: rows_max.max(1),
            read: VecDeque::new(),
            running: Some(shared.running_result()),
        };
        results.start()?;
        let mut columns: Vec<Column> = names.iter().map(|_| Column::Nulls(0)).collect();
        let rows = results.fill(&mut columns, true)?;
        let fields =
            names.into_iter().zip(&columns).map(|(name, column)| Field::new(name, column.kind(), true));
        results.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        results.read.extend(results.batch(columns, rows)?.map(Ok));
        if shared.lock().writes_pages() {
            while let Some(batch) = results.read_next().transpose() {
                let has_failed = batch.is_err();
                results.read.push_back(batch);
                if has_failed {
                    break;
                }
            }
            results.running = None;
        }
        Ok(results)
    }

    /// Binds the next row of parameters, if the statement has parameters. After the last row, marks the statement as done.
    fn start(&mut self) -> Result<()> {
        let Some(parameters) = &mut self.parameters else { return Ok(()) };
        if !parameters.fetch()? {
            self.running = None;
            return Ok(());
        }
        let shared = Arc::clone(self.statement.shared());
        parameters.bind(&mut self.statement, &shared.lock())
    }

    /// Appends the rows of one batch to the columns and returns their number. If `finding` is true, the values determine the column types.
    fn fill(&mut self, columns: &mut [Column], finding: bool) -> Result<usize> {
        let shared = Arc::clone(self.statement.shared());
        let (mut rows, mut bytes) = (0, 0);
        while self.running.is_some() && rows < self.rows_max && bytes < BATCH_BYTES {
            let state = shared.lock();
            let mut is_done = false;
            while rows < self.rows_max && bytes < BATCH_BYTES {
                if !self.statement.step(&state)? {
                    is_done = true;
                    break;
                }
                for (index, column) in columns.iter_mut().enumerate() {
                    let (value, text) =
                        (self.statement.value(index), || self.statement.as_text(index).to_vec());
                    if let Value::Text(content) | Value::Blob(content) = value {
                        bytes += content.len();
                    }
                    column
                        .push(value, text, finding)
                        .map_err(|refused| self.refused(index, column, &refused))?;
                }
                rows += 1;
            }
            drop(state);
            if is_done {
                self.statement.reset();
                match self.parameters {
                    Some(_) => self.start()?,
                    None => self.running = None,
                }
            }
        }
        Ok(rows)
    }

    fn refused(&self, index: usize, column: &Column, refused: &Refused) -> Error {
        let name = self.statement.column_name(index);
        let message = match refused {
            Refused::NotUtf8 => format!("column {name} has text that is not UTF-8"),
            Refused::Kind(found) => {
                let kind = column.kind();
                format!(
                    "Type mismatch in column {name}: the type is {kind}, from the first rows, and a later row has a value of type {found}"
                )
            }
        };
        error(Status::InvalidData, message)
    }

    fn batch(&self, mut columns: Vec<Column>, rows: usize) -> Result<Option<RecordBatch>> {
        if rows == 0 {
            return Ok(None);
        }
        let columns = columns.iter_mut().map(Column::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?))
    }

    fn read_next(&mut self) -> Result<Option<RecordBatch>> {
        let mut columns: Vec<Column> =
            self.schema.fields().iter().map(|field| Column::of(field.data_type())).collect();
        let rows = self.fill(&mut columns, false)?;
        self.batch(columns, rows)
    }
}

impl Iterator for Results {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = match self.read.pop_front() {
            Some(read) => read.map(Some),
            None => self.read_next(),
        };
        if read.is_err() {
            self.running = None;
        }
        read.map_err(|error| ArrowError::ExternalError(error.message.into())).transpose()
    }
}

impl RecordBatchReader for Results {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
