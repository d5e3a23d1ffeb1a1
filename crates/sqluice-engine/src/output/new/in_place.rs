//! A database that is read, and then replaced by a new database with its content. No other process uses it from the first read to the
//! replacement.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;

use crate::output::Replacement;
use crate::output::replace::{Locked, NewContent, Old};
use crate::output::{Target, TargetPath};

/// A database that only this process uses. While this value exists, no other descriptor of the file may be closed, as this would drop the
/// locks.
#[derive(Debug)]
pub struct Exclusive {
    path: TargetPath,
    locked: Locked,
}

impl Exclusive {
    /// Locks the database at `target` exclusively for this process. Waits for other processes up to the busy timeout of the target.
    ///
    /// # Errors
    /// If the file does not exist, is no database, may not be written, has several names, or is in use.
    pub fn take(target: &Target, cancel: &Cancel) -> Result<Exclusive> {
        let (name, path) = (target.name(), target.path()?);
        path.path().symlink_metadata().map_err(|error| Error::read(name, error))?;
        let locked = Old::find(name, path.path(), target.wait())?.lock_before(cancel)?;
        Ok(Exclusive { path: path.clone(), locked })
    }

    /// Returns the connection to the database, in an exclusive transaction.
    pub fn connection(&self) -> Arc<Mutex<Connection>> {
        Arc::clone(self.locked.connection())
    }

    /// Returns `true` if the database is in WAL mode.
    pub fn is_wal(&self) -> bool {
        self.locked.is_wal()
    }

    pub(super) fn path(&self) -> &TargetPath {
        &self.path
    }

    pub(super) fn old(&self) -> &Old {
        self.locked.old()
    }

    /// Replaces the database by the new file, and closes the connection to the old database.
    pub(super) fn give_way(&self, new: NewContent<'_>, cancel: &Cancel) -> Result<Replacement> {
        self.locked.give_way(new, cancel)
    }
}
