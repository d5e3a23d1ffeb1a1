//! Readers of the raw bytes of an input. They count the bytes, and their errors name the input.
//!
//! Invariant: an error of a [`Raw`] reader contains an [`Error`]. So the layers above can distinguish a file that can't be read from a file with
//! damaged content.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::Error;
use sqluice_platform::positioned::Positioned as _;

/// A reader that counts the bytes, and adds the name of the input to errors.
pub(super) struct Raw<R> {
    inner: R,
    name: PathBuf,
    bytes_read: Arc<AtomicU64>,
}

impl<R> Raw<R> {
    pub(super) fn new(inner: R, name: PathBuf, bytes_read: Arc<AtomicU64>) -> Raw<R> {
        Raw { inner, name, bytes_read }
    }
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Ok(bytes) => {
                    self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::from_read(&self.name, error).into()),
            }
        }
    }
}

/// A reader of a range of an open file, with its own position. Several readers can read the same file.
///
/// If the file ends before the end of the range, it has become shorter since it was opened: this is an error.
pub(super) struct Positioned {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Positioned {
    pub(super) fn new(file: Arc<File>, range: Range<u64>) -> Positioned {
        Positioned { file, at: range.start, end: range.end }
    }
}

impl Read for Positioned {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(buffer, self.at)?;
        if bytes == 0 && self.at < self.end && !buffer.is_empty() {
            let lost = Error::input("the file became shorter while it was read");
            return Err(lost.hint("wait until no program writes to it").into());
        }
        self.at += bytes as u64;
        Ok(bytes)
    }
}

/// A file that is opened by the first read, because opening a FIFO waits for its writer.
pub(super) enum OpenedLater {
    Named(PathBuf),
    Open(File),
}

impl Read for OpenedLater {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                OpenedLater::Named(path) => *self = OpenedLater::Open(File::open(path)?),
                OpenedLater::Open(file) => return file.read(buffer),
            }
        }
    }
}
