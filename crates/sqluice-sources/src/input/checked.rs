//! Checks the bytes of an archive's member against the size and the CRC-32 that the archive states.
//!
//! Invariant: a reader returns no byte beyond the stated size. It ends without an error only after all stated bytes, and if their CRC-32 is
//! right.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::Crc;
use sqluice_core::error::{Error, Place};

/// The size and the checksum that an archive states for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    pub(super) bytes: u64,
    /// The CRC-32; `None` if the archive has no checksum for the member.
    pub(super) crc: Option<u32>,
}

/// A reader that compares the bytes with the stated size and checksum.
pub(super) struct Checked<R> {
    inner: R,
    name: PathBuf,
    stated: Stated,
    /// The number of stated bytes that were not returned yet.
    left: u64,
    crc: Crc,
    state: State,
}

/// The state of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sound,
    /// All stated bytes were returned, but more bytes follow.
    HasMore,
    Failed,
}

impl<R: Read> Checked<R> {
    /// Creates a reader. `name` is the name of the member in messages.
    pub(super) fn new(inner: R, name: &Path, stated: Stated) -> Checked<R> {
        let (name, left) = (name.to_owned(), stated.bytes);
        Checked { inner, name, stated, left, crc: Crc::new(), state: State::Sound }
    }

    /// Reads the next bytes, and adds them to the checksum.
    fn next(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if read == 0 {
            return self.end().map(|()| 0);
        }
        // The bytes up to the stated size are returned first, and the error by the next call.
        let given = read.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if given == 0 {
            return Err(self.has_more());
        }
        if given < read {
            self.state = State::HasMore;
        }
        self.left -= given as u64;
        if self.stated.crc.is_some() {
            self.crc.update(&buffer[..given]);
        }
        Ok(given)
    }

    /// Checks the size and the checksum at the end of the member.
    fn end(&self) -> io::Result<()> {
        let Stated { bytes, crc } = self.stated;
        if self.left > 0 {
            let given = bytes - self.left;
            return Err(self
                .error(format!("the archive states {bytes} bytes for this file, which ends after {given}")));
        }
        match crc {
            Some(crc) if crc != self.crc.sum() => Err(self
                .error("the bytes of this file are damaged: the archive states another checksum".to_owned())),
            _ => Ok(()),
        }
    }

    fn has_more(&self) -> io::Error {
        let bytes = self.stated.bytes;
        self.error(format!("the archive states {bytes} bytes for this file, which has more"))
    }

    fn error(&self, what: String) -> io::Error {
        damaged(what, &self.name).into()
    }
}

/// Returns the error for a damaged member.
pub(super) fn damaged(what: String, name: &Path) -> Error {
    Error::input(what)
        .at(Place::file(name))
        .hint("was the archive copied or downloaded to its end? unzip -t FILE tests an archive")
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = match self.state {
            State::Sound => self.next(buffer),
            State::HasMore => Err(self.has_more()),
            // The error was already returned. Another read must not look like the end.
            State::Failed => Err(io::Error::other("read again after an error")),
        };
        if read.is_err() {
            self.state = State::Failed;
        }
        read
    }
}
