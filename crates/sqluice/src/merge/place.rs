//! A place of a merge: pages of its file, to which a process that has one of the sources copies the leaves of a table.
//!
//! Places depend on the sources alone, and so do the bytes that go there: it does no harm to write to a place twice.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Cancel, Context};
use sqluice_engine::attempts::copied_leaves::{LeavesJob, PageRange};
use sqluice_engine::options::WriteOptions;
use sqluice_reader::snapshot::ReadOptions;
use sqluice_reader::{Snapshot, StoredObject};

/// Where the leaves of a source go, and what overflows from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Place {
    /// The database that has the rows.
    pub source: PathBuf,
    /// Their table.
    pub table: String,
    /// The file of the merge until it has its name.
    pub file: PathBuf,
    /// The first page of the place.
    pub first_page: u32,
    /// Pages of the place. If it includes the lock-byte page, that is not counted.
    pub pages: u32,
}

/// A place to which the leaves have been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The place.
    pub place: Place,
    /// The list of the leaves, which [`Place::write`] has made.
    pub list: PathBuf,
}

impl Place {
    /// Counts the pages that the rows of a table take in the result.
    ///
    /// # Errors
    /// If the source can't be read or is damaged, or has no such table with rows.
    pub fn count(source: &Path, table: &str, options: &WriteOptions, context: &Context<'_>) -> Result<u32> {
        with_table(source, table, options, &context.cancel, |job| job.count(context))
    }

    /// Copies the leaves to their place, and makes the list of them, a new file. Any process that sees the source and the file can do
    /// it, more than once, each time with another list.
    ///
    /// # Errors
    /// If the source can't be read, is damaged or has changed, or the file can't be written: also because the merge has been completed or
    /// given up meanwhile.
    pub fn write(&self, list: &Path, options: &WriteOptions, context: &Context<'_>) -> Result<()> {
        let Place { file, first_page, pages, .. } = self;
        let run = PageRange { file, first_page: *first_page, pages: *pages, list };
        with_table(&self.source, &self.table, options, &context.cancel, |job| job.write(&run, context))
    }
}

fn with_table<T>(
    source: &Path,
    table: &str,
    options: &WriteOptions,
    cancel: &Cancel,
    work: impl FnOnce(&LeavesJob<'_>) -> Result<T>,
) -> Result<T> {
    let mut read = ReadOptions::new();
    read.busy_timeout = options.busy_timeout;
    read.pending_byte = Some(options.tuning.pending_byte);
    let snapshot = Snapshot::begin(source, &read, cancel)?;
    let objects = snapshot.objects(cancel)?;
    let is_meant = |object: &&StoredObject| {
        object.kind == "table" && object.tree.is_some() && object.name.eq_ignore_ascii_case(table)
    };
    let found = objects.iter().find(is_meant);
    let found = found.ok_or_else(|| Error::input(format!("{} has no table {table}", source.display())))?;
    work(&LeavesJob { snapshot: &snapshot, table: found, options })
}
