//! Parts of files that are given back to the disk.

use std::fs::File;

use crate::system;

/// Frees the disk space of a part of a file, which then reads as zeros. Where the file system can't, or the part holds no whole block, it
/// may stay as it is.
pub fn free(file: &File, offset: u64, bytes: u64) {
    system::ranges::free(file, offset, bytes);
}
