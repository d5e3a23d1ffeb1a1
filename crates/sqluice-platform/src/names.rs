//! Makes the names in a folder durable, and renames files without overwriting others.

use std::io;
use std::path::Path;

use crate::system;

/// An open folder. The names of its files can be made durable.
#[derive(Debug)]
pub struct Folder(system::names::Folder);

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// When the path does not exist, is not a folder, or may not be opened.
    pub fn open(path: &Path) -> io::Result<Folder> {
        system::names::Folder::open(path).map(Folder)
    }

    /// Makes the names in the folder durable. On Windows, renames already wait for the disk, so this does nothing.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn sync(&self) -> io::Result<()> {
        match self.0.sync() {
            // Some file systems have no fsync for folders: their names can't be made more durable.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        }
    }
}

/// Renames a file unless `to` exists, atomically if the file system supports it. If not, `from` may also keep its name.
///
/// # Errors
/// When `to` exists, or the disk fails.
pub fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    system::names::rename_to_new(from, to)
}

/// Exchanges the names of two files or folders atomically: `renameat2` with `RENAME_EXCHANGE` on Linux, `renameatx_np` with `RENAME_SWAP`
/// on macOS.
///
/// # Errors
/// When either file does not exist, they lie in different file systems, or the disk fails. The error is [`io::ErrorKind::Unsupported`] if
/// the system or the file system has no such call, as on Windows.
pub fn exchange(first: &Path, second: &Path) -> io::Result<()> {
    system::names::exchange(first, second)
}

/// Renames a file over another.
///
/// # Errors
/// When the disk fails; on Windows, when a process has `to` open.
pub fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    system::names::rename_over(from, to)
}

/// `true` if an open file can be replaced by a rename, while processes that have it open keep its content.
pub const OPEN_FILES_ARE_REPLACED: bool = system::names::OPEN_FILES_ARE_REPLACED;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rename_to_new_does_not_replace_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let open = Folder::open(folder.path()).unwrap();
        fs::write(at("a"), "a").unwrap();
        fs::write(at("b"), "b").unwrap();
        let taken = rename_to_new(&at("a"), &at("b")).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(at("b")).unwrap(), b"b");
        rename_to_new(&at("a"), &at("c")).unwrap();
        rename_over(&at("c"), &at("b")).unwrap();
        open.sync().unwrap();
        assert_eq!(fs::read(at("b")).unwrap(), b"a");
        assert!(!at("a").exists() && !at("c").exists());
    }

    #[test]
    fn folders_exchange_their_names_or_nothing_happens() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("x"), name).unwrap();
        }
        let names = || ["a", "b"].map(|name| fs::read_to_string(at(name).join("x")).unwrap());
        match exchange(&at("a"), &at("b")) {
            Ok(()) => assert_eq!(names(), ["b", "a"]),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
                assert_eq!(names(), ["a", "b"]);
            }
        }
        let failed = exchange(&at("a"), &at("none")).unwrap_err();
        assert!(matches!(failed.kind(), io::ErrorKind::NotFound | io::ErrorKind::Unsupported), "{failed}");
        assert!(at("a").exists() && at("b").exists());
    }

    #[test]
    fn opening_a_file_as_a_folder_fails_or_gives_a_folder_that_can_be_synced() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = Folder::open(file.path());
        // If a file can be opened as a folder, syncing it does no harm.
        assert!(opened.is_err() || opened.is_ok_and(|opened| opened.sync().is_ok()));
        assert!(Folder::open(Path::new("no/such/folder")).is_err());
    }
}
