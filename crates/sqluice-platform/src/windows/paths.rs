//! Paths on Windows: UTF-16, with drives and `\` between components.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf, Prefix};

/// The longest path that Windows accepts without the prefix `\\?\`.
const LENGTH_MAX: usize = 247;

/// Returns a path for system calls, with a NUL at the end.
pub(super) fn wide(path: &Path) -> Vec<u16> {
    let long = match std::path::absolute(path) {
        Ok(path) if path.as_os_str().len() > LENGTH_MAX => verbatim(&path),
        _ => None,
    };
    long.as_deref().unwrap_or(path).as_os_str().encode_wide().chain([0]).collect()
}

/// Adds the prefix `\\?\` to an absolute path. Returns `None` if the path does not begin with a drive such as `C:`.
fn verbatim(path: &Path) -> Option<PathBuf> {
    match path.components().next()? {
        Component::Prefix(prefix) if matches!(prefix.kind(), Prefix::Disk(_)) => {
            let mut verbatim = OsString::from(r"\\?\");
            verbatim.push(path);
            Some(verbatim.into())
        }
        _ => None,
    }
}

pub(crate) fn bytes(path: &OsStr) -> Cow<'_, [u8]> {
    Cow::Owned(path.to_string_lossy().replace('\\', "/").into_bytes())
}

pub(crate) fn from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

pub(crate) fn cut(name: &OsStr, bytes_max: usize) -> OsString {
    let name = name.to_string_lossy();
    name[..name.floor_char_boundary(bytes_max)].into()
}

pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    Ok(plain(path.canonicalize()?))
}

/// Removes the prefix `\\?\` if the path means the same without the prefix.
fn plain(path: PathBuf) -> PathBuf {
    if path.as_os_str().len() > LENGTH_MAX {
        return path;
    }
    let Some(Component::Prefix(prefix)) = path.components().next() else { return path };
    let rest = path.components().skip(2);
    let start = match prefix.kind() {
        Prefix::VerbatimDisk(drive) => format!(r"{}:\", char::from(drive)).into(),
        Prefix::VerbatimUNC(server, share) => {
            let mut start = OsString::from(r"\\");
            start.push(server);
            start.push(r"\");
            start.push(share);
            start.push(r"\");
            start
        }
        _ => return path,
    };
    let mut plain = PathBuf::from(start);
    plain.extend(rest);
    plain
}

pub(crate) fn of_uri(path: &Path) -> Cow<'_, [u8]> {
    let plain = plain(path.to_owned());
    let named = bytes(plain.as_os_str());
    // After `file:`, two slashes introduce a host name, which is empty here.
    let before: &[u8] = if named.starts_with(b"//") { b"//" } else { b"/" };
    Cow::Owned([before, &named].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verbatim_path_becomes_one_that_all_programs_take() {
        let shown = |path: &str| plain(PathBuf::from(path)).to_string_lossy().into_owned();
        assert_eq!(shown(r"\\?\C:\a\b.db"), r"C:\a\b.db");
        assert_eq!(shown(r"\\?\UNC\server\share\b.db"), r"\\server\share\b.db");
        assert_eq!(shown(r"C:\a"), r"C:\a");
        let long = format!(r"\\?\C:\{}", "a\\".repeat(200));
        assert_eq!(shown(&long), long);
    }

    #[test]
    fn a_uri_has_a_slash_before_the_drive_and_no_host() {
        assert_eq!(&*of_uri(Path::new(r"C:\a b\x.db")), b"/C:/a b/x.db");
        assert_eq!(&*of_uri(Path::new(r"\\server\share\x.db")), b"////server/share/x.db");
    }
}
