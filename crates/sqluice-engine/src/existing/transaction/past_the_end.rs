//! Writes pages past the end of a database. Other processes may read the database meanwhile: its header does not count these pages yet.

use std::io;
use std::path::Path;

use sqluice_core::error::{Error, Result};

use crate::existing::database_file::DatabaseFile;
use crate::output::{Direct, Output, Replacement, explained};

/// An output past the end of a file. A copy of the last page is kept: SQLite must write this page again itself, to count all pages
/// ([`Transaction::publish`](super::Transaction::publish)).
#[derive(Debug)]
pub(crate) struct PastTheEnd<'f> {
    file: &'f DatabaseFile,
    direct: Direct,
    /// The path as the user gave it, for messages.
    name: &'f Path,
    page_bytes: usize,
    last: Vec<u8>,
}

impl<'f> PastTheEnd<'f> {
    pub(super) fn new(file: &'f DatabaseFile, name: &'f Path, page_bytes: usize) -> PastTheEnd<'f> {
        PastTheEnd { file, direct: file.direct(page_bytes), name, page_bytes, last: Vec::new() }
    }

    /// Makes the written pages durable, and returns the last page, or no bytes if no page was written.
    ///
    /// # Errors
    /// If the disk can't be written.
    pub(in crate::existing) fn finish(mut self) -> Result<Vec<u8>> {
        self.file.sync().map_err(|error| cannot_write(self.name, error))?;
        Ok(std::mem::take(&mut self.last))
    }
}

impl Output for PastTheEnd<'_> {
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()> {
        if let Some(last) = pages.iter().rfind(|pages| !pages.is_empty()) {
            self.last.clear();
            self.last.extend_from_slice(&last[last.len() - self.page_bytes..]);
        }
        self.file.write(&mut self.direct, offset, pages).map_err(|error| cannot_write(self.name, error))
    }

    fn commit(self: Box<Self>) -> Result<Option<Replacement>> {
        self.finish().map(|_| None)
    }

    fn describe(&self) -> &'static str {
        self.direct.describe()
    }
}

/// Turns direct I/O off again, as later reads with this descriptor need not be aligned.
impl Drop for PastTheEnd<'_> {
    fn drop(&mut self) {
        self.file.end_direct(&mut self.direct);
    }
}

fn cannot_write(name: &Path, error: io::Error) -> Error {
    let failure = Error::target(format!("cannot write to {}", name.display())).about(name);
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            failure.because(error).hint("free some space; the database is as it was")
        }
        _ => explained(failure, error),
    }
}
