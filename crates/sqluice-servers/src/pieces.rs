//! Reads rows on several threads and passes them to one reader in order. A piece is a part of a table that one thread reads.
//!
//! ```text
//!  list of pieces ── taken in order ──> thread 1 ── blocks ──> channel of piece 1 ─┐
//!                                       thread 2 ── blocks ──> channel of piece 2 ─┴─ in order ──> reader
//! ```
//!
//! The number of blocks that wait in a channel is limited, so a thread that is ahead of the reader waits. A block with a long row counts as
//! several blocks, and its thread continues only when the reader has taken the block. So the memory is bounded by the number of threads and
//! the longest row.
//!
//! Invariant: the reader reports the end of a table only if all pieces of the table have sent their end.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::blocks::{BLOCK_BYTES, Block, Blocks, Spare};

/// The maximum number of blocks of a piece that wait for the reader.
const BLOCKS_MAX: u64 = 16;

/// The error if rows can't be sent because the reader was dropped.
#[derive(Debug)]
pub(crate) struct Gone;

/// A message of a piece to the reader.
enum Part {
    Block(Block),
    Failed(Error),
    /// The piece is complete.
    End,
}

/// The sending side of a piece: the thread that reads the piece fills blocks with rows and sends them.
pub(crate) struct Rows {
    /// The block that is being filled.
    pub(crate) block: Block,
    parts: Sender<Part>,
    /// A channel with a message for each block that waits for the reader. Sending to the full channel waits until the reader takes a block.
    room: Sender<()>,
    /// Receives a message when the reader begins to read the piece.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only connections to PostgreSQL wait for it")
    )]
    begun: Receiver<()>,
    /// Receives a message for each long block that the reader has taken.
    taken: Receiver<()>,
    blocks_max: usize,
    spare: Spare,
}

/// The receiving side of a piece.
struct Sent {
    parts: Receiver<Part>,
    room: Receiver<()>,
    begun: Sender<()>,
    taken: Sender<()>,
    blocks_max: usize,
}

/// Returns the number of blocks of `BLOCK_BYTES` that a block counts as.
fn counts_as(block: &Block, blocks_max: usize) -> usize {
    (block.text.len() / BLOCK_BYTES).clamp(1, blocks_max)
}

impl Rows {
    /// Sends the block, if it has rows.
    pub(crate) fn send(&mut self) -> Result<(), Gone> {
        if self.block.rows == 0 {
            return Ok(());
        }
        let next = Block { text: self.spare.take(), rows: 0 };
        let block = std::mem::replace(&mut self.block, next);
        let is_long = block.is_long();
        (0..counts_as(&block, self.blocks_max)).try_for_each(|_| self.room.send(())).map_err(|_| Gone)?;
        self.parts.send(Part::Block(block)).map_err(|_| Gone)?;
        // The next row may be long, too: do not read it before the reader has taken this block.
        if is_long { self.taken.recv().map_err(|_| Gone) } else { Ok(()) }
    }

    /// Waits until the reader has read all earlier pieces and begins to read this one.
    #[cfg(feature = "postgres")]
    pub(crate) fn wait_for_reader(&self) -> Result<(), Gone> {
        self.begun.recv().map_err(|_| Gone)
    }

    /// Sends the last block and the end of the piece.
    pub(crate) fn finish(mut self) -> Result<(), Gone> {
        self.send()?;
        self.parts.send(Part::End).map_err(|_| Gone)
    }

    /// Sends an error: the reader reports it instead of the end of the piece.
    pub(crate) fn fail(self, error: Error) {
        let _ = self.parts.send(Part::Failed(error));
    }
}

/// The pieces that are not yet taken by a thread.
pub(crate) struct Pieces<P> {
    left: Mutex<std::vec::IntoIter<P>>,
    order: Sender<Sent>,
    spare: Spare,
    blocks_max: usize,
}

impl<P> Pieces<P> {
    /// Takes the next piece and creates the channel for its rows. Returns `None` if no piece is left or the reader was dropped.
    pub(crate) fn take(&self) -> Option<(P, Rows)> {
        // The lock is held until the channel is announced, so that channels are announced in the order of the pieces.
        let mut left = self.left.lock().ok()?;
        let piece = left.next()?;
        let (blocks_max, spare) = (self.blocks_max, self.spare.clone());
        let ((parts, sent), (room, left_room)) = (unbounded(), bounded(blocks_max));
        let ((begins, begun), (takes, taken)) = (unbounded(), unbounded());
        self.order
            .send(Sent { parts: sent, room: left_room, begun: begins, taken: takes, blocks_max })
            .ok()?;
        let block = Block { text: spare.take(), rows: 0 };
        Some((piece, Rows { block, parts, room, begun, taken, blocks_max, spare }))
    }
}

/// Returns the maximum number of blocks of a piece that wait for the reader: all `count` threads together may use a quarter of
/// `memory_bytes`, but each at least two blocks. With 0 bytes, [`BLOCKS_MAX`] is the only limit.
pub(crate) fn blocks_max(memory_bytes: u64, count: usize) -> usize {
    match memory_bytes {
        0 => BLOCKS_MAX as usize,
        bytes => (bytes / 4 / count.max(1) as u64 / BLOCK_BYTES as u64).clamp(2, BLOCKS_MAX) as usize,
    }
}

/// Creates the pieces for the threads, each with the number of its table in the dump, and the reader of the rows. `blocks_max` is the
/// maximum number of blocks of a piece that wait for the reader.
pub(crate) fn pieces<P>(list: Vec<(usize, P)>, blocks_max: usize, stop: Cancel) -> (Pieces<P>, Reader) {
    let (order, announced) = unbounded();
    let spare = Spare::default();
    let (tables, list): (VecDeque<usize>, Vec<P>) = list.into_iter().unzip();
    let pieces = Pieces { left: Mutex::new(list.into_iter()), order, spare: spare.clone(), blocks_max };
    let reader = Reader {
        announced: Some(announced),
        tables,
        current: None,
        has_failed: false,
        spare,
        stop,
        threads: Vec::new(),
    };
    (pieces, reader)
}

/// The reader of the rows of all pieces. When it is dropped, it stops the threads and waits for them.
pub(crate) struct Reader {
    announced: Option<Receiver<Sent>>,
    /// The tables of the pieces that the reader has not begun, in order.
    tables: VecDeque<usize>,
    current: Option<(usize, Sent)>,
    /// `true` after an error: later calls return an error, too, so that no caller takes the error for the end of a table.
    has_failed: bool,
    spare: Spare,
    stop: Cancel,
    threads: Vec<JoinHandle<()>>,
}

impl Reader {
    /// Adds a thread that reads pieces. When the reader is dropped, it waits for this thread.
    pub(crate) fn watch(&mut self, thread: JoinHandle<()>) {
        self.threads.push(thread);
    }

    /// Returns the next block of a table, or `None` at the end of the table. Tables must be read in the order of their pieces.
    fn receive(&mut self, table: usize) -> Result<Option<Block>> {
        let lost = || Error::input("a thread that reads from the server ended early");
        loop {
            let next = self.current.as_ref().map(|(of, _)| *of).or_else(|| self.tables.front().copied());
            if next != Some(table) {
                // A table without stored columns has no pieces: return its end.
                return match next.is_some() && self.tables.contains(&table) {
                    true => Err(Error::input(
                        "the tables are not read in the order in which the server sends them",
                    )),
                    false => Ok(None),
                };
            }
            if self.current.is_none() {
                let announced = self.announced.as_ref().ok_or_else(lost)?;
                let sent = announced.recv().map_err(|_| lost())?;
                let _ = sent.begun.send(());
                self.current = Some((table, sent));
                self.tables.pop_front();
            }
            let Some((_, Sent { parts, room, taken, blocks_max, .. })) = &self.current else { continue };
            match parts.recv() {
                Ok(Part::Block(block)) => {
                    room.try_iter().take(counts_as(&block, *blocks_max)).for_each(drop);
                    if block.is_long() {
                        let _ = taken.send(());
                    }
                    return Ok(Some(block));
                }
                Ok(Part::End) => self.current = None,
                Ok(Part::Failed(error)) => return Err(error),
                Err(_) => return Err(lost()),
            }
        }
    }

    /// Stops all threads, and waits until they have ended.
    fn close(&mut self) {
        self.stop.cancel();
        (self.announced, self.current) = (None, None);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Blocks for Reader {
    fn next(&mut self, table: usize) -> Result<Option<Block>> {
        if self.has_failed {
            return Err(Error::input("reading the rows of the server has already failed"));
        }
        let received = self.receive(table);
        self.has_failed = received.is_err();
        received
    }

    fn spare(&self) -> Spare {
        self.spare.clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rows: &mut Rows, text: &[u8]) {
        rows.block.text.extend_from_slice(text);
        rows.block.rows += 1;
    }

    #[test]
    fn a_thread_that_ends_early_is_an_error_and_not_the_end_of_the_table() {
        let (list, mut reader) = pieces(vec![(0, ()), (0, ())], 2, Cancel::new());
        let (_, mut rows) = list.take().unwrap();
        row(&mut rows, b"abc");
        rows.send().unwrap();
        drop(rows);
        assert_eq!(reader.next(0).unwrap().unwrap().text, b"abc");
        assert!(reader.next(0).is_err());
        assert!(reader.next(0).is_err());
        let (list, mut reader) = pieces(vec![(0, ())], 2, Cancel::new());
        drop(list);
        assert!(reader.next(0).is_err());
    }

    #[test]
    fn each_table_gets_its_rows_in_the_order_of_its_pieces() {
        let (list, mut reader) = pieces(vec![(3, "a"), (3, "b"), (1, "c")], 2, Cancel::new());
        let mut taken: Vec<_> = std::iter::from_fn(|| list.take()).collect();
        // Finish the pieces in reverse order.
        while let Some((piece, mut rows)) = taken.pop() {
            row(&mut rows, piece.as_bytes());
            rows.finish().unwrap();
        }
        let mut all = |table| {
            let blocks = std::iter::from_fn(|| reader.next(table).unwrap());
            blocks.flat_map(|block| block.text).collect::<Vec<u8>>()
        };
        assert_eq!([all(2), all(3), all(0), all(1), all(1)], [&b""[..], b"ab", b"", b"c", b""]);
    }

    #[test]
    fn a_thread_with_long_rows_waits_until_the_reader_has_taken_them() {
        let (list, mut reader) = pieces(vec![(0, ())], 4, Cancel::new());
        let (sent, counted) = unbounded();
        let thread = std::thread::spawn(move || {
            let (_, mut rows) = list.take().unwrap();
            for _ in 0..9 {
                sent.send(()).unwrap();
                row(&mut rows, &vec![b'x'; 3 * BLOCK_BYTES]);
                if rows.send().is_err() {
                    return false;
                }
            }
            rows.finish().is_ok()
        });
        for taken in 0..9 {
            counted.recv().unwrap();
            // The thread has sent a row, and must not begin the next one.
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert!(counted.is_empty(), "{taken}");
            assert_eq!(reader.next(0).unwrap().unwrap().text.len(), 3 * BLOCK_BYTES);
        }
        assert!(reader.next(0).unwrap().is_none());
        assert!(thread.join().unwrap());
    }

    #[test]
    fn a_thread_that_waits_to_send_ends_when_the_reader_is_dropped() {
        for text in [&vec![b'x'; 9 * BLOCK_BYTES][..], b"y"] {
            let (list, reader) = pieces(vec![(0, ())], 2, Cancel::new());
            let (_, mut rows) = list.take().unwrap();
            let text = text.to_vec();
            // Only two blocks may wait, so the third waits until the reader is dropped.
            let thread = std::thread::spawn(move || {
                (0..3).any(|_| {
                    row(&mut rows, &text);
                    rows.send().is_err()
                })
            });
            drop((list, reader));
            assert!(thread.join().unwrap());
        }
    }

    #[test]
    fn a_table_that_is_requested_before_an_earlier_table_is_an_error() {
        let (_list, mut reader) = pieces(vec![(0, ()), (1, ())], 2, Cancel::new());
        assert!(reader.next(1).is_err());
    }

    #[test]
    fn the_blocks_of_all_threads_fit_into_a_quarter_of_the_memory() {
        for (memory, count, expected) in
            [(0, 1, 16), (64 << 20, 1, 16), (64 << 20, 8, 4), (8 << 20, 8, 2), (1, 0, 2)]
        {
            assert_eq!(blocks_max(memory, count), expected, "{memory} {count}");
        }
    }
}
