//! The files of a dump, which threads read at any offset.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqluice_core::error::{Error, Place, Result};
use sqluice_platform::positioned::Positioned;

use crate::input::InputFile;

/// The files of a dump, read as a single text. Each file begins on a new line. Offsets count from the start of the first file.
#[derive(Debug)]
pub struct DumpFile {
    parts: Vec<Part>,
    /// The number of bytes of the text.
    bytes: u64,
}

/// A file of a dump.
#[derive(Debug)]
struct Part {
    /// The offset of the file in the whole text.
    at: u64,
    content: Content,
    /// The offset of the SQL in the file; not 0 for a member of an archive.
    start: u64,
    /// The number of bytes of the SQL.
    bytes: u64,
    /// The name for messages.
    name: PathBuf,
}

/// The bytes of a part.
#[derive(Debug)]
enum Content {
    File(Arc<File>),
    /// A text in memory instead of a file.
    Text(Vec<u8>),
}

impl DumpFile {
    /// Creates a dump from a text in memory. `name` is its name in messages.
    pub fn of_text(text: String, name: PathBuf) -> DumpFile {
        let bytes = text.len() as u64;
        let content = Content::Text(text.into_bytes());
        DumpFile { parts: vec![Part { at: 0, content, start: 0, bytes, name }], bytes }
    }

    /// Creates a dump from inputs that are uncompressed local files. A LF is added between two files.
    ///
    /// # Errors
    /// If no input is given, or a file can't be opened.
    pub fn new(inputs: &[InputFile]) -> Result<DumpFile> {
        let mut parts = Vec::with_capacity(inputs.len());
        let mut at = 0;
        for input in inputs {
            let (file, start, bytes) = input.file()?;
            parts.push(Part {
                at,
                content: Content::File(file),
                start,
                bytes,
                name: input.name().to_owned(),
            });
            at += bytes + 1;
        }
        if parts.is_empty() {
            return Err(Error::usage("a dump needs at least one file"));
        }
        Ok(DumpFile { parts, bytes: at - 1 })
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the name of the first file for messages.
    pub fn name(&self) -> &Path {
        &self.parts[0].name
    }

    /// Returns the name of the file at `offset` for messages.
    pub fn name_at(&self, offset: u64) -> &Path {
        &self.part_at(offset).name
    }

    /// Returns the range of each file in the whole text.
    pub fn files(&self) -> impl Iterator<Item = Range<u64>> {
        self.parts.iter().map(|part| part.at..part.at + part.bytes)
    }

    /// Returns the offset of a place in the whole text; `None` if the place is in no file or has no byte offset.
    pub fn offset_of(&self, place: &Place) -> Option<u64> {
        let part = self.parts.iter().find(|part| part.name == place.file)?;
        Some(part.at + place.byte?)
    }

    /// Returns the place of `offset` without its line number, which would take reading the file up to there.
    pub fn place_without_line(&self, offset: u64) -> Place {
        let part = self.part_at(offset);
        Place { byte: Some(offset - part.at), ..Place::file(&part.name) }
    }

    fn part_at(&self, offset: u64) -> &Part {
        let next = self.parts.partition_point(|part| part.at <= offset);
        &self.parts[next - 1]
    }

    /// Appends `bytes` bytes from `offset` on to `to`; fewer only at the end of the dump.
    ///
    /// # Errors
    /// If the file can't be read, or has become shorter since it was opened.
    pub fn read(&self, offset: u64, bytes: usize, to: &mut Vec<u8>) -> Result<()> {
        let at = to.len();
        to.resize(at + self.bytes_at(offset, bytes), 0);
        self.fill(offset, &mut to[at..])
    }

    /// Reads like [`DumpFile::read`], but replaces the content of `to`. The old bytes in `to` are overwritten without being zeroed first.
    ///
    /// # Errors
    /// As [`DumpFile::read`].
    pub(super) fn read_over(&self, offset: u64, bytes: usize, to: &mut Vec<u8>) -> Result<()> {
        to.resize(self.bytes_at(offset, bytes), 0);
        self.fill(offset, to)
    }

    /// Returns the number of bytes from `offset` to the end of the dump, at most `most`.
    fn bytes_at(&self, offset: u64, most: usize) -> usize {
        self.bytes.saturating_sub(offset).min(most as u64) as usize
    }

    fn fill(&self, mut offset: u64, mut to: &mut [u8]) -> Result<()> {
        while !to.is_empty() {
            let part = self.part_at(offset);
            let left = part.at + part.bytes - offset;
            let bytes = to.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (now, rest) = to.split_at_mut(bytes);
            let at = part.start + offset - part.at;
            match &part.content {
                Content::File(file) => {
                    file.read_exact_at(now, at).map_err(|error| Error::read(&part.name, error))?;
                }
                Content::Text(text) => now.copy_from_slice(&text[at as usize..at as usize + bytes]),
            }
            (offset, to) = (offset + bytes as u64, rest);
            if let [lf, rest @ ..] = to {
                *lf = b'\n';
                (offset, to) = (offset + 1, rest);
            }
        }
        Ok(())
    }

    /// Returns the text of `range`. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// As [`DumpFile::read`].
    pub fn text(&self, range: Range<u64>) -> Result<String> {
        let mut text = Vec::new();
        self.read(range.start, (range.end - range.start) as usize, &mut text)?;
        Ok(String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Returns the line number at `offset` in its file, counted from 1. Reads the file up to there, so this is for messages only.
    pub fn line(&self, offset: u64) -> Option<u64> {
        Lines::new(self).at(offset).ok()
    }

    /// Returns the place of `offset` for messages.
    pub fn place(&self, offset: u64) -> Place {
        Place { line: self.line(offset), ..self.place_without_line(offset) }
    }
}

/// Returns line numbers for ascending offsets, and reads each file only once.
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

    /// Returns the number of the line at `offset` in its file, counted from 1.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn at(&mut self, offset: u64) -> Result<u64> {
        const BLOCK_BYTES: u64 = 1 << 20;
        let start = self.file.part_at(offset).at;
        if start > self.offset {
            (self.offset, self.line) = (start, 1);
        }
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
