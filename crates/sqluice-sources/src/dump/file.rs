//! The file of a dump, which any thread reads at any offset.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use sqluice_core::error::{Error, Place, Result};
use sqluice_platform::positioned::Positioned;

use crate::input::InputFile;

/// The file of a dump. Offsets count from the start of the dump.
#[derive(Debug)]
pub struct DumpFile {
    file: Arc<File>,
    /// The offset of the dump in the file.
    start: u64,
    /// The number of bytes of the dump.
    bytes: u64,
    /// The name for messages.
    name: PathBuf,
}

impl DumpFile {
    /// Takes the file of an input, which is a local file that is not compressed.
    ///
    /// # Errors
    /// If the file can't be opened.
    pub fn new(input: &InputFile) -> Result<DumpFile> {
        let (file, start, bytes) = input.file()?;
        Ok(DumpFile { file, start, bytes, name: input.name().to_owned() })
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &std::path::Path {
        &self.name
    }

    /// Appends `bytes` bytes from `offset` on to `to`; fewer only at the end of the dump.
    ///
    /// # Errors
    /// If the file can't be read, or is shorter than it was.
    pub fn read(&self, offset: u64, bytes: usize, to: &mut Vec<u8>) -> Result<()> {
        let at = to.len();
        to.resize(at + self.bytes_at(offset, bytes), 0);
        self.fill(offset, &mut to[at..])
    }

    /// Reads `bytes` bytes from `offset` on in the place of what `to` has; fewer only at the end of the dump. Bytes that are overwritten
    /// need not be zeroed before.
    ///
    /// # Errors
    /// As [`DumpFile::read`].
    pub(super) fn read_over(&self, offset: u64, bytes: usize, to: &mut Vec<u8>) -> Result<()> {
        to.resize(self.bytes_at(offset, bytes), 0);
        self.fill(offset, to)
    }

    /// Returns the number of bytes from `offset` on, at most `most`.
    fn bytes_at(&self, offset: u64, most: usize) -> usize {
        self.bytes.saturating_sub(offset).min(most as u64) as usize
    }

    fn fill(&self, offset: u64, to: &mut [u8]) -> Result<()> {
        let read = self.file.read_exact_at(to, self.start + offset);
        read.map_err(|error| Error::read(&self.name, error))
    }

    /// Returns the text of `range`. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// As [`DumpFile::read`].
    pub fn text(&self, range: std::ops::Range<u64>) -> Result<String> {
        let mut text = Vec::new();
        self.read(range.start, (range.end - range.start) as usize, &mut text)?;
        Ok(String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Returns the number of the line at `offset`, counted from 1. Reads the dump up to there: only messages need lines.
    pub fn line(&self, offset: u64) -> Option<u64> {
        Lines::new(self).at(offset).ok()
    }

    /// Returns the place of `offset` for messages.
    pub fn place(&self, offset: u64) -> Place {
        Place { line: self.line(offset), byte: Some(offset), ..Place::file(&self.name) }
    }
}

/// A counter of lines, for offsets in ascending order.
#[derive(Debug)]
pub struct Lines<'f> {
    file: &'f DumpFile,
    offset: u64,
    line: u64,
    block: Vec<u8>,
}

impl Lines<'_> {
    /// Creates a counter at the start of a dump.
    pub fn new(file: &DumpFile) -> Lines<'_> {
        Lines { file, offset: 0, line: 1, block: Vec::new() }
    }

    /// Returns the number of the line at `offset`, counted from 1.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn at(&mut self, offset: u64) -> Result<u64> {
        const BLOCK_BYTES: u64 = 1 << 20;
        while self.offset < offset {
            self.block.clear();
            self.file.read(self.offset, (offset - self.offset).min(BLOCK_BYTES) as usize, &mut self.block)?;
            if self.block.is_empty() {
                break;
            }
            self.line += memchr::memchr_iter(b'\n', &self.block).count() as u64;
            self.offset += self.block.len() as u64;
        }
        Ok(self.line)
    }
}
