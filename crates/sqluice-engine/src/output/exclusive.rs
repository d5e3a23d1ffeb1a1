//! A database that is read and then replaced by what was made of it: no other process uses it from the first page that is read to the new name.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;

use super::Replacement;
use super::place::{TargetPath, place};
use super::replace::{Locked, NewContent, Old, WaitOptions};
use crate::options::WriteOptions;

/// A database that this process alone uses. While it exists, no other descriptor of the file may be closed: that would end it.
#[derive(Debug)]
pub struct Exclusive {
    place: TargetPath,
    locked: Locked,
}

impl Exclusive {
    /// Takes the database `name` for this process alone. Others are waited for, for the busy timeout of `options`.
    ///
    /// # Errors
    /// When it does not exist, is no database, has several names, or is in use.
    pub fn take(name: &Path, options: &WriteOptions, cancel: &Cancel) -> Result<Exclusive> {
        let place = place(name)?;
        let path = place.path();
        path.symlink_metadata().map_err(|error| Error::read(name, error))?;
        let locked = Old::find(name, path, WaitOptions::of(options))?.lock_before(cancel)?;
        Ok(Exclusive { place, locked })
    }

    /// Its connection, in an exclusive transaction.
    pub fn connection(&self) -> Arc<Mutex<Connection>> {
        Arc::clone(self.locked.connection())
    }

    /// Returns true if the database is in WAL mode.
    pub fn is_wal(&self) -> bool {
        self.locked.is_wal()
    }

    pub(super) fn place(&self) -> &TargetPath {
        &self.place
    }

    pub(super) fn old(&self) -> &Old {
        self.locked.old()
    }

    /// Replaces it by the new file. Its connection is closed then.
    pub(super) fn give_way(&self, new: NewContent<'_>, cancel: &Cancel) -> Result<Replacement> {
        self.locked.give_way(new, cancel)
    }
}
