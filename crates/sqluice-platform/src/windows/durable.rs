//! Makes writes durable, with `FlushFileBuffers`.

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

pub(crate) fn sync_content(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Does nothing: only administrators may flush an entire volume.
pub(crate) fn sync_file_system(_: &Path) -> io::Result<()> {
    Ok(())
}
