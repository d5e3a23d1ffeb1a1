//! The rows of a statement that SQLite runs in the snapshot's transaction: views, virtual tables, computed columns, queries.
//!
//! One thread steps through the rows and copies them into blocks. The threads that take the parts convert the blocks to batches.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::types::ValueRef;
use rusqlite::{InterruptHandle, Statement};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::{Cancel, Silent};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::{Part, Sink, Source};
use sqluice_core::sqlite_error::{failed, said};

use super::cells::{Block, Stop};
use crate::snapshot::Snapshot;

/// The text encoding UTF-8 in the header.
const UTF_8: u32 = 1;

/// The number of parts that may wait for a thread to take them.
const PARTS_WAITING: usize = 2;

/// A query whose rows SQLite reads.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) sql: String,
    /// The maximum number of rows; `None` for no limit.
    pub(super) limit: Option<u64>,
    /// A name for messages: `table t`, or `the query`.
    pub(super) what: String,
    pub(super) columns: Vec<String>,
}

/// A source of the rows of a query.
pub(super) struct StatementSource {
    query: Arc<Query>,
    /// The blocks from the thread; `None` only while the source is dropped.
    blocks: Option<Receiver<Result<Vec<Block>>>>,
    thread: Option<JoinHandle<()>>,
    interrupt: InterruptHandle,
    rows_done: u64,
}

impl StatementSource {
    /// Starts the query. Parts have about `part_bytes` bytes of values. Rows are numbered from `rows.start` on, and end before number
    /// `rows.end`.
    pub(super) fn start(
        query: &Arc<Query>,
        part_bytes: usize,
        rows: Range<u64>,
        cancel: &Cancel,
    ) -> StatementSource {
        let (sender, receiver) = sync_channel(PARTS_WAITING);
        let interrupt = query.snapshot.connection().get_interrupt_handle();
        let (of_thread, cancel) = (Arc::clone(query), cancel.clone());
        let rows_max = query.limit.unwrap_or(u64::MAX).min(rows.end - rows.start);
        let thread = std::thread::spawn(move || {
            if let Err(error) = of_thread.step(part_bytes, rows_max, &sender, &cancel) {
                // The receiver may be gone already.
                let _ = sender.send(Err(error));
            }
        });
        StatementSource {
            query: Arc::clone(query),
            blocks: Some(receiver),
            thread: Some(thread),
            interrupt,
            rows_done: rows.start,
        }
    }
}

impl Query {
    /// Runs the query, and sends its rows in blocks. Ends early if no thread takes blocks any more.
    fn step(
        &self,
        part_bytes: usize,
        rows_max: u64,
        sender: &SyncSender<Result<Vec<Block>>>,
        cancel: &Cancel,
    ) -> Result<()> {
        let connection = self.snapshot.connection();
        let view = self.snapshot.view(&Silent, cancel);
        let mut statement = connection.prepare(&self.sql).map_err(refused)?;
        check(&statement)?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).map_err(refused)?;
        let (mut blocks, mut bytes) = (Vec::new(), 0);
        let mut block = Block::new(columns);
        let mut left = rows_max;
        loop {
            let row = match left {
                0 => None,
                _ => rows.next().map_err(|error| failed(error, &format!("read {}", self.what)))?,
            };
            left = left.saturating_sub(1);
            if row.is_none() || block.is_full() {
                cancel.check()?;
                view.check()?;
                bytes += block.bytes;
                if block.rows > 0 {
                    blocks.push(std::mem::replace(&mut block, Block::new(columns)));
                }
                let is_over = row.is_none();
                if (is_over || bytes >= part_bytes) && !blocks.is_empty() {
                    bytes = 0;
                    if sender.send(Ok(std::mem::take(&mut blocks))).is_err() {
                        return Ok(());
                    }
                }
            }
            let Some(row) = row else { return Ok(()) };
            for (index, cells) in block.columns.iter_mut().enumerate() {
                let value = row.get_ref(index).map_err(|error| failed(error, "read a value"))?;
                block.bytes += 8;
                match value {
                    ValueRef::Null => cells.null(),
                    ValueRef::Integer(int) => cells.int(int),
                    ValueRef::Real(real) => cells.real(real),
                    ValueRef::Text(text) => {
                        block.bytes += text.len();
                        cells.text(text);
                    }
                    ValueRef::Blob(blob) => {
                        block.bytes += blob.len();
                        cells.blob(blob);
                    }
                }
            }
            block.rows += 1;
        }
    }
}

/// Refuses a statement that is not a query.
pub(super) fn check(statement: &Statement<'_>) -> Result<()> {
    if statement.column_count() == 0 || !statement.readonly() {
        return Err(
            Error::usage("this statement returns no rows, or changes the database").hint("write a SELECT")
        );
    }
    Ok(())
}

/// Returns the error for a statement that SQLite does not accept.
pub(super) fn refused(error: rusqlite::Error) -> Error {
    match &error {
        rusqlite::Error::SqlInputError { sql, offset, .. } => {
            let at =
                usize::try_from(*offset).ok().and_then(|at| sql.get(at..)).filter(|rest| !rest.is_empty());
            let near = at.map_or(String::new(), |rest| {
                format!(", at `{}`", rest.chars().take(40).collect::<String>())
            });
            Error::usage(format!("SQLite does not accept the query{near}")).because(said(error))
        }
        rusqlite::Error::MultipleStatement => {
            Error::usage("these are several statements").hint("write one SELECT")
        }
        // The error is SQLITE_ERROR without a known position.
        _ if error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) => {
            Error::usage("SQLite does not accept the query").because(said(error))
        }
        _ => failed(error, "run the query"),
    }
}

impl Source for StatementSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        // After the last part, the thread ends and closes the channel.
        let Some(Ok(blocks)) = self.blocks.as_ref().map(Receiver::recv) else { return Ok(None) };
        let blocks = blocks?;
        let first_row = self.rows_done;
        self.rows_done += blocks.iter().map(|block| block.rows as u64).sum::<u64>();
        Ok(Some(Box::new(StatementPart { query: Arc::clone(&self.query), blocks, first_row })))
    }
}

impl Counted for StatementSource {
    fn rows_done(&self) -> u64 {
        self.rows_done
    }
}

impl Drop for StatementSource {
    fn drop(&mut self) {
        drop(self.blocks.take());
        self.interrupt.interrupt();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct StatementPart {
    query: Arc<Query>,
    blocks: Vec<Block>,
    first_row: u64,
}

impl Part for StatementPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes as u64).sum()
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut first = self.first_row;
        let Query { snapshot, what, columns, .. } = &*self.query;
        let located = |first: u64, row: usize, column: usize, error: Error| {
            let (row, column) = (first + row as u64 + 1, &columns[column]);
            error.with_words(format!(" ({what}, row {row}, column {column})"))
        };
        // SQLite has converted UTF-16 text, so its bytes are not the stored ones.
        let keeps_bytes = snapshot.header().used_text_encoding() == UTF_8;
        for block in &mut self.blocks {
            let mut locate = |_: &Block, row: usize, column: usize, error: Error| {
                located(first, row, column, error).at(Place::file(snapshot.name()))
            };
            block.give(sink, keeps_bytes, &mut locate).map_err(|stop| match stop {
                Stop::Row(row, Some(column), error) => located(first, row, column, error),
                Stop::Row(_, None, error) | Stop::Error(error) => error,
            })?;
            first += block.rows as u64;
        }
        Ok(())
    }
}
