//! Reads and writes at an offset of a file, by several threads at the same time, and single reads from the file's cursor on.
//!
//! On Windows, each call also moves the file's cursor, so a file that is read at offsets must not be read sequentially as well.

use std::fs::File;
use std::io::{self, IoSlice};

pub use crate::system::positioned::Positioned;

use crate::system;

/// Writes slices one after another at byte `offset` of the file. Returns the number of bytes written, which may be less than all.
///
/// # Errors
/// When the write fails.
pub fn write_slices_at(file: &File, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    system::positioned::write_slices_at(file, slices, offset)
}

/// Reads once from the file's cursor on, and appends the bytes to `to`, at most its spare capacity. Returns the number of bytes read: 0 at
/// the end of the file.
///
/// # Errors
/// When the read fails.
pub fn read_into_spare(file: &File, to: &mut Vec<u8>) -> io::Result<usize> {
    system::positioned::read_into_spare(file, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_written_at_an_offset_are_read_back_there() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"world", 6).unwrap();
        let slices = [&b"hel"[..], b"lo", b" "].map(IoSlice::new);
        let mut written = 0;
        while written < 6 {
            let mut left = slices;
            let mut left = &mut left[..];
            IoSlice::advance_slices(&mut left, written);
            written += write_slices_at(&file, left, written as u64).unwrap();
        }
        let mut all = [0; 11];
        file.read_exact_at(&mut all, 0).unwrap();
        assert_eq!(&all, b"hello world");
        assert_eq!(file.read_at(&mut all, 11).unwrap(), 0);
        let error = file.read_exact_at(&mut all, 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_read_fills_no_more_than_the_spare_capacity() {
        let mut path = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut path, &[7; 100]).unwrap();
        let file = File::open(path.path()).unwrap();
        let mut read = Vec::with_capacity(60);
        read.push(1);
        let spare = read.capacity() - 1;
        assert_eq!(read_into_spare(&file, &mut read).unwrap(), spare.min(100));
        read.reserve(200);
        while read_into_spare(&file, &mut read).unwrap() > 0 {}
        assert_eq!((read[0], read.len()), (1, 101));
        assert!(read[1..].iter().all(|byte| *byte == 7));
    }
}
