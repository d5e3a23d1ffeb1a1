//! Frees the disk space of parts of files, with `FALLOC_FL_PUNCH_HOLE`.

use std::fs::File;

use rustix::fs::FallocateFlags;

pub(crate) fn free(file: &File, offset: u64, bytes: u64) {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _ = rustix::fs::fallocate(file, flags, offset, bytes);
}
