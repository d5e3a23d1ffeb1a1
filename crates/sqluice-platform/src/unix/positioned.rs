//! Reads and writes with `pread`, `pwritev` and `read`.

use std::fs::File;
use std::io::{self, IoSlice};

pub use std::os::unix::fs::FileExt as Positioned;

use rustix::buffer::spare_capacity;

pub(crate) fn write_slices_at(file: &File, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pwritev(file, slices, offset)?)
}

pub(crate) fn read_into_spare(file: &File, to: &mut Vec<u8>) -> io::Result<usize> {
    Ok(rustix::io::read(file, spare_capacity(to))?)
}
