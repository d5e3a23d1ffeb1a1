//! Temporary files that the system removes when they are closed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{FILE_ATTRIBUTE_TEMPORARY, FILE_FLAG_DELETE_ON_CLOSE};

pub(crate) fn unnamed(folder: &Path, _: bool) -> io::Result<File> {
    let process = std::process::id();
    for attempt in 0.. {
        let path = folder.join(format!(".sqluice-sort-{process}-{attempt}"));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).share_mode(0);
        // The system keeps the content of temporary files in memory as long as it can.
        options.attributes(FILE_ATTRIBUTE_TEMPORARY).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened,
        }
    }
    unreachable!("the loop ends by returning")
}
