//! Paths as bytes, and bytes as paths.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf, is_separator};

use crate::system;

/// The bytes of a name: on Windows UTF-8, with `/` between components; on other systems those of the file system.
pub fn bytes(path: &OsStr) -> Cow<'_, [u8]> {
    system::paths::bytes(path)
}

/// The path that bytes name; on Windows, what is not UTF-8 is replaced.
pub fn from_bytes(bytes: &[u8]) -> PathBuf {
    system::paths::from_bytes(bytes)
}

/// Whether a path ends as that of a folder does: with `/`, on Windows also with `\`.
pub fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(is_separator)
}

/// The beginning of a name, of at most `bytes_max` bytes.
pub fn cut(name: &OsStr, bytes_max: usize) -> OsString {
    system::paths::cut(name, bytes_max)
}

/// The absolute path without symbolic links, as other programs take it: on Windows without `\\?\`, where that is possible.
///
/// # Errors
/// When it does not exist.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    system::paths::canonical(path)
}

/// The path of a URI for an absolute path, which is yet to be escaped: on Windows `/C:/folder/file`.
pub fn of_uri(path: &Path) -> Cow<'_, [u8]> {
    system::paths::of_uri(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_bytes_again() {
        for name in ["a", "größe", "a/b"] {
            assert_eq!(from_bytes(&bytes(OsStr::new(name))), Path::new(name));
        }
    }

    #[test]
    fn a_folder_may_be_named_with_a_separator_at_its_end() {
        assert!(ends_with_separator(Path::new("a/")) && !ends_with_separator(Path::new("a/b")));
        assert_eq!(ends_with_separator(Path::new(r"a\")), cfg!(windows));
        assert!(!ends_with_separator(Path::new("")));
    }

    #[test]
    fn a_cut_name_has_no_more_bytes_than_wanted() {
        assert_eq!(cut(OsStr::new("abc"), 3), "abc");
        assert_eq!(cut(OsStr::new("abc"), 2), "ab");
        assert!(cut(OsStr::new("ää"), 3).len() <= 3);
    }
}
