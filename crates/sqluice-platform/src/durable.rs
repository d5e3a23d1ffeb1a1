//! Functions that write content durably to the disk.
//!
//! On macOS, this requires `F_FULLFSYNC`: `fsync` alone may leave content in the cache of the disk.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::system;

/// Writes the content of an open file to the disk, with its size and times.
///
/// # Errors
/// When the disk fails.
pub fn sync(file: &File) -> io::Result<()> {
    system::durable::sync(file)
}

/// Writes the content of an open file to the disk, with its size. The times of the file may be written later.
///
/// # Errors
/// When the disk fails.
pub fn sync_content(file: &File) -> io::Result<()> {
    system::durable::sync_content(file)
}

/// Writes all files of the file system of `folder` to the disk, if the system has a call for this.
///
/// # Errors
/// When the disk fails.
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    system::durable::sync_file_system(folder)
}
