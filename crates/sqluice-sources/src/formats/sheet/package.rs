//! Reads the parts of a workbook that is a ZIP file, each as a stream.
//!
//! The names of parts are not case-sensitive, and may begin with a slash.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::{Error, Result};
use sqluice_platform::positioned::Positioned as _;

use super::limits::Limits;
use crate::input::archive::{Archive, Refusal};

/// A workbook that is a ZIP file.
pub(super) struct Package {
    archive: Archive,
    /// The index of each part in the archive, by its name in lower case.
    parts: HashMap<String, usize>,
}

/// An open file that contains a workbook, at the offset `start` and with a length of `bytes`.
#[derive(Clone)]
pub(super) struct Bytes {
    pub(super) file: Arc<File>,
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) name: PathBuf,
}

impl Bytes {
    /// Fills `out` with the bytes at the offset `at` of the workbook.
    pub(super) fn read(&self, at: u64, out: &mut [u8]) -> Result<()> {
        if at.checked_add(out.len() as u64).is_none_or(|end| end > self.bytes) {
            return Err(damaged("it names bytes beyond its end"));
        }
        self.file.read_exact_at(out, self.start + at).map_err(|error| Error::read(&self.name, error))
    }
}

/// Returns the error for a damaged file. The caller adds the place.
pub(super) fn damaged(why: impl Into<String>) -> Error {
    let error = Error::input("the workbook is damaged").because(why.into());
    error.hint("is it cut short, or still being written? A spreadsheet program may repair it")
}

/// Returns the error for a workbook that can only be opened with a password.
pub(super) fn encrypted() -> Error {
    let error = Error::input("the workbook is encrypted, with a password to open it");
    error.hint("save a copy without the password in a spreadsheet program, and load that")
}

impl Package {
    /// Lists the parts for which `is_wanted` returns `true`. Names are in lower case.
    pub(super) fn open(source: Bytes, limits: &Limits, is_wanted: impl Fn(&str) -> bool) -> Result<Package> {
        let Bytes { file, start, bytes, name } = source;
        let archive =
            Archive::of_document((file, start, bytes), &name, limits.held_bytes_max, &limits.cancel)?;
        let mut parts = HashMap::new();
        for (index, member) in archive.members().iter().enumerate() {
            let name = member.path.to_lowercase().replace('\\', "/");
            let name = name.trim_start_matches('/');
            // Programs differ in which of two parts with the same name they read, so neither is used.
            if is_wanted(name) && parts.insert(name.to_owned(), index).is_some() {
                return Err(damaged(format!("it has two parts that are called {name}")));
            }
        }
        Ok(Package { archive, parts })
    }

    /// Returns `true` if the workbook has this part. `name` is in lower case.
    pub(super) fn has(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    /// Returns the compressed size of a part, from the directory of the ZIP file.
    pub(super) fn bytes_of(&self, name: &str) -> Option<u64> {
        self.parts.get(name).map(|&index| self.archive.raw_bytes(index))
    }

    /// Opens a part as a stream.
    pub(super) fn part(&self, name: &str) -> Result<PartReader> {
        let &index = self.parts.get(name).ok_or_else(|| damaged(format!("it has no part {name}")))?;
        if self.archive.members()[index].refusal != Some(Refusal::Absolute)
            && let Some(error) = self.archive.refused(index)
        {
            return Err(error);
        }
        let bytes_read = Arc::new(AtomicU64::new(0));
        Ok(PartReader { data: self.archive.open_member(index, &bytes_read)?, bytes_read, inflated: 0 })
    }

    /// Returns the name of the file for messages.
    pub(super) fn file(&self) -> &Path {
        self.archive.name()
    }
}

/// A reader of a part that inflates its bytes.
pub(super) struct PartReader {
    data: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
    inflated: u64,
}

impl PartReader {
    /// Returns the number of compressed bytes that were read so far.
    pub(super) fn compressed_bytes(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Returns the number of inflated bytes that were read so far.
    pub(super) fn inflated_bytes(&self) -> u64 {
        self.inflated
    }
}

impl Read for PartReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.data.read(buffer)?;
        self.inflated += bytes as u64;
        Ok(bytes)
    }
}
