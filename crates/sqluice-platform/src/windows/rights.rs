//! Rights of files on Windows: a new file inherits the rights of its folder, and only the read-only attribute is checked.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

#[derive(Clone, Debug)]
pub(crate) struct Rights;

impl Rights {
    pub(crate) fn of(_: &Metadata) -> Rights {
        Rights
    }

    pub(crate) fn of_new(_: u32, _: Option<u32>) -> Rights {
        Rights
    }

    pub(crate) fn has_any(&self, _: u32) -> bool {
        false
    }

    pub(crate) fn give(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn check_write(path: &Path) -> io::Result<()> {
    let about = path.metadata()?;
    // The read-only attribute marks a folder as special, but does not prevent writes.
    match about.is_file() && about.permissions().readonly() {
        true => Err(io::ErrorKind::PermissionDenied.into()),
        false => Ok(()),
    }
}

pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(crate) fn may_others_open(_: &Path) -> io::Result<bool> {
    Ok(false)
}
