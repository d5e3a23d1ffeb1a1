//! Reads the free disk space with `statvfs`, and the disk space of a file from its number of blocks.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[allow(clippy::unnecessary_cast, reason = "these have other types on other systems")]
pub(crate) fn free_bytes(folder: &Path) -> io::Result<Option<u64>> {
    let said = rustix::fs::statvfs(folder)?;
    // Some file systems do not count blocks and report zero.
    Ok((said.f_blocks > 0).then(|| (said.f_bavail as u64).saturating_mul(said.f_frsize as u64)))
}

#[allow(clippy::unnecessary_cast, reason = "these have other types on other systems")]
pub(crate) fn is_below(folder: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|said| {
        let without_inodes = said.f_files > 0 && said.f_favail == 0;
        without_inodes || (said.f_bavail as u64).saturating_mul(said.f_frsize as u64) < bytes
    })
}

pub(crate) fn taken_bytes(path: &Path) -> io::Result<u64> {
    Ok(path.symlink_metadata()?.blocks() * 512)
}
