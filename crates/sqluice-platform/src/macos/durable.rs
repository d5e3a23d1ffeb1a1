//! Makes writes durable, with `F_FULLFSYNC`, which the standard library calls, or with `fsync` if the file system does not support it.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::io::Errno;

pub(crate) fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        // Network file systems do not support `F_FULLFSYNC`.
        Err(error) if has_no_full_sync(&error) => Ok(rustix::fs::fsync(file)?),
        synced => synced,
    }
}

pub(crate) fn sync_content(file: &File) -> io::Result<()> {
    sync(file)
}

pub(crate) fn sync_file_system(_: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

fn has_no_full_sync(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOTSUP | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS)
    )
}
