//! A file of any content that is written beside its name and gets it when it is whole.
//!
//! Pipes and devices exist already, and are written to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result, Setting, message};

use super::place::{TargetPath, place};
use super::{explained, leftover, rename_to_new, sync_folder};

/// A file that gets its name when it is whole. Dropped before that, it leaves nothing behind.
#[derive(Debug)]
pub struct WholeFile {
    /// As the user named it; for messages.
    name: PathBuf,
    file: File,
    unnamed: Option<Unnamed>,
    overwrite: bool,
    bytes: u64,
}

#[derive(Debug)]
struct Unnamed {
    temporary: PathBuf,
    place: TargetPath,
    folder: File,
}

impl WholeFile {
    /// Begins the file.
    ///
    /// # Errors
    /// When its name is taken and may not be taken over, or its folder can't be written to.
    pub fn create(path: &Path, overwrite: bool) -> Result<WholeFile> {
        let failed = |error: io::Error| cannot("create", path, error);
        if path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(WholeFile { name: path.to_owned(), file, unnamed: None, overwrite, bytes: 0 });
        }
        let place = place(path)?;
        WholeFile::refuse(path, overwrite)?;
        leftover::remove_stale(&place.folder, &place.file_name);
        let folder = File::open(&place.folder).map_err(failed)?;
        let (file, temporary) = leftover::create(&place.folder, &place.file_name).map_err(failed)?;
        let unnamed = Some(Unnamed { temporary, place, folder });
        Ok(WholeFile { name: path.to_owned(), file, unnamed, overwrite, bytes: 0 })
    }

    /// Refuses a name that is taken, unless it may be taken over.
    ///
    /// # Errors
    /// When it is.
    pub fn refuse(path: &Path, overwrite: bool) -> Result<()> {
        match path.metadata() {
            Ok(about) if about.is_dir() => Err(Error::target(format!("{} is a folder", path.display()))
                .about(path)
                .hint("name a file in it")),
            Ok(about) if about.is_file() && !overwrite => Err(exists(path)),
            _ => Ok(()),
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When they can't be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| cannot("write", &self.name, error))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Bytes that were written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes it durable, and gives it its name.
    ///
    /// # Errors
    /// When it can't be: nothing is left behind, then.
    pub fn finish(mut self) -> Result<()> {
        let failed = |what, error| cannot(what, &self.name, error);
        let Some(Unnamed { temporary, place, folder }) = &self.unnamed else { return Ok(()) };
        self.file.sync_all().map_err(|error| failed("write", error))?;
        let renamed = match self.overwrite {
            true => fs::rename(temporary, place.path()),
            false => rename_to_new(temporary, &place.path()),
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.name),
            _ => failed("give its name to", error),
        })?;
        let synced = sync_folder(folder).map_err(|error| failed("make durable the name of", error));
        self.unnamed = None;
        synced
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(Unnamed { temporary, .. }) = &self.unnamed {
            let _ = fs::remove_file(temporary);
        }
    }
}

fn cannot(what: &str, name: &Path, error: io::Error) -> Error {
    let failure = Error::target(format!("cannot {what} {}", name.display())).about(name);
    match (error.kind(), name.parent()) {
        (io::ErrorKind::NotFound, Some(folder)) => {
            failure.because(error).hint(format!("make its folder first: mkdir -p {}", folder.display()))
        }
        _ => explained(failure, error),
    }
}

fn exists(name: &Path) -> Error {
    Error::target(format!("{} already exists", name.display()))
        .about(name)
        .hint(message!["name another file, or replace this one: ", Setting::Overwrite])
}
