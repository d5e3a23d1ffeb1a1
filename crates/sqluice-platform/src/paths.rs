//! Converts between paths and bytes.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf, is_separator};

use crate::system;

/// Returns the bytes of a path: on Windows UTF-8 with `/` between components, on other systems the bytes of the file system.
pub fn bytes(path: &OsStr) -> Cow<'_, [u8]> {
    system::paths::bytes(path)
}

/// Returns the path for bytes. On Windows, invalid UTF-8 is replaced.
pub fn from_bytes(bytes: &[u8]) -> PathBuf {
    system::paths::from_bytes(bytes)
}

/// Returns `true` if a path ends with a separator, like the path of a folder: `/`, on Windows also `\`.
pub fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(is_separator)
}

/// Returns the first part of a name, of at most `bytes_max` bytes.
pub fn cut(name: &OsStr, bytes_max: usize) -> OsString {
    system::paths::cut(name, bytes_max)
}

/// Returns the absolute path without symbolic links in a form that other programs accept: on Windows without `\\?\` if possible.
///
/// # Errors
/// When the file does not exist.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    system::paths::canonical(path)
}

/// Returns the path of a URI for an absolute path, not yet escaped: on Windows `/C:/folder/file`.
pub fn of_uri(path: &Path) -> Cow<'_, [u8]> {
    system::paths::of_uri(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_that_is_converted_to_bytes_and_back_is_unchanged() {
        for name in ["a", "größe", "a/b"] {
            assert_eq!(from_bytes(&bytes(OsStr::new(name))), Path::new(name));
        }
    }

    #[test]
    fn a_separator_at_the_end_of_a_path_is_found() {
        assert!(ends_with_separator(Path::new("a/")) && !ends_with_separator(Path::new("a/b")));
        assert_eq!(ends_with_separator(Path::new(r"a\")), cfg!(windows));
        assert!(!ends_with_separator(Path::new("")));
    }

    #[test]
    fn a_shortened_file_name_has_at_most_the_requested_number_of_bytes() {
        assert_eq!(cut(OsStr::new("abc"), 3), "abc");
        assert_eq!(cut(OsStr::new("abc"), 2), "ab");
        assert!(cut(OsStr::new("ää"), 3).len() <= 3);
    }
}
