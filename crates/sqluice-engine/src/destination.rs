//! Where pages go: into a file, or to a place that is no file of this machine.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;

/// Takes finished pages in the order of their numbers; page 1 is the last.
pub trait Output: Send {
    /// Writes whole pages from byte `offset` of the file on. The slices follow each other in it.
    ///
    /// # Errors
    /// If they can't be written. Nothing may follow then but dropping the output, which leaves things as they were.
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()>;

    /// Makes what was written durable, and the target. Returns how a file that had the name was replaced.
    ///
    /// # Errors
    /// If it can't be: things are as they were, then.
    fn commit(self: Box<Self>) -> Result<Option<Replacement>>;

    /// The path of the file until it has its name, if any. When page 1 is written, SQLite may open it by this path and change
    /// it, and must close it before the commit; nothing is written by [`Output::write`] after that.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// How pages get to the disk, for the report.
    fn describe(&self) -> &'static str;
}

/// The method by which a new file replaces a database file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Replacement {
    /// The new file gets the name.
    Rename,
    /// SQLite writes the pages of the new file into the old one, in one transaction: processes that have the file open go on with
    /// the new content.
    Transaction {
        /// The reason: somebody may have the file open.
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

/// A place for a database that is no file of this machine.
pub trait Destination: fmt::Debug + Send + Sync {
    /// For messages: without credentials.
    fn name(&self) -> &Path;

    /// The size of what has the name; `None`: the name is free.
    fn old_bytes(&self) -> Option<u64>;

    /// The bytes that writing takes of the memory of a run.
    fn memory_bytes(&self, run_bytes: u64) -> u64;

    /// Refuses a database that it can't take.
    ///
    /// # Errors
    /// If it is too large.
    fn refuse(&self, new: &NewObject) -> Result<()>;

    /// Begins a database, which gets its name by [`Output::commit`].
    ///
    /// # Errors
    /// If it can't be begun.
    fn create(&self, new: &NewObject, cancel: &Cancel) -> Result<Box<dyn Output>>;
}

/// A database that is made at a [`Destination`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewObject {
    /// Bytes of memory for what waits to be written.
    pub memory_bytes: u64,
    /// Its rough size, if it can be estimated.
    pub estimated_bytes: Option<u64>,
    /// The bytes of the lock-byte page, which are never written.
    pub lock_page: Range<u64>,
    /// Whether a database of that name is replaced.
    pub replaces: bool,
}
