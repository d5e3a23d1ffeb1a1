//! Content that is on the disk.
//!
//! On macOS that takes `F_FULLFSYNC`: `fsync` alone leaves it in the memory of the disk.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::system;

/// Has a file on the disk, with its size and times.
///
/// # Errors
/// When the disk fails.
pub fn sync(file: &File) -> io::Result<()> {
    system::durable::sync(file)
}

/// Has the content of a file on the disk, with its size.
///
/// # Errors
/// When the disk fails.
pub fn sync_content(file: &File) -> io::Result<()> {
    system::durable::sync_content(file)
}

/// Has all files of the file system of `folder` on the disk, where the system has a call for that.
///
/// # Errors
/// When the disk fails.
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    system::durable::sync_file_system(folder)
}
