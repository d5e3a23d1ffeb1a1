//! Renames that wait for the disk, so that folders need not be synced.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_LIST_DIRECTORY, MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH,
    MoveFileExW,
};

use super::errors::unless_zero;
use super::paths::wide;

#[derive(Debug)]
pub(crate) struct Folder;

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let mut options = OpenOptions::new();
        let opened =
            options.access_mode(FILE_LIST_DIRECTORY).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)?;
        match opened.metadata()?.is_dir() {
            true => Ok(Folder),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) const OPEN_FILES_ARE_REPLACED: bool = false;

pub(crate) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    rename(from, to, MOVEFILE_WRITE_THROUGH)
}

pub(crate) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    match rename(from, to, MOVEFILE_WRITE_THROUGH | MOVEFILE_REPLACE_EXISTING) {
        // If this process still reads the file, `MoveFileExW` fails, but the rename of newer systems, which does not wait for the disk,
        // succeeds.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::rename(from, to)?;
            OpenOptions::new().write(true).open(to)?.sync_all()
        }
        renamed => renamed,
    }
}

fn rename(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: both names end with a NUL.
    #[allow(unsafe_code, reason = "no safe call exists")]
    unless_zero(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), flags) })
}
