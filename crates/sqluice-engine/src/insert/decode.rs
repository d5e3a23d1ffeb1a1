//! Decodes parts into batches, in order: worker threads decode and convert, and the calling thread takes the batches.
//!
//! ```text
//!  order      0  1  1  0       the worker of each part, in the order of the parts
//!  worker 0   rows rows end │ rows end
//!  worker 1   rows end │ bad-rows end
//! ```
//!
//! Each worker has a queue of its own for a few messages. The calling thread always empties the queue whose turn it is, so one worker can
//! always continue.

use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender};
use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::rows::Cells;
use sqluice_core::schema::Table;
use sqluice_core::source::kept::{Kept, Picked};
use sqluice_core::source::{BadRow, Part, Refused, Sink, Source};

use super::{BATCH_BYTES, Insert};
use crate::encode::Converter;

/// The bytes of bad rows that a worker gathers before it sends the rows.
const BAD_ROWS_BYTES: usize = 1 << 18;

/// The approximate bytes of the error of a bad row: the message, the hint, and the name of the file.
const ERROR_BYTES: usize = 500;

/// A message of a worker about a part. The worker sends its messages in the order of the part's rows.
pub(super) enum Message {
    Rows(Decoded),
    BadRows(Vec<BadRow>),
    /// The part is complete.
    End {
        input_bytes: u64,
    },
    /// The part can't be finished, which ends the run.
    Failed(Error),
}

/// Decoded rows, ready for SQLite.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    /// The values of each column that is inserted, for all rows.
    pub(super) cells: Vec<Cells>,
    pub(super) rows: usize,
    /// The runs of rows whose records follow each other in the input. Each run is given by the index of its first row, and by the number of
    /// this row's record in the input, both counted from 0.
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

/// Decodes all parts of `source`, and passes the results to `take`, in order. `take` may return emptied batches.
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
        // Dropping the queues ends the workers that wait.
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
    // The channel is closed when the dispenser has no more parts.
    while let Ok(worker) = order.recv() {
        let (messages, give_back) = &queues[worker];
        loop {
            // A worker that does not end its part has panicked.
            let message = messages.recv().map_err(|_| Error::target("a worker panicked"))?;
            cancel.check()?;
            let end = matches!(message, Message::End { .. });
            if let Some(empty) = take(message)? {
                // The worker of the batch may have ended. Then it needs no empty batch.
                let _ = give_back.send(empty);
            }
            if end {
                break;
            }
        }
    }
    Ok(())
}

/// The parts of a source, and the channel for the worker of each part.
type Parts<'a> = (Box<dyn Source + 'a>, Sender<usize>);

/// A dispenser of parts, which also reports the worker of each part; `None` after the last part.
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

/// A worker, with the batch that it fills.
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
        // The rows before the error are sent first, as they may have an earlier error.
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

impl Worker<'_> {
    /// Records that row `row` of the open batch is record `record` of the source, both counted from 0.
    fn note_record(&mut self, row: usize, record: u64) {
        let last = self.open.records.last();
        if last.is_none_or(|(begin, first)| first + (row - begin) as u64 != record) {
            self.open.records.push((row, record));
        }
    }

    fn send_full(&mut self) -> Result<()> {
        let bytes: usize = self.open.cells.iter().map(Cells::bytes).sum();
        if self.open.rows >= self.how.batch_rows || bytes >= BATCH_BYTES {
            self.send_rows()?;
        }
        Ok(())
    }
}

impl Sink for Worker<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.cancel.check()?;
        debug_assert_eq!(batch.columns.len(), self.table.columns.len());
        self.converter.append(batch, &mut self.open.cells)?;
        self.note_record(self.open.rows, self.next_record);
        self.open.rows += batch.rows;
        self.next_record += batch.rows as u64;
        Ok(self.send_full()?)
    }

    fn kept_rows(&mut self, batch: &Batch<'_>, kept: &Kept<'_>) -> Result<(), Refused> {
        self.cancel.check()?;
        if !kept.rows.is_empty() {
            let picked = Picked::new(batch, kept);
            let appended = self.converter.append(&picked.batch(), &mut self.open.cells);
            appended.map_err(|refused| kept.of_all(refused))?;
        }
        for row in kept.rows {
            self.note_record(self.open.rows, self.next_record + u64::from(*row));
            self.open.rows += 1;
        }
        self.next_record += batch.rows as u64;
        Ok(self.send_full()?)
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
