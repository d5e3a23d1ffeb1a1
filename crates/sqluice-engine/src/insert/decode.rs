//! Parts in, batches in their order out: workers decode and convert, the calling thread takes what they make.
//!
//! ```text
//!  order      0  1  1  0       which worker has the next part, as the parts were handed out
//!  worker 0   rows rows end │ rows end
//!  worker 1   rows end │ bad-rows end
//! ```
//!
//! Each worker has a queue of its own, which holds a few messages. The queue whose turn it is is always being emptied, so
//! one worker can always go on.

use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender};
use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::rows::Cells;
use sqluice_core::schema::Table;
use sqluice_core::source::{BadRow, Part, Refused, Sink, Source};

use super::{BATCH_BYTES, Insert};
use crate::encode::Converter;

/// Bytes of bad rows that a worker gathers before it sends them.
const BAD_ROWS_BYTES: usize = 1 << 18;

/// What the error of a bad row takes, roughly: its message, its hint, the name of its file.
const ERROR_BYTES: usize = 500;

/// What a worker makes of a part, in its order.
pub(super) enum Message {
    Rows(Decoded),
    BadRows(Vec<BadRow>),
    /// The part is complete.
    End {
        input_bytes: u64,
    },
    /// The run is over.
    Failed(Error),
}

/// Rows that are ready for SQLite.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    /// One for each given column.
    pub(super) cells: Vec<Cells>,
    pub(super) rows: usize,
    /// Rows from which on records follow each other, both counted from 0.
    pub(super) records: Vec<(usize, u64)>,
}

impl Decoded {
    fn clear(&mut self, columns: usize) {
        self.cells.resize_with(columns, Cells::default);
        self.cells.iter_mut().for_each(Cells::clear);
        self.rows = 0;
        self.records.clear();
    }
}

/// Decodes all parts, and gives the results to `take`, in order, which may give batches back.
pub(super) fn each(
    source: Box<dyn Source + '_>,
    table: &Table,
    how: &Insert,
    keep_bad_rows: bool,
    cancel: &Cancel,
    mut take: impl FnMut(Message) -> Result<Option<Decoded>>,
) -> Result<()> {
    let (to_order, order) = crossbeam_channel::unbounded();
    let dispenser = Dispenser(Mutex::new(Some((source, to_order))));
    std::thread::scope(|scope| {
        let mut queues = Vec::new();
        for index in 0..how.workers.max(1) {
            let (to_caller, messages) = crossbeam_channel::bounded(how.batches());
            let (give_back, empty) = crossbeam_channel::unbounded();
            queues.push((messages, give_back));
            let worker = Worker {
                index,
                table,
                how,
                keep_bad_rows,
                cancel,
                converter: Converter::new(table, &how.columns, how.coercion),
                to_caller,
                empty,
                open: Decoded::default(),
                next_record: 0,
                bad_rows: Vec::new(),
                bad_rows_bytes: 0,
            };
            let dispenser = &dispenser;
            let started = std::thread::Builder::new()
                .name("sqluice-worker".to_owned())
                .spawn_scoped(scope, move || worker.run(dispenser));
            if let Err(error) = started {
                dispenser.stop();
                return Err(Error::target("cannot start a thread").because(error));
            }
        }
        let taken = take_all(&order, &queues, cancel, &mut take);
        dispenser.stop();
        if taken.is_err() {
            cancel.cancel();
        }
        // Workers that wait for something get nothing, and end.
        drop(queues);
        taken
    })
}

fn take_all(
    order: &Receiver<usize>,
    queues: &[(Receiver<Message>, Sender<Decoded>)],
    cancel: &Cancel,
    take: &mut impl FnMut(Message) -> Result<Option<Decoded>>,
) -> Result<()> {
    // It ends when the dispenser has no more parts.
    while let Ok(worker) = order.recv() {
        let (messages, give_back) = &queues[worker];
        loop {
            // A worker ends its parts, or panics.
            let message = messages.recv().map_err(|_| Error::target("a worker panicked"))?;
            cancel.check()?;
            let end = matches!(message, Message::End { .. });
            if let Some(empty) = take(message)? {
                // The worker that would fill it may have ended.
                let _ = give_back.send(empty);
            }
            if end {
                break;
            }
        }
    }
    Ok(())
}

/// The parts of a source, and the channel that says which worker got the next.
type Parts<'a> = (Box<dyn Source + 'a>, Sender<usize>);

/// Hands out parts and notes which worker got them; nothing after the last.
struct Dispenser<'a>(Mutex<Option<Parts<'a>>>);

impl Dispenser<'_> {
    fn next(&self, worker: usize) -> Option<Result<Box<dyn Part>>> {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (parts, order) = source.as_mut()?;
        let part = parts.next_part().transpose();
        if part.is_some() {
            order.send(worker).ok()?;
        }
        if !matches!(part, Some(Ok(_))) {
            *source = None;
        }
        part
    }

    fn stop(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A worker, and the batch that it fills.
struct Worker<'a> {
    index: usize,
    table: &'a Table,
    how: &'a Insert,
    keep_bad_rows: bool,
    cancel: &'a Cancel,
    converter: Converter,
    to_caller: Sender<Message>,
    empty: Receiver<Decoded>,
    open: Decoded,
    next_record: u64,
    bad_rows: Vec<BadRow>,
    bad_rows_bytes: usize,
}

impl Worker<'_> {
    fn run(mut self, dispenser: &Dispenser<'_>) {
        self.open.clear(self.how.columns.len());
        while let Some(part) = dispenser.next(self.index) {
            let done = part.and_then(|part| self.decode(part));
            let message = match done {
                Ok(input_bytes) => Message::End { input_bytes },
                Err(error) => Message::Failed(error),
            };
            let failed = matches!(message, Message::Failed(_));
            if self.to_caller.send(message).is_err() || failed {
                return;
            }
        }
    }

    fn decode(&mut self, mut part: Box<dyn Part>) -> Result<u64> {
        self.next_record = part.first_row();
        let decoded = part.decode(self);
        // Rows before the error may have one of their own.
        self.send_rows()?;
        self.send_bad_rows()?;
        decoded.map(|()| part.input_bytes())
    }

    fn send_rows(&mut self) -> Result<()> {
        if self.open.rows == 0 {
            return Ok(());
        }
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.clear(self.how.columns.len());
        self.send(|worker| Message::Rows(std::mem::replace(&mut worker.open, next)))
    }

    fn send_bad_rows(&mut self) -> Result<()> {
        self.bad_rows_bytes = 0;
        if self.bad_rows.is_empty() {
            return Ok(());
        }
        self.send(|worker| Message::BadRows(std::mem::take(&mut worker.bad_rows)))
    }

    fn send(&mut self, message: impl FnOnce(&mut Self) -> Message) -> Result<()> {
        let message = message(self);
        self.to_caller.send(message).map_err(|_| Error::interrupted())
    }
}

impl Sink for Worker<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.cancel.check()?;
        debug_assert_eq!(batch.columns.len(), self.table.columns.len());
        self.converter.append(batch, &mut self.open.cells)?;
        let follows = self
            .open
            .records
            .last()
            .is_some_and(|(row, record)| record + (self.open.rows - row) as u64 == self.next_record);
        if !follows {
            self.open.records.push((self.open.rows, self.next_record));
        }
        self.open.rows += batch.rows;
        self.next_record += batch.rows as u64;
        let bytes: usize = self.open.cells.iter().map(Cells::bytes).sum();
        if self.open.rows >= self.how.batch_rows || bytes >= BATCH_BYTES {
            self.send_rows()?;
        }
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.cancel.check()?;
        if !self.keep_bad_rows {
            return Err(bad.error);
        }
        self.next_record += 1;
        self.bad_rows_bytes += size_of::<BadRow>() + ERROR_BYTES + bad.raw.len();
        self.bad_rows.push(bad);
        if self.bad_rows_bytes >= BAD_ROWS_BYTES { self.send_bad_rows() } else { Ok(()) }
    }
}
