//! Conversions of paths on Unix, where paths are bytes.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) fn bytes(path: &OsStr) -> Cow<'_, [u8]> {
    Cow::Borrowed(path.as_bytes())
}

pub(crate) fn from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

pub(crate) fn cut(name: &OsStr, bytes_max: usize) -> OsString {
    let bytes = name.as_bytes();
    OsStr::from_bytes(&bytes[..bytes.len().min(bytes_max)]).to_owned()
}

pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

pub(crate) fn of_uri(path: &Path) -> Cow<'_, [u8]> {
    bytes(path.as_os_str())
}
