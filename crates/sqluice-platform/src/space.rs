//! Free disk space, and the disk space of files and folders.

use std::io;
use std::path::Path;

use crate::system;

/// Returns the number of bytes that this user may still use on the file system of `folder`, or `None` if the file system does not report
/// it.
///
/// # Errors
/// When the file system can't be inspected.
pub fn free_bytes(folder: &Path) -> io::Result<Option<u64>> {
    system::space::free_bytes(folder)
}

/// Returns `true` if the file system of `folder` has no room for a new file, or fewer than `bytes` free bytes; `false` if it can't be
/// inspected.
pub fn is_below(folder: &Path, bytes: u64) -> bool {
    system::space::is_below(folder, bytes)
}

/// Returns the disk space of a file or folder in bytes; on Windows, 0 for a folder.
///
/// # Errors
/// When the path does not exist or can't be inspected.
pub fn taken_bytes(path: &Path) -> io::Result<u64> {
    system::space::taken_bytes(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_a_number_for_a_folder_and_an_error_for_a_missing_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap().unwrap() > 0);
        assert!(is_below(folder.path(), u64::MAX) && !is_below(folder.path(), 0));
        let missing = folder.path().join("none");
        assert!(free_bytes(&missing).is_err() && !is_below(&missing, u64::MAX));
        let file = folder.path().join("x");
        std::fs::write(&file, vec![1; 100_000]).unwrap();
        assert!(taken_bytes(&file).unwrap() > 50_000);
    }
}
