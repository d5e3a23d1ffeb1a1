//! Temporary files that vanish when they are closed, however the process ends.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::system;

/// Creates a file in `folder` that has no name, or that the system removes when the file is closed. `unbuffered` turns direct I/O on, if
/// the file system supports it.
///
/// # Errors
/// When no file can be created in the folder.
pub fn unnamed(folder: &Path, unbuffered: bool) -> io::Result<File> {
    system::temporary::unnamed(folder, unbuffered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::positioned::Positioned;

    #[test]
    fn a_closed_temporary_file_leaves_nothing_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        for unbuffered in [false, true] {
            let (one, other) =
                (unnamed(folder.path(), unbuffered).unwrap(), unnamed(folder.path(), false).unwrap());
            other.write_all_at(b"abc", 5).unwrap();
            let mut read = [0; 3];
            other.read_exact_at(&mut read, 5).unwrap();
            assert_eq!(&read, b"abc");
            drop((one, other));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        assert!(unnamed(&folder.path().join("none"), false).is_err());
    }
}
