//! Writes Arrow rows as pages of the database file. They become part of a transaction on the driver's own connection.
//!
//! ```text
//!  caller's thread    BEGIN, CREATE TABLE, rows of the stream ──pieces──┐                                       COMMIT, now or later
//!  engine's threads                                                     └─> cells ──> pages past the file's end ──> part of the transaction
//! ```
//!
//! * The stream is read by the thread that has called the driver, because its producer may be bound to that thread.
//! * The stream may use the connection while its rows are read: it can run queries, whose results are read completely at once. Other
//!   threads wait.
//! * Few rows, and rows that can't be written as pages, are inserted with SQL: see [`write`].

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{panic, thread};

use adbc_core::error::{Error, Result, Status};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef};
use sqluice_core::batch::{Batch, Column, ROWS_MAX, Value};
use sqluice_core::error as engine;
use sqluice_core::progress::Cancel;
use sqluice_core::source::cells::Cells;
use sqluice_core::source::{Part, Sink, Source};
use sqluice_engine::existing::OpenTransaction;

use crate::errors::{error, of_engine};
use crate::shared::{Shared, Turn};
use crate::target::{Target, make_table};
use crate::values::fill;

/// The minimum number of rows to be written as pages. Fewer rows are inserted faster with SQL.
const ROWS_MIN: usize = 2_000;

/// The maximum number of rows in a piece, which one thread encodes.
const PIECE_ROWS: usize = 8 * ROWS_MAX;

/// The maximum number of pieces that wait to be encoded.
const PIECES_MAX: usize = 32;

/// SQLite's limit for the bytes of a text, a blob or a row.
const VALUE_BYTES_MAX: usize = 1_000_000_000;

/// The maximum number of bytes of texts and blobs that a thread copies at a time. Only a single row can have more, and is then refused.
const COPIED_BYTES_MAX: usize = VALUE_BYTES_MAX;

/// The rows of a stream. The first batches were read ahead, to know if there are at least [`ROWS_MIN`] rows.
pub(crate) struct Rows {
    first: VecDeque<RecordBatch>,
    rest: Box<dyn RecordBatchReader + Send>,
    are_many: bool,
}

impl Rows {
    /// Reads batches of a stream until they have [`ROWS_MIN`] rows.
    pub(crate) fn new(mut rest: Box<dyn RecordBatchReader + Send>) -> Result<Rows> {
        let (mut first, mut rows) = (VecDeque::new(), 0);
        while rows < ROWS_MIN {
            let Some(batch) = rest.next() else { break };
            let batch = batch?;
            rows += batch.num_rows();
            first.push_back(batch);
        }
        Ok(Rows { first, rest, are_many: rows >= ROWS_MIN })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.rest.schema()
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match self.first.pop_front() {
            Some(batch) => Some(Ok(batch)),
            None => self.rest.next().map(|batch| batch.map_err(Error::from)),
        }
    }
}

/// Writes all rows as pages and returns their number. Returns `None`, and reads no further row, if the rows have to be inserted with SQL:
/// there are few, a transaction is open, a result is being read, or pages can't be written to this database or table.
pub(crate) fn write(
    shared: &Arc<Shared>,
    target: &Target,
    name: &str,
    rows: &mut Rows,
    cancellations: u64,
) -> Result<Option<i64>> {
    let is_main = !target.temporary && target.catalog.as_deref().is_none_or(|catalog| catalog == "main");
    if !is_main || !rows.are_many {
        return Ok(None);
    }
    let Some(turn) = Turn::take(shared) else { return Ok(None) };
    let running = shared.cancellable();
    shared.check_cancelled(cancellations)?;
    shared.lock().begin_on_a_page()?;
    let written = in_transaction(shared, target, name, rows, &running.cancel);
    let state = shared.lock();
    let written = match written {
        Ok(Some((count, transaction))) => state.keep(transaction).map(|()| Some(count)),
        other => {
            if !state.connection.is_autocommit() {
                state.run("ROLLBACK")?;
            }
            other.map(|_| None)
        }
    };
    drop(state);
    drop(turn);
    written
}

/// Creates the table and writes the rows. After an error or `None`, the caller rolls the transaction back if it is still open.
fn in_transaction(
    shared: &Shared,
    target: &Target,
    name: &str,
    rows: &mut Rows,
    cancel: &Cancel,
) -> Result<Option<(i64, OpenTransaction)>> {
    let Some(mut existing) = shared.lock().existing()? else { return Ok(None) };
    let mut transaction = existing.join(cancel).map_err(of_engine)?;
    if transaction.obstacle_on_connection().map_err(of_engine)?.is_some() {
        return Ok(None);
    }
    let schema = rows.schema();
    make_table(&shared.lock(), target, name, &schema)?;
    let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let table = target.table.as_deref().unwrap_or_default();
    let planned = transaction.plan_rows(table, &columns).map_err(of_engine)?;
    let Ok(planned) = planned else { return Ok(None) };

    let (begin, begins) = channel();
    let (send, pieces) = sync_channel(PIECES_MAX);
    let failure = Arc::new(Mutex::new(None));
    let source = Pieces {
        begin: Some(begin),
        pieces,
        about: Arc::new(About { fields: planned.fields().to_vec(), failure: Arc::clone(&failure) }),
        next_row: 0,
    };
    let (fed, written) = thread::scope(|scope| {
        let writing = scope.spawn(|| transaction.write_rows(&planned, Box::new(source)));
        // The engine uses the connection before it asks for the first row, and after the last. In between, the stream may use it.
        let fed = match begins.recv() {
            Ok(()) => feed(rows, &send),
            Err(_) => Ok(0),
        };
        drop(send);
        let written = writing.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        (fed, written)
    });
    let count = fed?;
    if let Some(failure) = failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(failure);
    }
    written.map_err(of_engine)?;
    Ok(Some((count, transaction.leave())))
}

/// A piece: rows that one thread encodes. [`Failed`] if the stream ended with an error.
type Sent = std::result::Result<RecordBatch, Failed>;

/// The stream ended with an error, which [`feed`] returns.
struct Failed;

/// Sends the rows of the stream to the engine, until the end of the stream or until the engine stops. Returns the number of rows sent.
fn feed(rows: &mut Rows, to: &SyncSender<Sent>) -> Result<i64> {
    let mut count = 0;
    for batch in rows {
        let batch = batch.inspect_err(|_| drop(to.send(Err(Failed))))?;
        for start in (0..batch.num_rows()).step_by(PIECE_ROWS) {
            let rows = PIECE_ROWS.min(batch.num_rows() - start);
            if to.send(Ok(batch.slice(start, rows))).is_err() {
                return Ok(count);
            }
            count += rows as i64;
        }
    }
    Ok(count)
}

/// The data that all pieces share.
struct About {
    /// For each column of the table, the index of the column of the rows; `None` if the rows have no such column.
    fields: Vec<Option<usize>>,
    /// The first error in the conversion of a value. It replaces the engine's error.
    failure: Arc<Mutex<Option<Error>>>,
}

/// The engine's source of rows: the pieces that [`feed`] sends, in order.
struct Pieces {
    /// Tells the thread that reads the stream that the engine is ready for the first piece; `None` afterwards.
    begin: Option<Sender<()>>,
    pieces: Receiver<Sent>,
    about: Arc<About>,
    next_row: u64,
}

impl Source for Pieces {
    fn next_part(&mut self) -> engine::Result<Option<Box<dyn Part>>> {
        if let Some(begin) = self.begin.take() {
            // This can't fail: the receiver waits for it.
            let _ = begin.send(());
        }
        match self.pieces.recv() {
            Ok(Ok(batch)) => {
                let first_row = self.next_row;
                self.next_row += batch.num_rows() as u64;
                Ok(Some(Box::new(Piece { batch, first_row, about: Arc::clone(&self.about) })))
            }
            Ok(Err(Failed)) => Err(engine::Error::interrupted()),
            Err(_) => Ok(None),
        }
    }
}

struct Piece {
    batch: RecordBatch,
    first_row: u64,
    about: Arc<About>,
}

impl Part for Piece {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> engine::Result<()> {
        let mut columns = Vec::new();
        columns.resize_with(self.batch.num_columns(), Cells::default);
        for start in (0..self.batch.num_rows()).step_by(ROWS_MAX) {
            let rows = ROWS_MAX.min(self.batch.num_rows() - start);
            self.give(&self.batch.slice(start, rows), &mut columns, sink)?;
        }
        Ok(())
    }
}

impl Piece {
    /// Converts rows and passes them to the engine; in halves, if their texts and blobs have more than [`COPIED_BYTES_MAX`] bytes.
    fn give(&self, rows: &RecordBatch, columns: &mut [Cells], sink: &mut dyn Sink) -> engine::Result<()> {
        let bytes = rows.columns().iter().map(|column| bytes_of(column.as_ref()));
        let bytes = bytes.fold(0, usize::saturating_add);
        let half = rows.num_rows() / 2;
        if bytes > COPIED_BYTES_MAX && half > 0 {
            self.give(&rows.slice(0, half), columns, sink)?;
            return self.give(&rows.slice(half, rows.num_rows() - half), columns, sink);
        }
        if bytes > VALUE_BYTES_MAX {
            let message =
                format!("string or blob too big: SQLite stores at most {VALUE_BYTES_MAX} bytes in a row");
            return Err(self.failed(error(Status::InvalidData, message)));
        }
        for (number, (array, cells)) in rows.columns().iter().zip(&mut *columns).enumerate() {
            cells.clear();
            fill(array.as_ref(), number, cells).map_err(|found| self.failed(found))?;
        }
        let mixed: Vec<Vec<Value<'_>>> =
            columns.iter().map(|cells| cells.mixed(0, rows.num_rows())).collect();
        let column = |field: &Option<usize>| match field {
            Some(field) => columns[*field].column(0, rows.num_rows(), &mixed[*field]),
            None => Column::NULL,
        };
        let batch = Batch { rows: rows.num_rows(), columns: self.about.fields.iter().map(column).collect() };
        sink.rows(&batch).map_err(|refused| refused.first().1)
    }

    /// Stores the error of a value for the caller, and returns an error that ends the engine's run.
    fn failed(&self, found: Error) -> engine::Error {
        let mut failure = self.about.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(found);
        engine::Error::interrupted()
    }
}

/// Returns an upper bound on the bytes of the texts or blobs in an array.
fn bytes_of(array: &dyn Array) -> usize {
    fn between<T: Copy + TryInto<usize>>(offsets: &[T]) -> usize {
        let at = |offset: Option<&T>| offset.and_then(|offset| (*offset).try_into().ok()).unwrap_or(0);
        at(offsets.last()).saturating_sub(at(offsets.first()))
    }
    match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets()),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets()),
        DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets()),
        DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => array.as_string_view().lengths().map(|bytes| bytes as usize).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(|bytes| bytes as usize).sum(),
        DataType::FixedSizeBinary(bytes) => array.len() * usize::try_from(*bytes).unwrap_or(0),
        DataType::Dictionary(..) => {
            bytes_of(array.as_any_dictionary().values().as_ref()).saturating_mul(array.len())
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
