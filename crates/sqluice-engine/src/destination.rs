//! The traits of the places that pages are written to: an [`Output`] takes the pages of one database, and a [`Destination`] creates outputs
//! that are not local files, such as objects in an object store.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;

/// An output of finished pages. Page 1 comes last. All other pages come in the order of their numbers, except interior pages that a copy
/// puts before all leaves.
pub trait Output: Send {
    /// Writes whole pages from byte `offset` of the file on. The slices follow each other in the file.
    ///
    /// # Errors
    /// If the pages can't be written. The output must then be dropped, which leaves an existing target unchanged.
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()>;

    /// Makes the pages durable, and gives them the name of the target. Returns the method that replaced an existing file, if any.
    ///
    /// # Errors
    /// If the target can't be written. An existing target is then unchanged, unless only a step after its replacement has failed, such as
    /// the sync of the folder.
    fn commit(self: Box<Self>) -> Result<Option<Replacement>>;

    /// Returns the path of the file before it is renamed, if any. After page 1 is written, SQLite may open the file by this path and change
    /// it, and must close it before the commit. [`Output::write`] must not be called after that.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// Returns the kind of I/O that writes the pages, for the report.
    fn describe(&self) -> &'static str;
}

/// The method by which a new file replaces a database file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Replacement {
    /// The new file is renamed over the old file.
    Rename,
    /// SQLite writes the pages of the new file into the old file, in one transaction. Processes with the file open see the new content.
    Transaction {
        /// The reason: a process may have the file open.
        why: String,
    },
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replacement::Rename => f.write_str("by a rename"),
            Replacement::Transaction { why } => write!(f, "by one transaction, not by a rename: {why}"),
        }
    }
}

/// A place for a database that is not a local file.
pub trait Destination: fmt::Debug + Send + Sync {
    /// Returns the name for messages, without credentials.
    fn name(&self) -> &Path;

    /// Returns the size of the existing object, or `None` if the name is free.
    fn old_bytes(&self) -> Option<u64>;

    /// Returns the number of bytes of memory that writing to the destination needs, out of the `run_bytes` bytes that the whole run may
    /// use.
    fn memory_bytes(&self, run_bytes: u64) -> u64;

    /// Refuses a database that the destination can't store.
    ///
    /// # Errors
    /// If the database is too large.
    fn refuse(&self, new: &NewObject) -> Result<()>;

    /// Begins a database, which gets its name only by [`Output::commit`].
    ///
    /// # Errors
    /// If the upload can't begin.
    fn create(&self, new: &NewObject, cancel: &Cancel) -> Result<Box<dyn Output>>;
}

/// A new database at a [`Destination`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewObject {
    /// The number of bytes of memory for pages that are being written.
    pub memory_bytes: u64,
    /// The rough size of the database, if it can be estimated.
    pub estimated_bytes: Option<u64>,
    /// The byte range of the lock-byte page in the file: SQLite locks bytes in this page, and never writes it.
    pub lock_page: Range<u64>,
    /// `true` if an existing database of this name is replaced.
    pub replaces: bool,
}
