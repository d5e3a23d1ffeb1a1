//! Opens standard input by its handle, and turns the echo of its console off.

use std::fs::File;
use std::io::{self, Write};
use std::os::windows::io::{AsHandle, AsRawHandle};

use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_DISK, GetFileType};
use windows_sys::Win32::System::Console::{CONSOLE_MODE, ENABLE_ECHO_INPUT, GetConsoleMode, SetConsoleMode};

use crate::answers::Stream;

pub(crate) fn standard_input() -> io::Result<File> {
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

pub(crate) fn kind(file: &File) -> io::Result<Stream> {
    // SAFETY: the handle is open as long as `file`.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let of_disk = unsafe { GetFileType(file.as_raw_handle()) } == FILE_TYPE_DISK;
    if !of_disk {
        return Ok(Stream::Once);
    }
    let about = file.metadata()?;
    Ok(if about.is_dir() { Stream::Folder } else { Stream::File(about.len()) })
}

/// The mode that the console of standard input had before its echo was turned off. It is restored when the value is dropped.
#[derive(Debug)]
pub(crate) struct WithoutEcho(CONSOLE_MODE);

impl WithoutEcho {
    pub(crate) fn begin() -> io::Result<WithoutEcho> {
        let mut before = 0;
        // SAFETY: the handle of standard input is open as long as the process, and `before` is valid for the call.
        #[allow(unsafe_code, reason = "no safe call exists")]
        let is_console = unsafe { GetConsoleMode(io::stdin().as_raw_handle(), &raw mut before) } != 0;
        if !is_console || !set_mode(before & !ENABLE_ECHO_INPUT) {
            return Err(io::Error::last_os_error());
        }
        Ok(WithoutEcho(before))
    }
}

impl Drop for WithoutEcho {
    fn drop(&mut self) {
        set_mode(self.0);
        // The line break that the user typed was not shown, either.
        let _ = io::stderr().write_all(b"\n");
    }
}

/// Sets the mode of the console. Returns `false` if the console refuses it.
fn set_mode(mode: CONSOLE_MODE) -> bool {
    // SAFETY: the handle of standard input is open as long as the process.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let is_set = unsafe { SetConsoleMode(io::stdin().as_raw_handle(), mode) } != 0;
    is_set
}
