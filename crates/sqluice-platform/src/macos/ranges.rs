//! Frees the disk space of parts of files, in whole blocks, with `F_PUNCHHOLE`.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

pub(crate) fn free(file: &File, offset: u64, bytes: u64) {
    let Ok(block) = file.metadata().map(|about| about.blksize().max(1)) else { return };
    let (first, end) = (offset.next_multiple_of(block), (offset + bytes) / block * block);
    if first >= end {
        return;
    }
    let (Ok(fp_offset), Ok(fp_length)) = (i64::try_from(first), i64::try_from(end - first)) else { return };
    let hole = libc::fpunchhole_t { fp_flags: 0, reserved: 0, fp_offset, fp_length };
    // SAFETY: the descriptor is open as long as `file`, and the call reads the structure that it is given.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let punched = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PUNCHHOLE, &raw const hole) };
    // If the file system does not support holes, the part keeps its disk space.
    let _ = punched;
}
