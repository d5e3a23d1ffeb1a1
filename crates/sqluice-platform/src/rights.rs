//! Owners and permissions of files.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::system;

/// The permissions of a new SQLite database, before the umask applies.
const OF_DATABASE: u32 = 0o644;

/// The permissions that most programs give a new file, before the umask applies.
const OF_FILE: u32 = 0o666;

/// The permissions of the group and of everyone.
const FOR_OTHERS: u32 = 0o077;

/// The permission of everyone to write.
const WRITE_FOR_EVERYONE: u32 = 0o002;

/// The owner and permissions of a file. On Windows the type is empty, because new files inherit the rights of their folder.
#[derive(Clone, Debug)]
pub struct Rights(system::rights::Rights);

impl Rights {
    /// Returns the rights of a file.
    pub fn of(metadata: &Metadata) -> Rights {
        Rights(system::rights::Rights::of(metadata))
    }

    /// Returns the rights that SQLite gives a new database.
    pub fn of_new_database() -> Rights {
        Rights(system::rights::Rights::of_new(OF_DATABASE, system::tree::umask()))
    }

    /// Returns the rights that most programs give a new file.
    pub fn of_new_file() -> Rights {
        Rights(system::rights::Rights::of_new(OF_FILE, system::tree::umask()))
    }

    /// Returns `true` if the file's group or everyone may read, write or run the file. On Windows the answer is unknown, and `false`.
    pub fn let_others_in(&self) -> bool {
        self.0.has_any(FOR_OTHERS)
    }

    /// Returns `true` if everyone may write to the file. On Windows the answer is unknown, and `false`.
    pub fn let_everyone_write(&self) -> bool {
        self.0.has_any(WRITE_FOR_EVERYONE)
    }

    /// Gives the rights to another file, including the owner if the process may change it.
    ///
    /// # Errors
    /// When the permissions can't be set.
    pub fn give(&self, to: &File) -> io::Result<()> {
        self.0.give(to)
    }
}

/// Checks that the process may write to a file, or create files in a folder. On Windows, only the read-only attribute of files is checked.
///
/// # Errors
/// When the process may not write.
pub fn check_write(path: &Path) -> io::Result<()> {
    system::rights::check_write(path)
}

/// Sets options so that only the owner of a new file may read and write it.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    system::rights::private(options)
}

/// Returns `true` if anyone other than this user and root may open the file at `path`: another owner, a group, or everyone, if the folders
/// above the file let them in. On Windows the answer is unknown, and `false`.
///
/// # Errors
/// When the file or a folder can't be inspected.
pub fn may_others_open(path: &Path) -> io::Result<bool> {
    system::rights::may_others_open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn others_may_open_a_file_only_if_its_mode_and_all_folders_above_permit_it() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let file = inner.join("x.db");
        fs::write(&file, "").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for (mode, folder, above, expected) in [
            (0o600, 0o755, 0o755, false),
            (0o644, 0o755, 0o755, true),
            (0o602, 0o701, 0o711, true),
            (0o644, 0o700, 0o755, false),
            (0o644, 0o755, 0o700, false),
            (0o644, 0o644, 0o755, false),
        ] {
            set(&file, mode);
            set(&inner, folder);
            set(outer.path(), above);
            // Without the right to enter the folder, only root can inspect the file. All other users get an error.
            match may_others_open(&file) {
                Ok(found) => assert_eq!(found, expected, "{mode:o} {folder:o} {above:o}"),
                Err(error) => assert_eq!((error.kind(), folder), (io::ErrorKind::PermissionDenied, 0o644)),
            }
        }
        set(outer.path(), 0o755);
        set(&inner, 0o755);
        set(&file, 0o600);
        if std::os::unix::fs::chown(&file, Some(65534), None).is_ok() {
            assert!(may_others_open(&file).unwrap(), "its owner is somebody else");
        }
    }

    #[test]
    fn a_private_file_gets_the_rights_of_a_new_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let file = private(OpenOptions::new().write(true).create_new(true)).open(&path).unwrap();
        assert_eq!(mode(), 0o600);
        Rights::of_new_database().give(&file).unwrap();
        let Some(umask) = system::tree::umask() else { return };
        assert_eq!(mode(), 0o644 & !umask);
        Rights::of_new_file().give(&file).unwrap();
        assert_eq!(mode(), 0o666 & !umask);
    }
}
