//! Creates and recognises system errors by their numbers on Windows.

use std::io;

use windows_sys::Win32::Foundation::{ERROR_FILE_EXISTS, ERROR_WRITE_FAULT};

/// Returns `true` if an error has this system error number.
pub(super) fn is(error: &io::Error, number: u32) -> bool {
    error.raw_os_error() == Some(number.cast_signed())
}

/// Returns the last system error if `returned`, the result of a Windows function, is 0, which means that the function failed.
pub(super) fn unless_zero(returned: i32) -> io::Result<()> {
    if returned == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(crate) fn exists() -> io::Error {
    io::Error::from_raw_os_error(ERROR_FILE_EXISTS.cast_signed())
}

pub(crate) fn is_folder() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}

pub(crate) fn nothing_written() -> io::Error {
    io::Error::from_raw_os_error(ERROR_WRITE_FAULT.cast_signed())
}
