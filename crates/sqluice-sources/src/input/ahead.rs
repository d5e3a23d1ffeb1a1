//! Reads an input ahead on a separate thread. The consumer waits for filled blocks, and can stop waiting.
//!
//! ```text
//!              filled blocks, then the end or an error
//!  thread  ─────────────────────────────────────────────────────────────────>  Ahead
//!          <─────────────────────────────────────────────────────────────────
//!              empty blocks
//! ```
//!
//! The thread ends with its input, or when it notices that the [`Ahead`] was dropped. While it waits for an empty block, it notices this at
//! once. While it reads from a silent pipe, it notices this only when the pipe has bytes or ends. No other thread waits for this.

use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use sqluice_core::progress::Cancel;

/// The number of blocks, which go back and forth between the threads.
const BLOCKS: usize = 4;

/// The size of a block in bytes. A block stays in the second-level cache on its way from one thread to the other.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// The maximum time between two checks for cancellation.
const PATIENCE: Duration = Duration::from_millis(20);

/// The result of a read on the thread.
enum Message {
    Block(Block),
    End,
    Failed(io::Error),
}

/// A block whose first `len` bytes are filled.
struct Block {
    bytes: Box<[u8]>,
    len: usize,
}

/// A reader of the blocks that another thread reads ahead.
pub(super) struct Ahead {
    full: Receiver<Message>,
    empty: Sender<Box<[u8]>>,
    block: Option<Block>,
    /// The number of bytes of the current block that were already returned.
    at: usize,
    ended: bool,
    cancel: Cancel,
}

impl Ahead {
    /// Starts a thread that reads blocks of up to `block_bytes` bytes.
    pub(super) fn start(
        input: impl Read + Send + 'static,
        block_bytes: usize,
        cancel: Cancel,
    ) -> io::Result<Ahead> {
        // The channel has one more place than there are blocks, for the message about the end.
        let (give_full, full) = bounded(BLOCKS + 1);
        let (empty, take_empty) = bounded(BLOCKS);
        for _ in 0..BLOCKS {
            empty.send(vec![0; block_bytes].into()).expect("the other end is here");
        }
        thread::Builder::new()
            .name("sqluice-input".to_owned())
            .spawn(move || read_ahead(input, &take_empty, &give_full))?;
        Ok(Ahead { full, empty, block: None, at: 0, ended: false, cancel })
    }

    /// Waits for the next result of the thread.
    fn receive(&self) -> io::Result<Message> {
        loop {
            self.cancel.check()?;
            match self.full.recv_timeout(PATIENCE) {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Timeout) => {}
                // The thread has ended after an error or a panic. This must not look like the end of the input.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that reads ahead has ended early"));
                }
            }
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(block) = self.block.take() {
                let bytes = buffer.len().min(block.len - self.at);
                buffer[..bytes].copy_from_slice(&block.bytes[self.at..self.at + bytes]);
                self.at += bytes;
                if self.at < block.len {
                    self.block = Some(block);
                } else {
                    // The send fails if the thread has already ended.
                    let _ = self.empty.send(block.bytes);
                }
                return Ok(bytes);
            }
            if self.ended {
                return Ok(0);
            }
            match self.receive()? {
                Message::Block(block) => (self.block, self.at) = (Some(block), 0),
                Message::End => self.ended = true,
                Message::Failed(error) => return Err(error),
            }
        }
    }
}

/// Reads the input to its end. This is the function of the thread.
fn read_ahead(mut input: impl Read, empty: &Receiver<Box<[u8]>>, full: &Sender<Message>) {
    while let Ok(mut bytes) = empty.recv() {
        let message = match input.read(&mut bytes) {
            Ok(0) => Message::End,
            Ok(len) => Message::Block(Block { bytes, len }),
            Err(error) => Message::Failed(error),
        };
        let last = !matches!(message, Message::Block(_));
        if full.send(message).is_err() || last {
            return;
        }
    }
}
