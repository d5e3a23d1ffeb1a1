//! Reads the rows of a query: one thread steps the query, and the workers split the texts into tokens.
//!
//! ```text
//!  caller   SELECT rowid, text, ... ORDER BY rowid ──> batches of rows
//!             │ a queue
//!  workers  tokens ──> sorter, or sums
//! ```

use std::ops::Range;

use crossbeam_channel::{Receiver, Sender, bounded};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use sqluice_core::affinity::{int_to_text, real_to_text};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};

/// A receiver of rows with their texts, on one worker thread.
pub(super) trait TextSink {
    /// Begins a row.
    fn begin_row(&mut self, rowid: i64);

    /// Takes the text of a column of the row.
    fn text(&mut self, column: usize, text: &[u8]) -> Result<()>;

    /// Ends a row.
    fn end_row(&mut self) -> Result<()>;

    /// Ends a part of the rows: the next row may have any rowid.
    fn end_part(&mut self) -> Result<()>;

    /// Ends the work.
    fn finish(self) -> Result<()>;
}

/// The largest size of a batch in bytes. A batch becomes a doclist for each of its terms, so larger batches make fewer doclists.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// The smallest size of a batch in bytes.
const BATCH_BYTES_MIN: usize = 16 << 10;

/// The reason why the rows of a query can't be collected.
pub(super) enum NotCollected {
    /// Two rows have one rowid, or a row has none.
    Rowids,
    /// SQLite can't read the rows.
    Sqlite(rusqlite::Error),
    /// Another error.
    Failed(Error),
}

impl From<Error> for NotCollected {
    fn from(error: Error) -> NotCollected {
        NotCollected::Failed(error)
    }
}

impl From<rusqlite::Error> for NotCollected {
    fn from(error: rusqlite::Error) -> NotCollected {
        NotCollected::Sqlite(error)
    }
}

/// Rows with their texts.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    /// The rowid of each row, and the range of its cells.
    rows: Vec<(i64, Range<usize>)>,
    /// The column of each cell, and the range of its text.
    cells: Vec<(usize, Range<usize>)>,
}

impl Batch {
    /// Adds a row: its rowid, and the text of each column of `columns`.
    fn push(&mut self, rowid: i64, row: &Row<'_>, columns: &[usize]) -> rusqlite::Result<()> {
        let start = self.cells.len();
        for (number, column) in columns.iter().enumerate() {
            let at = self.text.len();
            match row.get_ref(number + 1)? {
                ValueRef::Null => continue,
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => self.text.extend_from_slice(bytes),
                ValueRef::Integer(int) => int_to_text(int, &mut self.text),
                ValueRef::Real(real) => real_to_text(real, &mut self.text),
            }
            self.cells.push((*column, at..self.text.len()));
        }
        self.rows.push((rowid, start..self.cells.len()));
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.text.len() + 32 * self.cells.len() + 32 * self.rows.len()
    }

    fn give(&self, sink: &mut impl TextSink) -> Result<()> {
        for (rowid, cells) in &self.rows {
            sink.begin_row(*rowid);
            for (column, text) in &self.cells[cells.clone()] {
                sink.text(*column, &self.text[text.clone()])?;
            }
            sink.end_row()?;
        }
        Ok(())
    }
}

/// A query for rows: the rowid, and the texts of columns, in ascending order of rowids.
pub(super) struct Query<'q> {
    pub(super) connection: &'q Connection,
    pub(super) sql: &'q str,
    /// The columns of the full-text table, for each column of the query after the first.
    pub(super) columns: &'q [usize],
    /// The first and the last rowid, for a query that has parameters for them.
    pub(super) rowids: (i64, i64),
}

impl Query<'_> {
    /// Gives all rows to workers. The batches take `memory_bytes` bytes of memory.
    pub(super) fn collect<S: TextSink>(
        &self,
        worker: &(impl Fn() -> Result<S> + Sync),
        (workers, memory_bytes): (usize, usize),
        (cancel, progress): (&Cancel, &dyn Progress),
    ) -> std::result::Result<(), NotCollected> {
        let waiting = if workers > 1 { workers } else { 0 };
        let batch_bytes = (memory_bytes / (workers + waiting + 1)).clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX);
        if workers < 2 {
            let mut sink = worker()?;
            self.each_batch(batch_bytes.min(1 << 20), (cancel, progress), |batch| {
                batch.give(&mut sink).map(|()| batch)
            })?;
            return Ok(sink.finish()?);
        }
        let (sender, receiver) = bounded::<Batch>(waiting);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for _ in 0..workers {
                let receiver = receiver.clone();
                let work = move || take_all(&receiver, worker);
                let started = std::thread::Builder::new().name("sqluice-tokens".to_owned());
                let started = started.spawn_scoped(scope, work);
                threads.push(started.map_err(|error| Error::target("cannot start a thread").because(error))?);
            }
            // Workers that have failed receive no more.
            drop(receiver);
            let sent = self.send_all(batch_bytes, sender, (cancel, progress));
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.collect::<Result<Vec<()>>>()?;
            sent
        })
    }

    fn send_all(
        &self,
        batch_bytes: usize,
        sender: Sender<Batch>,
        watch: (&Cancel, &dyn Progress),
    ) -> std::result::Result<(), NotCollected> {
        self.each_batch(batch_bytes, watch, |batch| {
            // If all workers have failed, their error is that of the run.
            sender.send(batch).map(|()| Batch::default()).map_err(|_| Error::interrupted())
        })
    }

    /// Calls `each` with batches of rows. `each` returns a batch whose memory is used for the next rows.
    fn each_batch(
        &self,
        batch_bytes: usize,
        (cancel, progress): (&Cancel, &dyn Progress),
        mut each: impl FnMut(Batch) -> Result<Batch>,
    ) -> std::result::Result<(), NotCollected> {
        let mut query = self.connection.prepare(self.sql)?;
        let mut rows = match query.parameter_count() {
            0 => query.query([])?,
            _ => query.query([self.rowids.0, self.rowids.1])?,
        };
        let mut batch = Batch::default();
        let mut last = None;
        while let Some(row) = rows.next()? {
            let ValueRef::Integer(rowid) = row.get_ref(0)? else { return Err(NotCollected::Rowids) };
            if last.is_some_and(|last| rowid <= last) {
                return Err(NotCollected::Rowids);
            }
            last = Some(rowid);
            batch.push(rowid, row, self.columns)?;
            if batch.bytes() >= batch_bytes {
                cancel.check()?;
                progress.advance(Amount { rows: batch.rows.len() as u64, bytes: 0 });
                batch = each(batch)?;
                batch.text.clear();
                batch.rows.clear();
                batch.cells.clear();
            }
        }
        cancel.check()?;
        progress.advance(Amount { rows: batch.rows.len() as u64, bytes: 0 });
        each(batch)?;
        Ok(())
    }
}

/// Gives the received batches to a worker. Each is a part of the rows.
fn take_all<S: TextSink>(receiver: &Receiver<Batch>, worker: &impl Fn() -> Result<S>) -> Result<()> {
    let mut sink = worker()?;
    while let Ok(batch) = receiver.recv() {
        batch.give(&mut sink)?;
        sink.end_part()?;
    }
    sink.finish()
}
