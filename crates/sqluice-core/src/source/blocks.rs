//! Blocks of text, each with rows of one table. A server sends blocks of several tables, and a block is loaded while the server sends the
//! next ones.
//!
//! ```text
//!  table orders   block 1, block 2, block 3     each block has whole rows; blocks and rows are in the order of the table
//!  table people   block 1
//! ```

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::error::Result;

/// The number of bytes at which a block ends.
pub const BLOCK_BYTES: usize = 512 << 10;

/// The largest number of buffers that wait to be used again. Further buffers are freed when they are given back.
const SPARE_MAX: usize = 64;

/// Whole rows of a table, as text.
#[derive(Debug, Default)]
pub struct Block {
    /// The text of the rows.
    pub text: Vec<u8>,
    /// The number of rows.
    pub rows: u64,
}

impl Block {
    /// Returns `true` if the block has a row that is much longer than a block.
    pub fn is_long(&self) -> bool {
        self.text.len() >= 2 * BLOCK_BYTES
    }
}

/// A reader of the blocks of several tables. The tables come one after another, in an order that reader and caller have agreed on. A table
/// is named by its number: its position in the caller's list of tables.
pub trait Blocks: Send {
    /// Returns the next block of the table with the number `table`, or `None` after the table's last block.
    ///
    /// # Errors
    /// If the text can't be read to its end, or another table is next.
    fn next(&mut self, table: usize) -> Result<Option<Block>>;

    /// Returns the pool of buffers for blocks.
    fn spare(&self) -> Spare;
}

/// A pool of the buffers of decoded blocks, and a lock by which only one long block is decoded at a time.
#[derive(Clone, Debug, Default)]
pub struct Spare(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    buffers: Mutex<Vec<Vec<u8>>>,
    /// `true` while a long block is decoded.
    has_long: Mutex<bool>,
    long_ended: Condvar,
}

/// The lock of a long block, released when this value is dropped.
#[derive(Debug)]
pub struct Turn(Spare);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.0.has_long.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.0.long_ended.notify_all();
    }
}

impl Spare {
    /// Waits until no long block is decoded. A source of blocks waits before it takes the next block: with its text and its decoded values,
    /// a long row takes several times its length, and several threads would each hold one.
    pub fn wait_for_turn(&self) {
        let has_long = self.0.has_long.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.long_ended.wait_while(has_long, |has_long| *has_long));
    }

    /// Takes the lock for a block if the block is long.
    pub fn turn(&self, block: &Block) -> Option<Turn> {
        let is_long = block.is_long();
        if is_long {
            *self.0.has_long.lock().unwrap_or_else(PoisonError::into_inner) = true;
        }
        is_long.then(|| Turn(self.clone()))
    }

    /// Returns an empty buffer.
    pub fn take(&self) -> Vec<u8> {
        let used = self.0.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        used.unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 8))
    }

    /// Takes a buffer back, unless it has grown for a long row.
    pub fn give_back(&self, mut text: Vec<u8>) {
        text.clear();
        let mut buffers = self.0.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if text.capacity() <= 4 * BLOCK_BYTES && buffers.len() < SPARE_MAX {
            buffers.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_unless_it_is_large() {
        let spare = Spare::default();
        let mut text = spare.take();
        text.extend_from_slice(b"rows");
        let place = text.as_ptr();
        spare.give_back(text);
        let again = spare.take();
        assert!(again.is_empty() && again.as_ptr() == place);
        spare.give_back(Vec::with_capacity(5 * BLOCK_BYTES));
        assert!(spare.take().capacity() < 2 * BLOCK_BYTES);
    }

    #[test]
    fn a_long_block_is_decoded_before_the_next_block_is_taken() {
        let spare = Spare::default();
        let block = |bytes| Block { text: vec![0; bytes], rows: 1 };
        assert!(spare.turn(&block(BLOCK_BYTES)).is_none());
        spare.wait_for_turn();
        let turn = spare.turn(&block(2 * BLOCK_BYTES)).unwrap();
        let (done, waited) = std::sync::mpsc::channel();
        let other = spare.clone();
        let thread = std::thread::spawn(move || {
            other.wait_for_turn();
            done.send(()).unwrap();
        });
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(waited.try_recv().is_err());
        drop(turn);
        thread.join().unwrap();
        waited.try_recv().unwrap();
    }
}
