//! Reads and writes with an offset, which also move the cursor.
//!
//! Locks on Windows are mandatory, and SQLite locks bytes of the database itself, at 1 GiB, in a range that holds no data. If
//! another open file holds these locks, a read returns zeros for the range, and a write skips the range.

use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::windows::fs::FileExt;

use windows_sys::Win32::Foundation::ERROR_LOCK_VIOLATION;

use super::errors::is;

/// The bytes that SQLite locks: `PENDING_BYTE`, `RESERVED_BYTE` and the shared range.
const LOCK_BYTES: Range<u64> = 0x4000_0000..0x4000_0200;

/// A file that can be read and written at an offset.
pub trait Positioned {
    /// Reads bytes from `offset` on. Returns the number of bytes read, which may be less than the buffer has room for, and is 0 at the end
    /// of the file.
    ///
    /// # Errors
    /// When the read fails.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes from `offset` on. Returns the number of bytes written, which may be less than the buffer has.
    ///
    /// # Errors
    /// When the write fails.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize>;

    /// Fills the buffer with the bytes from `offset` on.
    ///
    /// # Errors
    /// When the read fails; `UnexpectedEof` if the file ends before the buffer is full.
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => (buffer, offset) = (&mut buffer[bytes..], offset + bytes as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes the entire buffer from `offset` on.
    ///
    /// # Errors
    /// When the write fails.
    fn write_all_at(&self, mut buffer: &[u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.write_at(buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => (buffer, offset) = (&buffer[bytes..], offset + bytes as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Positioned for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.seek_read(buffer, offset) {
            Err(error) if is(&error, ERROR_LOCK_VIOLATION) => {
                match around_locks(offset, buffer.len(), error)? {
                    Step::Before(bytes) => self.seek_read(&mut buffer[..bytes], offset),
                    Step::Within(bytes) => {
                        let left = self.metadata()?.len().saturating_sub(offset);
                        let bytes = bytes.min(usize::try_from(left).unwrap_or(bytes));
                        buffer[..bytes].fill(0);
                        Ok(bytes)
                    }
                }
            }
            read => read,
        }
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        match self.seek_write(buffer, offset) {
            Err(error) if is(&error, ERROR_LOCK_VIOLATION) => {
                match around_locks(offset, buffer.len(), error)? {
                    Step::Before(bytes) => self.seek_write(&buffer[..bytes], offset),
                    Step::Within(bytes) => Ok(bytes),
                }
            }
            written => written,
        }
    }
}

/// The first part of a read or write that SQLite's locks would refuse: bytes before the locked range, or bytes within it.
enum Step {
    Before(usize),
    Within(usize),
}

/// Returns the first part of a read or write of `length` bytes from `offset` on. Returns `error`, with which the whole call failed, if
/// SQLite's locks are not the cause.
fn around_locks(offset: u64, length: usize, error: io::Error) -> io::Result<Step> {
    let end = offset + length as u64;
    if offset < LOCK_BYTES.start && end > LOCK_BYTES.start {
        return Ok(Step::Before((LOCK_BYTES.start - offset) as usize));
    }
    match LOCK_BYTES.contains(&offset) {
        true => Ok(Step::Within((end.min(LOCK_BYTES.end) - offset) as usize)),
        false => Err(error),
    }
}

/// Writes only the first slice that is not empty, because a call of Windows takes a single buffer.
pub(crate) fn write_slices_at(file: &File, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let first = slices.iter().find(|slice| !slice.is_empty());
    first.map_or(Ok(0), |slice| file.write_at(slice, offset))
}

pub(crate) fn read_into_spare(file: &File, to: &mut Vec<u8>) -> io::Result<usize> {
    let before = to.len();
    to.resize(to.capacity(), 0);
    let read = io::Read::read(&mut &*file, &mut to[before..]);
    to.truncate(before + read.as_ref().map_or(0, |bytes| *bytes));
    read
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::locks::lock_range;
    use super::*;

    #[test]
    fn an_error_at_locked_bytes_splits_the_read_and_another_error_is_passed_on() {
        let step = |offset, length| match around_locks(offset, length, io::ErrorKind::Other.into()) {
            Ok(Step::Before(bytes)) => Some((false, bytes)),
            Ok(Step::Within(bytes)) => Some((true, bytes)),
            Err(_) => None,
        };
        let Range { start, end } = LOCK_BYTES;
        assert_eq!(step(start - 5, 5), None);
        assert_eq!(step(start - 5, 6), Some((false, 5)));
        assert_eq!(step(start, 1), Some((true, 1)));
        assert_eq!(step(start + 10, 4096), Some((true, 502)));
        assert_eq!(step(end, 1), None);
    }

    #[test]
    fn bytes_that_sqlite_has_locked_are_read_as_zeros_and_left_out_of_writes() {
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all(b"x").unwrap();
        named.as_file().set_len(LOCK_BYTES.end + 100).unwrap();
        let other = named.reopen().unwrap();
        lock_range(&other, LOCK_BYTES, true).unwrap();
        let file = named.as_file();
        let (start, bytes) = (LOCK_BYTES.start - 100, vec![7; 712]);
        file.write_all_at(&bytes, start).unwrap();
        let mut read = vec![1; 712];
        file.read_exact_at(&mut read, start).unwrap();
        assert!(read[..100] == [7; 100] && read[612..] == [7; 100]);
        // Under wine, locks do not prevent reads and writes.
        assert!(read[100..612] == [0; 512] || read[100..612] == [7; 512]);
        assert!(file.read_exact_at(&mut read, start + 1).is_err(), "the file ends there");
    }
}
