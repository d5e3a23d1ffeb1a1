//! An object that is read from start to end.
//!
//! ```text
//!  128 KiB   1 MiB   2 MiB   2 MiB   2 MiB ...      one request for each block
//!  read      read    |<--- requested ahead --->|
//! ```
//!
//! The small first block is for callers that only read the start. From servers that do not support ranges, a single answer is read from
//! start to end.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use crossbeam_channel::{Receiver, bounded};
use futures_util::StreamExt;
use object_store::ObjectStoreExt;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::remote::Fetched;

use crate::runtime;
use crate::store::{Store, Version};
use crate::tries::Tries;

/// The sizes of the first two blocks in bytes.
const FIRST_BYTES: [u64; 2] = [128 << 10, 1 << 20];
/// The size of each block after the first two, in bytes.
const BLOCK_BYTES: u64 = 2 << 20;

/// The number of blocks that are requested at the same time, from the second block on.
const AHEAD: usize = 3;

/// The maximum number of received pieces of an answer that wait for the reader.
const PIECES: usize = 16;

/// A function that begins to read a range.
pub(crate) type Fetch = Box<dyn Fn(Range<u64>, Fetched) + Send>;

/// A reader that requests an object block by block.
pub(crate) struct Blocks {
    fetch: Fetch,
    cancel: Cancel,
    bytes: u64,
    /// The offset in the object at which the next request starts.
    next: u64,
    /// The number of requests so far.
    requested: usize,
    ahead: VecDeque<Receiver<Result<Vec<u8>>>>,
    block: Vec<u8>,
    at: usize,
}

impl Blocks {
    /// Creates a reader of an object of `bytes` bytes.
    pub(crate) fn new(fetch: Fetch, bytes: u64, cancel: &Cancel) -> Blocks {
        let (ahead, cancel) = (VecDeque::new(), cancel.clone());
        Blocks { fetch, cancel, bytes, next: 0, requested: 0, ahead, block: Vec::new(), at: 0 }
    }

    fn request(&mut self) {
        let bytes = FIRST_BYTES.get(self.requested).copied().unwrap_or(BLOCK_BYTES);
        let end = (self.next + bytes).min(self.bytes);
        let (send, receive) = bounded(1);
        (self.fetch)(self.next..end, Box::new(move |read| drop(send.send(read))));
        self.ahead.push_back(receive);
        (self.next, self.requested) = (end, self.requested + 1);
    }
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            let ahead = if self.requested == 0 { 1 } else { AHEAD };
            while self.ahead.len() < ahead && self.next < self.bytes {
                self.request();
            }
            let Some(receive) = self.ahead.pop_front() else { return Ok(0) };
            self.block = runtime::receive_or_cancel(&receive, &self.cancel)??;
            self.at = 0;
        }
        let bytes = buffer.len().min(self.block.len() - self.at);
        buffer[..bytes].copy_from_slice(&self.block[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

/// Reads an object as a single answer. If the answer breaks, the next answer is read from the start and must begin with the same bytes.
pub(crate) fn of_all(store: &Arc<Store>, version: &Version, cancel: &Cancel) -> Result<Box<dyn Read + Send>> {
    let (send, receive) = tokio::sync::mpsc::channel(PIECES);
    let (store, version) = (Arc::clone(store), version.clone());
    runtime::begin(async move {
        let mut all = All { store, version, bytes: 0, sum: DefaultHasher::new() };
        let mut tries = Tries::new(&all.store.limits);
        let done = loop {
            match all.send_rest(&send, &mut tries).await {
                Ok(Ok(())) => break Ok(Bytes::new()),
                Ok(Err(error)) => {
                    if let Err(error) = tries.wait(error).await {
                        break Err(all.store.tried("read", false).failed(&error));
                    }
                }
                Err(error) => break Err(error),
            }
        };
        // An empty piece marks the end. Without this mark, a panic in the task would look like the end. The send fails if the reader is gone.
        let _ = send.send(done).await;
    })?;
    Ok(Box::new(Pieces { cancel: cancel.clone(), receive, piece: Bytes::new(), ended: false }))
}

/// The state of [`of_all`]: the object, and the number and hash of the bytes that were sent to the reader.
struct All {
    store: Arc<Store>,
    version: Version,
    bytes: u64,
    sum: DefaultHasher,
}

impl All {
    /// Sends the bytes that the reader does not have yet. The inner result is an error if the answer ended early.
    async fn send_rest(
        &mut self,
        send: &tokio::sync::mpsc::Sender<Result<Bytes>>,
        tries: &mut Tries,
    ) -> Result<object_store::Result<()>> {
        let answer = match tries.step(self.store.client.get(&self.store.key)).await.flatten() {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        if !self.version.may_be(&Version::of(answer.meta.clone())) {
            return Err(self.store.changed());
        }
        let mut pieces = answer.into_stream();
        let (mut skipped, mut sum) = (0, DefaultHasher::new());
        loop {
            let mut piece = match tries.step(pieces.next()).await.and_then(Option::transpose) {
                Ok(Some(piece)) => piece,
                Ok(None) if skipped < self.bytes => return Err(self.store.changed()),
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            };
            let known = piece.split_to(piece.len().min((self.bytes - skipped) as usize));
            sum.write(&known);
            skipped += known.len() as u64;
            if piece.is_empty() {
                tries.arrived_again();
                continue;
            }
            if sum.finish() != self.sum.finish() {
                return Err(self.store.changed());
            }
            sum.write(&piece);
            self.sum = sum.clone();
            self.bytes += piece.len() as u64;
            skipped = self.bytes;
            tries.arrived(piece.len() as u64);
            if send.send(Ok(piece)).await.is_err() {
                // The reader is gone.
                return Ok(Ok(()));
            }
            tries.resumed();
        }
    }
}

struct Pieces {
    cancel: Cancel,
    receive: tokio::sync::mpsc::Receiver<Result<Bytes>>,
    piece: Bytes,
    ended: bool,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.ended {
            let received = runtime::receive_piece(&mut self.receive, &self.cancel)?;
            self.piece = received?;
            self.ended = self.piece.is_empty();
        }
        let bytes = buffer.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut buffer[..bytes]);
        Ok(bytes)
    }
}
