//! Frees the disk space of parts of files.

use std::fs::File;

use crate::system;

/// Frees the disk space of a part of a file, which then reads as zeros. The part may stay unchanged if the file system does not support
/// this, or if the part contains no whole block.
pub fn free(file: &File, offset: u64, bytes: u64) {
    system::ranges::free(file, offset, bytes);
}
