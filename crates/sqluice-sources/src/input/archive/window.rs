//! Reads the bytes of an archive at any offset, through a buffer, so that neighbouring fields are read together.

use std::io::{self, ErrorKind};
use std::path::Path;

use sqluice_core::error::{Error, Result};

use super::Whole;

/// The number of bytes that are read at a time from a local file.
const FILE_BYTES: usize = 64 << 10;
/// The number of bytes that are read at a time from a server. The number is larger because each read is a request.
const REMOTE_BYTES: usize = 1 << 20;

/// A buffer with a part of an archive.
pub(super) struct Window<'a> {
    whole: &'a Whole,
    name: &'a Path,
    buffer: Vec<u8>,
    /// The offset in the archive of the buffer's first byte.
    start: u64,
    /// The offset at which reading ahead ends: bytes from here on are read only if a caller asks for them.
    end: u64,
}

impl<'a> Window<'a> {
    pub(super) fn new(whole: &'a Whole, name: &'a Path) -> Window<'a> {
        Window { whole, name, buffer: Vec::new(), start: 0, end: whole.bytes() }
    }

    /// Sets the offset at which reading ahead ends: bytes from `end` on are read only if a caller asks for them.
    pub(super) fn read_until(&mut self, end: u64) {
        self.end = end.min(self.whole.bytes());
    }

    /// Returns the number of bytes of the archive.
    pub(super) fn bytes(&self) -> u64 {
        self.whole.bytes()
    }

    /// Returns the first 4 bytes of the archive, which must have so many. The buffer does not change.
    pub(super) fn start(&self) -> Result<[u8; 4]> {
        let mut start = [0; 4];
        self.whole.read_at(&mut start, 0).map_err(|error| unreadable(self.name, error))?;
        Ok(start)
    }

    /// Returns `bytes` bytes from the offset `at` on; `None` if the archive ends earlier.
    pub(super) fn get(&mut self, at: u64, bytes: usize) -> Result<Option<&[u8]>> {
        let Some(end) = at.checked_add(bytes as u64).filter(|end| *end <= self.bytes()) else {
            return Ok(None);
        };
        if at < self.start || end > self.start + self.buffer.len() as u64 {
            let block = match self.whole {
                Whole::File { .. } => FILE_BYTES,
                Whole::Remote(..) => REMOTE_BYTES,
            };
            let wanted = (bytes.max(block) as u64).min(self.end.max(end) - at);
            self.buffer.clear();
            // `wanted` is limited to the size of a read, or to the number of bytes that are asked for.
            self.buffer.resize(wanted as usize, 0);
            self.start = at;
            if let Err(error) = self.whole.read_at(&mut self.buffer, at) {
                self.buffer.clear();
                return Err(unreadable(self.name, error));
            }
        }
        let offset = (at - self.start) as usize;
        Ok(Some(&self.buffer[offset..offset + bytes]))
    }
}

/// Returns the error for a failed read of bytes that the archive had when it was opened.
pub(super) fn unreadable(name: &Path, error: io::Error) -> Error {
    if error.kind() == ErrorKind::UnexpectedEof {
        let lost = Error::input("the file became shorter while it was read").about(name);
        return lost.hint("wait until no program writes to it");
    }
    Error::from_read(name, error)
}
