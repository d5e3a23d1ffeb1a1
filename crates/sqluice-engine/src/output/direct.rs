//! Writing pages past the page cache, where the file system can.

use std::fs::File;
use std::io::{self, IoSlice};

use sqluice_platform::{errors, positioned, unbuffered};

/// Direct I/O asks for multiples of the disk's block size, in memory and in the file. This is one everywhere.
const DIRECT_BYTES: usize = 4096;

/// How pages get into a file.
#[derive(Debug)]
pub(crate) struct Direct {
    on: bool,
}

impl Direct {
    /// Switches direct I/O on, where pages of `page_bytes` bytes and the file system permit it.
    pub(crate) fn new(file: &File, page_bytes: usize) -> Direct {
        Direct { on: page_bytes.is_multiple_of(DIRECT_BYTES) && unbuffered::switch_on(file) }
    }

    /// For a file that is no file of a file system.
    pub(crate) fn never() -> Direct {
        Direct { on: false }
    }

    /// Writes whole pages from byte `offset` of the file on. The slices follow each other in it.
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
                // A file system may take the flag and refuse the write, or have written a part that is no whole block.
                Err(error) if self.on && unbuffered::refuses(&error) => self.off(file),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Switches it off.
    pub(crate) fn off(&mut self, file: &File) {
        if self.on {
            unbuffered::switch_off(file);
            self.on = false;
        }
    }

    /// For the report.
    pub(crate) fn describe(&self) -> &'static str {
        if self.on { "direct" } else { "buffered" }
    }
}
