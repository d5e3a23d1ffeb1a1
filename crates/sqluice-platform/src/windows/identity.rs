//! Identities of files on Windows: volume and file index.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    GetFileInformationByHandle,
};

use super::errors::unless_zero;
use crate::answers::Identity;

pub(crate) fn of_path(path: &Path) -> io::Result<Identity> {
    of_file(&opened(path, FILE_FLAG_BACKUP_SEMANTICS)?)
}

pub(crate) fn of_link(path: &Path) -> io::Result<Identity> {
    of_file(&opened(path, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)?)
}

/// Opens a file or a folder for inspection only, neither for reading nor for writing.
fn opened(path: &Path, flags: u32) -> io::Result<File> {
    OpenOptions::new().access_mode(0).custom_flags(flags).open(path)
}

pub(crate) fn of_file(file: &File) -> io::Result<Identity> {
    let about = about(file)?;
    let number = u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow);
    Ok(Identity { device: about.dwVolumeSerialNumber.into(), number })
}

pub(crate) fn name_count(file: &File) -> io::Result<u64> {
    about(file).map(|about| about.nNumberOfLinks.into())
}

fn about(file: &File) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut about = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open as long as `file`, and the call fills the structure.
    #[allow(unsafe_code, reason = "no safe call exists")]
    unless_zero(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut about) })?;
    Ok(about)
}
