//! Reading ahead: a separate thread reads, and the consumer takes the bytes and can stop waiting.
//!
//! ```text
//!              full blocks: as many as there are, then the end or an error
//!  thread  ─────────────────────────────────────────────────────────────────>  Ahead
//!          <─────────────────────────────────────────────────────────────────
//!              empty blocks
//! ```
//!
//! The thread ends with its input, or when it notices that the [`Ahead`] is gone: at once if it waits for an empty block. If
//! it is in a read of a pipe that gives nothing, it stays there until the pipe gives something or ends, and no other thread waits for it.

use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use sqluice_core::progress::Cancel;

/// How many blocks there are.
const BLOCKS: usize = 4;

/// How much is read at once: a block stays in the second-level cache from one thread to the other.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// How long a wait goes on without looking whether it should.
const PATIENCE: Duration = Duration::from_millis(20);

/// What was read.
enum Message {
    Block(Block),
    End,
    Failed(io::Error),
}

/// The first `len` bytes of it.
struct Block {
    bytes: Box<[u8]>,
    len: usize,
}

/// A reader that another thread reads ahead of.
pub(super) struct Ahead {
    full: Receiver<Message>,
    empty: Sender<Box<[u8]>>,
    block: Option<Block>,
    /// How much of the block is given away.
    at: usize,
    ended: bool,
    cancel: Cancel,
}

impl Ahead {
    /// Begins to read, in blocks of up to `block_bytes`.
    pub(super) fn start(
        input: impl Read + Send + 'static,
        block_bytes: usize,
        cancel: Cancel,
    ) -> io::Result<Ahead> {
        // One place more, for the end.
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

    /// Waits for what the thread has read.
    fn receive(&self) -> io::Result<Message> {
        loop {
            self.cancel.check()?;
            match self.full.recv_timeout(PATIENCE) {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Timeout) => {}
                // After an error, or because it panicked: that is no end.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that reads ahead is gone"));
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
                    // The thread may be gone already.
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

/// What the thread does.
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
