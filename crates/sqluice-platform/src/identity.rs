//! Identities of files: two names belong to the same file if their identities are equal.

use std::fs::File;
use std::io;
use std::path::Path;

pub use crate::answers::Identity;
use crate::system;

/// Returns the identity of the file at a path. Symbolic links are followed.
///
/// # Errors
/// When the file does not exist or can't be inspected.
pub fn of_path(path: &Path) -> io::Result<Identity> {
    system::identity::of_path(path)
}

/// Returns the identity of the file or symbolic link with this name. Links are not followed.
///
/// # Errors
/// When the file does not exist or can't be inspected.
pub fn of_link(path: &Path) -> io::Result<Identity> {
    system::identity::of_link(path)
}

/// Returns the identity of an open file.
///
/// # Errors
/// When the file can't be inspected.
pub fn of_file(file: &File) -> io::Result<Identity> {
    system::identity::of_file(file)
}

/// Returns the number of names (hard links) of an open file.
///
/// # Errors
/// When the file can't be inspected.
pub fn name_count(file: &File) -> io::Result<u64> {
    system::identity::name_count(file)
}

/// Returns `true` if both paths exist and lead to the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    of_path(one).is_ok_and(|one| of_path(other).is_ok_and(|other| one == other))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn two_names_of_a_file_have_one_identity() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "a").unwrap();
        fs::write(at("b"), "a").unwrap();
        fs::hard_link(at("a"), at("c")).unwrap();
        assert!(is_same(&at("a"), &at("c")) && !is_same(&at("a"), &at("b")) && !is_same(&at("x"), &at("x")));
        let open = File::open(at("a")).unwrap();
        assert_eq!(of_file(&open).unwrap(), of_path(&at("c")).unwrap());
        let count = |name: &str| name_count(&File::open(at(name)).unwrap()).unwrap();
        assert_eq!(["a", "b", "c"].map(count), [2, 1, 2]);
        fs::rename(at("b"), at("d")).unwrap();
        assert_eq!(of_link(&at("d")).unwrap(), of_path(&at("d")).unwrap());
        assert_ne!(of_file(&open).unwrap(), of_path(&at("d")).unwrap());
        assert!(of_path(folder.path()).is_ok(), "a folder has one, too");
    }
}
