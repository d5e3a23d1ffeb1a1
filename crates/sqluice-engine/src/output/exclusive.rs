//! A database that is read and then replaced by what was made of it: no other process uses it from the first page that is read to the new name.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_platform::names::Folder;

use super::place::{TargetPath, place};
use super::replace::{Locked, Old};

/// A database that this process alone uses. While it exists, no other descriptor of the file may be closed: that would end it.
#[derive(Debug)]
pub struct Exclusive {
    place: TargetPath,
    old: Old,
    locked: Locked,
    /// Whether another file has its name now.
    given_way: AtomicBool,
}

impl Exclusive {
    /// Takes the database `name` for this process alone.
    ///
    /// # Errors
    /// When it does not exist, is no database, or is in use.
    pub fn take(name: &Path) -> Result<Exclusive> {
        let place = place(name)?;
        let path = place.path();
        let metadata = fs::symlink_metadata(&path).map_err(|error| Error::read(name, error))?;
        let old = Old::find(name, path, &metadata)?;
        old.recover()?;
        let locked = old.lock()?.ok_or_else(|| Error::target(format!("{} is gone", name.display())))?;
        Ok(Exclusive { place, old, locked, given_way: AtomicBool::new(false) })
    }

    /// Its connection, in an exclusive transaction.
    pub fn connection(&self) -> Arc<Mutex<Connection>> {
        Arc::clone(self.locked.connection())
    }

    /// Whether it was in WAL mode.
    pub fn was_wal(&self) -> bool {
        self.locked.was_wal()
    }

    pub(super) fn place(&self) -> &TargetPath {
        &self.place
    }

    pub(super) fn old(&self) -> &Old {
        &self.old
    }

    /// Gives the file `temporary` its name.
    pub(super) fn give_way(&self, temporary: &Path, folder: &Folder) -> Result<()> {
        self.locked.give_way_later(temporary, &self.place, folder)?;
        self.given_way.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        // What has no name any more must do nothing that SQLite would do by name.
        if !self.given_way.load(Ordering::Relaxed) {
            self.locked.release();
        }
    }
}
