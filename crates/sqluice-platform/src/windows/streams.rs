//! Standard input by its handle.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle};

use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_DISK, GetFileType};

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
