//! The parts of a workbook that is a ZIP file, each as a stream.
//!
//! The archive lists them. Their names have no case, and may begin with a slash.

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

/// A ZIP file.
pub(super) struct Package {
    archive: Archive,
    /// The indexes of the parts, by their names in lower case.
    parts: HashMap<String, usize>,
}

/// The bytes of a file, from `start` on.
#[derive(Clone)]
pub(super) struct Bytes {
    pub(super) file: Arc<File>,
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) name: PathBuf,
}

impl Bytes {
    /// Fills `out` with the bytes at `at`.
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

/// Returns the error for a workbook with a password.
pub(super) fn encrypted() -> Error {
    let error = Error::input("the workbook is encrypted, with a password to open it");
    error.hint("save a copy without the password in a spreadsheet program, and load that")
}

impl Package {
    /// Lists the parts whose names, in lower case, `is_wanted` accepts.
    pub(super) fn open(source: Bytes, limits: &Limits, is_wanted: impl Fn(&str) -> bool) -> Result<Package> {
        let Bytes { file, start, bytes, name } = source;
        let archive =
            Archive::of_document((file, start, bytes), &name, limits.held_bytes_max, &limits.cancel)?;
        let mut parts = HashMap::new();
        for (index, member) in archive.members().iter().enumerate() {
            let name = member.path.to_lowercase().replace('\\', "/");
            let name = name.trim_start_matches('/');
            // Readers differ in which of two parts of one name they take, so none is right.
            if is_wanted(name) && parts.insert(name.to_owned(), index).is_some() {
                return Err(damaged(format!("it has two parts that are called {name}")));
            }
        }
        Ok(Package { archive, parts })
    }

    /// Returns `true` if the file has this part. Names are in lower case.
    pub(super) fn has(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    /// Returns the number of bytes that a part has in the file, as the directory says.
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

    /// Returns the name of the file in messages.
    pub(super) fn file(&self) -> &Path {
        self.archive.name()
    }
}

/// The bytes of a part, inflated.
pub(super) struct PartReader {
    data: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
    inflated: u64,
}

impl PartReader {
    /// Returns the number of bytes of the file that were read.
    pub(super) fn compressed_bytes(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Returns the number of inflated bytes so far.
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
