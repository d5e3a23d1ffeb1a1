//! Makes writes durable, with `fsync`, `fdatasync` and `syncfs`.

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

pub(crate) fn sync_content(file: &File) -> io::Result<()> {
    file.sync_data()
}

pub(crate) fn sync_file_system(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}
