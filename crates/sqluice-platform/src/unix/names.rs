//! Renames that replace nothing, and folders that are synced.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::system::durable;

#[derive(Debug)]
pub(crate) struct Folder(File);

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        File::open(path).map(Folder)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        durable::sync(&self.0)
    }
}

pub(crate) const OPEN_FILES_ARE_REPLACED: bool = true;

pub(crate) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            // Creating a hard link also fails if the name exists. Once the link exists, the old name does no harm.
            fs::hard_link(from, to)?;
            let _ = fs::remove_file(from);
            Ok(())
        }
        other => Ok(other?),
    }
}

pub(crate) fn exchange(first: &Path, second: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, first, CWD, second, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        other => Ok(other?),
    }
}

pub(crate) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}
