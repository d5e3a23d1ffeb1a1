//! Writes pages past the page cache (direct I/O) if the file system supports it.

use std::fs::File;
use std::io::{self, IoSlice};

use sqluice_platform::{errors, positioned, unbuffered};

/// The alignment of direct I/O in memory and in the file: a multiple of the block size of every usual disk.
const DIRECT_BYTES: usize = 4096;

/// The mode in which pages are written to a file: direct or buffered.
#[derive(Debug)]
pub(crate) struct Direct {
    on: bool,
}

impl Direct {
    /// Switches direct I/O on if the file system permits it and `page_bytes` is a multiple of `DIRECT_BYTES`.
    pub(crate) fn new(file: &File, page_bytes: usize) -> Direct {
        Direct { on: page_bytes.is_multiple_of(DIRECT_BYTES) && unbuffered::switch_on(file) }
    }

    /// Returns the buffered mode, for pipes, for devices, and for files that are written through a connection of the caller.
    pub(crate) fn never() -> Direct {
        Direct { on: false }
    }

    /// Writes whole pages to the file from byte `offset` on, one slice after another.
    pub(crate) fn write(&mut self, file: &File, mut offset: u64, pages: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> =
            pages.iter().filter(|pages| !pages.is_empty()).map(|pages| IoSlice::new(pages)).collect();
        let mut slices = &mut slices[..];
        while !slices.is_empty() {
            match positioned::write_slices_at(file, slices, offset) {
                Ok(0) => return Err(errors::nothing_written()),
                Ok(n) => {
                    IoSlice::advance_slices(&mut slices, n);
                    offset += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A file system may accept the flag for direct I/O but refuse the write. Or an earlier write has ended within a block, so
                // that the rest is not aligned.
                Err(error) if self.on && unbuffered::refuses(&error) => self.off(file),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Switches direct I/O off.
    pub(crate) fn off(&mut self, file: &File) {
        if self.on {
            unbuffered::switch_off(file);
            self.on = false;
        }
    }

    /// Returns the name of the mode for the report: `direct` or `buffered`.
    pub(crate) fn describe(&self) -> &'static str {
        if self.on { "direct" } else { "buffered" }
    }
}
