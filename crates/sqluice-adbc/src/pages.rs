//! Rows of Arrow as pages, which become part of a transaction on the driver's own connection.
//!
//! ```text
//!  caller's thread    rows of the stream ──pieces──┐                                    COMMIT, now or later
//!  engine's threads          BEGIN, CREATE TABLE   └─> cells ──> pages past the end ──> part of the transaction
//! ```
//!
//! * The stream is read by the thread that has called the driver: what makes the rows may belong to that thread.
//! * The stream may use the connection while its rows are read. It can query, and gets the whole result at once. Other threads wait.
//! * Small amounts of rows, and rows that pages can't take, are inserted: see [`write`].

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

/// The least number of rows for which pages are written. Fewer rows are inserted into existing pages in less time.
const ROWS_MIN: usize = 2_000;

/// The largest number of rows that one thread encodes at a time.
const PIECE_ROWS: usize = 8 * ROWS_MAX;

/// The largest number of pieces that wait.
const PIECES_MAX: usize = 32;

/// The largest number of bytes of texts and blobs that are copied at a time, unless one row has more.
const COPIED_BYTES_MAX: usize = 1 << 30;

/// The largest number of bytes of a text or blob in SQLite.
const VALUE_BYTES_MAX: usize = 1_000_000_000;

/// The rows of a stream, the first of which were read to see if they are many.
pub(crate) struct Rows {
    first: VecDeque<RecordBatch>,
    rest: Box<dyn RecordBatchReader + Send>,
    are_many: bool,
}

impl Rows {
    /// Reads the first batches of a stream.
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

/// Writes all rows as pages. Returns how many, or `None` if the rows must be inserted: then no row was taken. Rows are inserted if they are
/// few, if a transaction is open, if a result is being read, and if the database or the table is in the way of pages.
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

/// Makes the table and writes the rows. If this returns an error or `None`, the transaction was rolled back, or can be.
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
        // The engine uses the connection before it asks for rows, and after it has got the last.
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

/// Rows that one thread encodes, or the end of the stream by an error.
type Sent = std::result::Result<RecordBatch, Failed>;

/// The stream has failed.
struct Failed;

/// Sends all rows to the engine, until it takes no more. Returns the number of rows.
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

/// The facts that all pieces share.
struct About {
    /// The column of the rows for each column of the table.
    fields: Vec<Option<usize>>,
    /// The first error of a value.
    failure: Arc<Mutex<Option<Error>>>,
}

/// The pieces of the stream, in order.
struct Pieces {
    /// Wakes the thread that reads the stream, before the first piece.
    begin: Option<Sender<()>>,
    pieces: Receiver<Sent>,
    about: Arc<About>,
    next_row: u64,
}

impl Source for Pieces {
    fn next_part(&mut self) -> engine::Result<Option<Box<dyn Part>>> {
        if let Some(begin) = self.begin.take() {
            // The receiver waits for this.
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
    /// Gives some rows to the engine, in halves if their texts and blobs are many bytes.
    fn give(&self, rows: &RecordBatch, columns: &mut [Cells], sink: &mut dyn Sink) -> engine::Result<()> {
        let bytes = rows.columns().iter().map(|column| bytes_of(column.as_ref()));
        let bytes = bytes.fold(0, usize::saturating_add);
        let half = rows.num_rows() / 2;
        if bytes > COPIED_BYTES_MAX && half > 0 {
            self.give(&rows.slice(0, half), columns, sink)?;
            return self.give(&rows.slice(half, rows.num_rows() - half), columns, sink);
        }
        if bytes > VALUE_BYTES_MAX {
            return Err(self.failed(error(Status::InvalidData, "string or blob too big")));
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

    /// Keeps the error of a value, and returns the error that ends the run.
    fn failed(&self, found: Error) -> engine::Error {
        let mut failure = self.about.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(found);
        engine::Error::interrupted()
    }
}

/// Returns the bytes of the texts or blobs of an array, or more.
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
