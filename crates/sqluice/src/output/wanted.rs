//! The name that a database is to have: which file is meant, what lies there, and whether there is room.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Replaced, explained, free_space, replace};
use crate::error::{Error, Result};

/// A database file that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// As the user named it.
    pub path: &'a Path,
    /// Whether a database that has this name is replaced.
    pub replaces: bool,
    /// Its size, roughly, where it can be told.
    pub estimated_bytes: Option<u64>,
}

/// Where a file will be: symbolic links followed.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) file_name: OsString,
}

impl Wanted<'_> {
    /// Refuses what [`NewFile::create`](super::NewFile::create) would refuse for what lies there or for want of room.
    /// Nothing is changed; so whether somebody uses a database that is to be replaced remains to be seen.
    ///
    /// # Errors
    /// When something has this name that may not be replaced, a `-journal` or `-wal` lies where no database is, or there
    /// is too little room.
    pub fn refuse(&self) -> Result<()> {
        self.refuse_at(&place(self.path)?).map(|_| ())
    }

    /// What is lost with the database that is replaced; `None`: no such database exists. It is not changed, so changes that a crash has
    /// left in its journal or log are not read.
    ///
    /// # Errors
    /// As [`Wanted::refuse`].
    pub fn look_at_replaced(&self) -> Result<Option<Replaced>> {
        let place = place(self.path)?;
        Ok(self.refuse_at(&place)?.map(|_| Replaced::read(&place)))
    }

    /// The same, after SQLite has recovered the database as any reader would.
    ///
    /// # Errors
    /// As [`NewFile::create`](super::NewFile::create) for the database that is replaced: it may be in use.
    pub fn recover_replaced(&self) -> Result<Option<Replaced>> {
        let place = place(self.path)?;
        let Some(old) = self.refuse_at(&place)? else { return Ok(None) };
        old.recover()?;
        Ok(Some(Replaced::read(&place)))
    }

    /// Refuses, as above; tells the old database that is to be replaced, if there is one.
    pub(super) fn refuse_at(&self, place: &Place) -> Result<Option<replace::Old>> {
        let path = place.path();
        let old = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(
                    Error::target(format!("{} is a folder", self.path.display())).hint("name a file in it")
                );
            }
            Ok(metadata) if self.replaces => Some(replace::Old::find(self.path, path, &metadata)?),
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
        if let Some(bytes) = self.estimated_bytes {
            let hint = match old {
                None => "free some space or choose another folder",
                Some(_) => {
                    "free some space or choose another folder: the old one stays until the new one is whole"
                }
            };
            free_space::refuse_too_little(self.path, &place.folder, bytes, hint)?;
        }
        Ok(old)
    }
}

impl Place {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.file_name)
    }

    /// A file beside it.
    pub(crate) fn sibling(&self, suffix: &str) -> PathBuf {
        let mut name = self.file_name.clone();
        name.push(suffix);
        self.folder.join(name)
    }

    /// Refuses a place beside which SQLite would find something to roll into a new file.
    pub(super) fn refuse_siblings(&self) -> Result<()> {
        for suffix in ["-journal", "-wal"] {
            let sibling = self.sibling(suffix);
            if fs::metadata(&sibling).is_ok_and(|metadata| metadata.len() > 0) {
                let message = format!("{} is left from another database", sibling.display());
                return Err(Error::target(message).hint(
                    "SQLite would roll it into the new file: if it is no longer needed, remove it or move it away",
                ));
            }
        }
        Ok(())
    }
}

/// The error for a name that is taken. Who began to make a new file saw none: somebody else has made it since, and may need it.
pub(super) fn exists(target: &Path) -> Error {
    Error::target(format!("{} already exists", target.display()))
        .hint("it was made while this ran: run again to add to it, or name another file")
}

/// The folder and the name of the file that is meant.
pub(crate) fn place(target: &Path) -> Result<Place> {
    let resolved = resolve(target)?;
    let ends_in_slash = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    let file_name = match resolved.file_name() {
        Some(file_name) if !ends_in_slash => file_name.to_owned(),
        _ => {
            let what = match target.as_os_str().is_empty() {
                true => "the name of the database is empty".to_owned(),
                false => format!("{} is a folder", target.display()),
            };
            return Err(Error::target(what).hint("name a file in a folder that exists"));
        }
    };
    let folder = match resolved.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    Ok(Place { folder, file_name })
}

/// Follows symbolic links to the file that is meant, which need not exist.
fn resolve(target: &Path) -> Result<PathBuf> {
    const LINKS_MAX: usize = 40;
    let mut path = target.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::target(format!("{}: too many symbolic links", target.display())))
}
