//! The bytes of an archive, which threads read at any offset: a local file, or a file behind a URL whose server supports ranges.
//!
//! ```text
//!  a range of a URL   64 KiB   1 MiB   1 MiB   1 MiB ...      one request for each block
//!                     read     |<- requested ahead ->|
//! ```
//!
//! Invariant: a reader requests no byte outside of its range.

#![cfg_attr(not(feature = "archives"), allow(dead_code))]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use sqluice_core::error::{Error, Result};
use sqluice_core::remote::{Fetched, RemoteFile};
use sqluice_platform::positioned::Positioned as _;

use super::checked::{Checked, Stated};
use super::raw::Positioned;

/// The size of a reader's first request in bytes. Often only the first bytes of a member are read.
const FIRST_BYTES: u64 = 64 << 10;

/// The size of each further request in bytes.
const BLOCK_BYTES: u64 = 1 << 20;

/// The number of blocks that are requested at the same time, from the second block on.
const AHEAD: usize = 3;

/// The maximum time between two checks for cancellation.
const PATIENCE: Duration = Duration::from_millis(20);

/// The bytes of an archive.
#[derive(Clone, Debug)]
pub(super) enum Whole {
    /// An open local file. The archive begins at `start`.
    File { file: Arc<File>, start: u64, bytes: u64 },
    /// A file behind a URL, and its size in bytes.
    Remote(Arc<dyn RemoteFile>, u64),
}

impl Whole {
    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Whole::File { bytes, .. } | Whole::Remote(_, bytes) => *bytes,
        }
    }

    /// Fills `out` with the bytes from the offset `at` on. They must be within the archive.
    pub(super) fn read_at(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Whole::File { file, start, .. } => file.read_exact_at(out, start + at),
            Whole::Remote(remote, _) => {
                let read = remote.read(at..at + out.len() as u64)?;
                if read.len() != out.len() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                out.copy_from_slice(&read);
                Ok(())
            }
        }
    }

    /// Returns a reader of `range`, which must be within the archive.
    pub(super) fn reader(&self, range: Range<u64>) -> Box<dyn Read + Send> {
        match self {
            Whole::File { file, start, .. } => {
                let (file, range) = (Arc::clone(file), start + range.start..start + range.end);
                let bytes = range.end - range.start;
                Box::new(Positioned::new(file, range).take(bytes))
            }
            Whole::Remote(remote, _) => Box::new(Blocks::new(Arc::clone(remote), range)),
        }
    }
}

/// A reader that requests a range of a file block by block.
struct Blocks {
    remote: Arc<dyn RemoteFile>,
    /// The bytes that have not been requested yet.
    rest: Range<u64>,
    /// The number of requests so far.
    requested: usize,
    ahead: VecDeque<Receiver<Result<Vec<u8>>>>,
    block: Vec<u8>,
    /// The number of bytes of the current block that were already returned.
    at: usize,
}

impl Blocks {
    fn new(remote: Arc<dyn RemoteFile>, range: Range<u64>) -> Blocks {
        Blocks { remote, rest: range, requested: 0, ahead: VecDeque::new(), block: Vec::new(), at: 0 }
    }

    fn request(&mut self) {
        let bytes = if self.requested == 0 { FIRST_BYTES } else { BLOCK_BYTES };
        let end = (self.rest.start + bytes).min(self.rest.end);
        let (send, receive) = bounded(1);
        self.remote.fetch(self.rest.start..end, Box::new(move |read| drop(send.send(read))));
        self.ahead.push_back(receive);
        (self.rest.start, self.requested) = (end, self.requested + 1);
    }

    /// Waits for the answer to a request.
    fn receive(&self, receive: &Receiver<Result<Vec<u8>>>) -> Result<Vec<u8>> {
        loop {
            self.remote.check()?;
            match receive.recv_timeout(PATIENCE) {
                Ok(read) => return read,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::input("a request ended without an answer").about(self.remote.name()));
                }
            }
        }
    }
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.at == self.block.len() {
            let ahead = if self.requested == 0 { 1 } else { AHEAD };
            while self.ahead.len() < ahead && !self.rest.is_empty() {
                self.request();
            }
            let Some(receive) = self.ahead.pop_front() else { return Ok(0) };
            (self.block, self.at) = (self.receive(&receive)?, 0);
        }
        let bytes = buffer.len().min(self.block.len() - self.at);
        buffer[..bytes].copy_from_slice(&self.block[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

/// An uncompressed member of an archive behind a URL, as a file of its own.
#[derive(Debug)]
pub(super) struct RemoteRange {
    name: PathBuf,
    remote: Arc<dyn RemoteFile>,
    start: u64,
    stated: Stated,
}

impl RemoteRange {
    /// Creates the member whose bytes begin at the offset `start` of the archive. `name` is its name in messages.
    pub(super) fn new(name: PathBuf, remote: Arc<dyn RemoteFile>, start: u64, stated: Stated) -> RemoteRange {
        RemoteRange { name, remote, start, stated }
    }

    /// Converts a range of the member to a range of the archive, limited to the member.
    fn in_archive(&self, range: &Range<u64>) -> Range<u64> {
        let at = |offset: u64| self.start + offset.min(self.stated.bytes);
        at(range.start)..at(range.end)
    }
}

impl RemoteFile for RemoteRange {
    fn name(&self) -> &Path {
        &self.name
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.stated.bytes)
    }

    fn has_ranges(&self) -> bool {
        true
    }

    fn check(&self) -> Result<()> {
        self.remote.check()
    }

    fn fetch(&self, range: Range<u64>, done: Fetched) {
        self.remote.fetch(self.in_archive(&range), done);
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.remote.read(self.in_archive(&range))
    }

    fn stream(&self) -> Result<Box<dyn Read + Send>> {
        let blocks = Blocks::new(Arc::clone(&self.remote), self.in_archive(&(0..self.stated.bytes)));
        Ok(Box::new(Checked::new(blocks, &self.name, self.stated)))
    }
}
