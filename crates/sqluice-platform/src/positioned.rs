//! Reads and writes at a place of a file, by many threads at a time.
//!
//! On Windows each of them also moves the cursor of the file: a file that is read at places is not read in order, too.

use std::fs::File;
use std::io::{self, IoSlice};

pub use crate::system::positioned::Positioned;

use crate::system;

/// Writes slices that follow each other in the file from byte `offset` on; returns how many bytes were written, which may be fewer.
///
/// # Errors
/// What the system says.
pub fn write_slices_at(file: &File, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    system::positioned::write_slices_at(file, slices, offset)
}

/// Appends what one read returns to `to`, at most its spare capacity; returns how many bytes that was: 0 at the end.
///
/// # Errors
/// What the system says.
pub fn read_into_spare(file: &File, to: &mut Vec<u8>) -> io::Result<usize> {
    system::positioned::read_into_spare(file, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_at_places_is_read_at_places() {
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
