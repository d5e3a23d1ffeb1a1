//! The name that a database is to have: which file is meant, what exists under it, and whether the disk has room.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;

use crate::options::WriteOptions;

use super::place::{TargetPath, place};
use super::replace::{Old, WaitOptions};
use super::{Destination, Replaced, Replacement, explained, free_space};

/// A database file that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// As the user named it.
    pub path: &'a Path,
    /// Whether a database that has this name is replaced.
    pub replaces: bool,
    /// Its rough size, if it can be estimated.
    pub estimated_bytes: Option<u64>,
    /// The file beside it in which other processes have written pages, if any: it becomes the database.
    pub continues: Option<&'a Path>,
    /// Where it is made, if not in a file.
    pub destination: Option<&'a Arc<dyn Destination>>,
    /// Bytes of memory of the run.
    pub memory_bytes: u64,
    /// The time to wait for processes that use a database that is replaced.
    pub busy_timeout: Duration,
    /// `true` if no process has such a database open except those that are seen.
    pub assume_unused: bool,
}

impl<'a> Wanted<'a> {
    /// The database at `path`, or at the destination of `options`.
    pub fn new(
        path: &'a Path,
        replaces: bool,
        estimated_bytes: Option<u64>,
        options: &'a WriteOptions,
    ) -> Wanted<'a> {
        let destination = options.destination.as_ref();
        Wanted {
            path,
            replaces,
            estimated_bytes,
            continues: None,
            destination,
            memory_bytes: options.memory_bytes,
            busy_timeout: options.busy_timeout,
            assume_unused: options.assume_unused,
        }
    }
}

impl Wanted<'_> {
    /// Refuses what [`NewFile::create`](super::NewFile::create) would refuse for an existing file or for want of room.
    /// Nothing is changed; so it is still unknown whether another process uses a database that is to be replaced.
    ///
    /// # Errors
    /// When something has this name that may not be replaced, a `-journal` or `-wal` exists without a database, or
    /// the disk has too little room.
    pub fn refuse(&self) -> Result<()> {
        if let Some(destination) = self.destination {
            return self.refuse_at_destination(&**destination).map(|_| ());
        }
        self.refuse_at(&place(self.path)?).map(|_| ())
    }

    /// What is lost with the database that is replaced; `None`: no such database exists. It is not changed, so changes that a crash has
    /// left in its journal or log are not read.
    ///
    /// # Errors
    /// As [`Wanted::refuse`].
    pub fn look_at_replaced(&self) -> Result<Option<Replaced>> {
        if let Some(destination) = self.destination {
            return self.refuse_at_destination(&**destination);
        }
        let place = place(self.path)?;
        Ok(self.refuse_at(&place)?.map(|_| Replaced::read(&place)))
    }

    /// The database that is replaced, after SQLite has recovered it as any reader would.
    ///
    /// # Errors
    /// As [`NewFile::create`](super::NewFile::create) for the database that is replaced: it may be in use.
    pub fn recover_replaced(&self, cancel: &Cancel) -> Result<Option<Replaced>> {
        if let Some(destination) = self.destination {
            return self.refuse_at_destination(&**destination);
        }
        let place = place(self.path)?;
        let Some(old) = self.refuse_at(&place)? else { return Ok(None) };
        old.recover(cancel)?;
        Ok(Some(Replaced::read(&place)))
    }

    /// Returns the method by which a database that has the name will be replaced; `None`: no database has the
    /// name. `page_bytes` is the size of the new pages, if that is known. This must be called before SQLite
    /// opens the database.
    ///
    /// # Errors
    /// As [`Wanted::refuse`]; when it can't be replaced by pages of that size.
    pub fn replacement(&self, page_bytes: Option<usize>) -> Result<Option<Replacement>> {
        if self.destination.is_some() {
            return Ok(None);
        }
        let Some(old) = self.refuse_at(&place(self.path)?)? else { return Ok(None) };
        page_bytes.map_or(Ok(()), |bytes| old.refuse_page_size(bytes))?;
        Ok(Some(old.replacement()))
    }

    /// Refuses like [`Wanted::refuse`]; returns the old database that is to be replaced, if any.
    pub(super) fn refuse_at(&self, place: &TargetPath) -> Result<Option<Old>> {
        let path = place.path();
        let old = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(
                    Error::target(format!("{} is a folder", self.path.display())).hint("name a file in it")
                );
            }
            Ok(_) if self.replaces => {
                let Wanted { busy_timeout, assume_unused, .. } = *self;
                Some(Old::find(self.path, path, WaitOptions { busy_timeout, assume_unused })?)
            }
            Ok(_) => return Err(exists(self.path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                place.refuse_siblings()?;
                None
            }
            Err(error) => {
                let failure =
                    Error::target(format!("cannot look at {}", self.path.display())).about(self.path);
                return Err(explained(failure, error));
            }
        };
        self.refuse_too_little(place, old.is_some())?;
        Ok(old)
    }

    /// Refuses a disk that lacks the room.
    pub(super) fn refuse_too_little(&self, place: &TargetPath, replaces: bool) -> Result<()> {
        let Some(bytes) = self.estimated_bytes else { return Ok(()) };
        let hint = match replaces {
            false => "free some space or choose another folder",
            true => "free some space or choose another folder: the old one stays until the new one is whole",
        };
        free_space::refuse_too_little(self.path, &place.folder, bytes, hint)
    }
}

/// The error for a name that is taken. The run saw none when it began: another process has created it since, and may need it.
pub(super) fn exists(target: &Path) -> Error {
    Error::target(format!("{} already exists", target.display()))
        .hint("another program made it meanwhile: move it away, or name another file")
}
