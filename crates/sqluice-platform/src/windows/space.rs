//! Free disk space, and the disk space of files.

use std::io;
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{GetLastError, NO_ERROR, SetLastError};
use windows_sys::Win32::Storage::FileSystem::{
    GetCompressedFileSizeW, GetDiskFreeSpaceExW, INVALID_FILE_SIZE,
};

use super::errors::unless_zero;
use super::paths::wide;

pub(crate) fn free_bytes(folder: &Path) -> io::Result<Option<u64>> {
    let (folder, mut free) = (wide(folder), 0);
    // SAFETY: the name ends with a NUL, and the call writes one number, for the others are not asked for.
    #[allow(unsafe_code, reason = "no safe call exists")]
    unless_zero(unsafe {
        GetDiskFreeSpaceExW(folder.as_ptr(), &raw mut free, ptr::null_mut(), ptr::null_mut())
    })?;
    Ok(Some(free))
}

pub(crate) fn is_below(folder: &Path, bytes: u64) -> bool {
    free_bytes(folder).is_ok_and(|free| free.is_some_and(|free| free < bytes))
}

pub(crate) fn taken_bytes(path: &Path) -> io::Result<u64> {
    if path.symlink_metadata()?.is_dir() {
        return Ok(0);
    }
    let (path, mut high) = (wide(path), 0);
    // SAFETY: the name ends with a NUL, and the call writes one number.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let (low, error) = unsafe {
        SetLastError(NO_ERROR);
        (GetCompressedFileSizeW(path.as_ptr(), &raw mut high), GetLastError())
    };
    match low == INVALID_FILE_SIZE && error != NO_ERROR {
        true => Err(io::Error::from_raw_os_error(error.cast_signed())),
        false => Ok(u64::from(high) << 32 | u64::from(low)),
    }
}
