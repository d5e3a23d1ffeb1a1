//! Creates temporary files without names, with `O_TMPFILE`. If the file system has no such files, a file is created with a name, which is
//! removed at once.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::unix::temporary::unlinked;

pub(crate) fn unnamed(folder: &Path, unbuffered: bool) -> io::Result<File> {
    for direct in [OFlags::DIRECT, OFlags::empty()] {
        if !direct.is_empty() && !unbuffered {
            continue;
        }
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC | direct;
        match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok(file.into()),
            // The kernel or file system has no direct I/O, or no files without names.
            Err(Errno::INVAL | Errno::NOTSUP | Errno::ISDIR | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    unlinked(folder, unbuffered)
}
