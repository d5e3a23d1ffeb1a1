//! An object from start to end.
//!
//! ```text
//!  128 KiB   1 MiB   2 MiB   2 MiB   2 MiB ...      one request for each block
//!  read      read    |<--- requested ahead --->|
//! ```
//!
//! The first block is for callers that only look at the beginning. Of servers without ranges, one answer is read from start to end.

use std::collections::VecDeque;
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
use crate::store::Store;

/// The sizes of the first blocks, and of those after.
const FIRST_BYTES: [u64; 2] = [128 << 10, 1 << 20];
const BLOCK_BYTES: u64 = 2 << 20;

/// Blocks that are requested at the same time, from the second on.
const AHEAD: usize = 3;

/// Pieces of an answer that wait for the reader.
const PIECES: usize = 16;

/// Begins to read a range.
pub(crate) type Fetch = Box<dyn Fn(Range<u64>, Fetched) + Send>;

/// Reads an object by blocks.
pub(crate) struct Blocks {
    fetch: Fetch,
    cancel: Cancel,
    bytes: u64,
    /// Where the next request begins, and how many there were.
    next: u64,
    requested: usize,
    ahead: VecDeque<Receiver<Result<Vec<u8>>>>,
    block: Vec<u8>,
    at: usize,
}

impl Blocks {
    /// An object of `bytes` bytes.
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

/// All of an object, as one answer.
pub(crate) fn of_all(store: &Arc<Store>, cancel: &Cancel) -> Result<Box<dyn Read + Send>> {
    let (send, receive) = tokio::sync::mpsc::channel(PIECES);
    let store = Arc::clone(store);
    runtime::begin(async move {
        let failed = |error| store.tried("read", false).failed(&error);
        let mut pieces = match store.client.get(&store.key).await {
            Ok(got) => got.into_stream(),
            Err(error) => {
                let _ = send.send(Err(failed(error))).await;
                return;
            }
        };
        while let Some(piece) = pieces.next().await {
            let is_last = piece.is_err();
            // The reader is gone.
            if send.send(piece.map_err(failed)).await.is_err() || is_last {
                return;
            }
        }
        // Without this, a thread that panicked would look like the end.
        let _ = send.send(Ok(Bytes::new())).await;
    })?;
    Ok(Box::new(Pieces { cancel: cancel.clone(), receive, piece: Bytes::new(), ended: false }))
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
