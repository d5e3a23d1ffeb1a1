//! The request for a new database at a target. Before anything is written, it checks that no file, journal or WAL is in the way (or that
//! the old database may be replaced), and that the disk has enough space.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;

use super::free_space;
use crate::output::replace::Old;
use crate::output::{Replaced, Replacement, Target, TargetPath, explained};

/// A requested new database at a target.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The target that the database is written to.
    pub target: Target,
    /// `true` if a database that has this name is replaced.
    pub replaces: bool,
    /// The rough size of the database, if it can be estimated.
    pub estimated_bytes: Option<u64>,
    /// The file beside the target in which other processes have written pages, if any: that file becomes the database.
    pub continues: Option<PathBuf>,
}

impl Wanted {
    /// Returns a new database at `target`.
    pub fn new(target: Target, replaces: bool) -> Wanted {
        Wanted { target, replaces, estimated_bytes: None, continues: None }
    }

    /// Returns the same request, but a database that already has the name is replaced.
    #[must_use]
    pub fn replacing(&self) -> Wanted {
        Wanted { replaces: true, ..self.clone() }
    }

    /// Refuses an existing file or a full disk that [`NewFile::create`](crate::output::NewFile::create) would refuse. Changes nothing, so
    /// it does not find out if another process uses a database that is to be replaced.
    ///
    /// # Errors
    /// If a file that may not be replaced has this name, a `-journal` or `-wal` exists without a database, or the disk has too little
    /// space.
    pub fn refuse(&self) -> Result<()> {
        if let Some(destination) = self.target.destination() {
            return self.refuse_at_destination(&**destination).map(|_| ());
        }
        self.refuse_at(self.target.path()?).map(|_| ())
    }

    /// Returns the content of the database to replace, or `None` if no database has the name. The database is not changed, so changes in
    /// the journal or WAL of a crash are not read. An object in an object store is not read: only its size is known.
    ///
    /// # Errors
    /// The errors of [`Wanted::refuse`].
    pub fn look_at_replaced(&self) -> Result<Option<Replaced>> {
        if let Some(destination) = self.target.destination() {
            return self.refuse_at_destination(&**destination);
        }
        let path = self.target.path()?;
        Ok(self.refuse_at(path)?.map(|_| Replaced::read(path)))
    }

    /// Returns the content of the database to replace, after SQLite has recovered the database as for any reader. Returns `None` if no
    /// database has the name. An object in an object store is not read: only its size is known.
    ///
    /// # Errors
    /// The errors of [`NewFile::create`](crate::output::NewFile::create) for the database that is replaced: it may be in use.
    pub fn recover_replaced(&self, cancel: &Cancel) -> Result<Option<Replaced>> {
        if let Some(destination) = self.target.destination() {
            return self.refuse_at_destination(&**destination);
        }
        let path = self.target.path()?;
        let Some(old) = self.refuse_at(path)? else { return Ok(None) };
        old.recover(cancel)?;
        Ok(Some(Replaced::read(path)))
    }

    /// Returns the method that will replace the database of this name, a rename or a transaction; `None` if no database has the name, or if
    /// the target is an object in an object store. `page_bytes` is the size of the new pages, if known. Must be called before SQLite opens
    /// the database: this function opens and closes the file, which would drop SQLite's locks.
    ///
    /// # Errors
    /// The errors of [`Wanted::refuse`], or if the database can't be replaced by pages of this size.
    pub fn replacement(&self, page_bytes: Option<usize>) -> Result<Option<Replacement>> {
        if self.target.destination().is_some() {
            return Ok(None);
        }
        let Some(old) = self.refuse_at(self.target.path()?)? else { return Ok(None) };
        page_bytes.map_or(Ok(()), |bytes| old.refuse_page_size(bytes))?;
        Ok(Some(old.replacement()))
    }

    /// Checks like [`Wanted::refuse`], and returns the old database that is to be replaced, if any.
    pub(in crate::output) fn refuse_at(&self, target: &TargetPath) -> Result<Option<Old>> {
        let (name, path) = (self.target.name(), target.path());
        let old = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(
                    Error::target(format!("{} is a folder", name.display())).hint("name a file in it")
                );
            }
            Ok(_) if self.replaces => Some(Old::find(name, path, self.target.wait())?),
            Ok(_) => return Err(exists(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                target.refuse_siblings()?;
                None
            }
            Err(error) => {
                let failure = Error::target(format!("cannot look at {}", name.display())).about(name);
                return Err(explained(failure, error));
            }
        };
        self.refuse_too_little(target, old.is_some())?;
        Ok(old)
    }

    /// Refuses a disk that has too little free space.
    pub(in crate::output) fn refuse_too_little(&self, target: &TargetPath, replaces: bool) -> Result<()> {
        let Some(bytes) = self.estimated_bytes else { return Ok(()) };
        let hint = match replaces {
            false => "free some space or choose another folder",
            true => "free some space or choose another folder: the old one stays until the new one is whole",
        };
        free_space::refuse_too_little(self.target.name(), &target.folder, bytes, hint)
    }
}

/// Returns the error for a name that is taken although it was free when the run began: another process has created the file since then, and
/// may need it.
pub(in crate::output) fn exists(target: &Path) -> Error {
    Error::target(format!("{} already exists", target.display()))
        .hint("another program made it meanwhile: move it away, or name another file")
}
