//! A place of a merge: a range of pages in the new file. A process that has one of the sources copies the leaves of a table there.
//!
//! Places and their content depend only on the sources, so a place can be written twice without harm.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Cancel, Context};
use sqluice_engine::attempts::copied_leaves::{LeavesJob, PageRange};
use sqluice_engine::options::WriteOptions;
use sqluice_reader::snapshot::ReadOptions;
use sqluice_reader::{Snapshot, StoredObject};

/// The place of the leaves and overflow pages of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Place {
    /// The database that has the rows.
    pub source: PathBuf,
    /// The table of the rows.
    pub table: String,
    /// The file of the merge before it is renamed to the target.
    pub file: PathBuf,
    /// The first page of the place.
    pub first_page: u32,
    /// The number of pages of the place, without the lock-byte page.
    pub pages: u32,
}

/// A place whose leaves have been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The place.
    pub place: Place,
    /// The list of the leaves, which [`Place::write`] has written.
    pub list: PathBuf,
}

impl Place {
    /// Counts the leaves and overflow pages of a table's rows in the result.
    ///
    /// # Errors
    /// If the source can't be read or is damaged, or has no such table with rows.
    pub fn count(source: &Path, table: &str, options: &WriteOptions, context: &Context<'_>) -> Result<u32> {
        with_table(source, table, options, &context.cancel, |job| job.count(context))
    }

    /// Copies the leaves of the source to this place, and writes their list to the new file `list`. Any process that can open the source
    /// and the file can call this, also repeatedly, with another `list` each time.
    ///
    /// # Errors
    /// If the source can't be read, is damaged or has changed, or the file can't be written, for example because the merge has been
    /// completed or given up meanwhile.
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
