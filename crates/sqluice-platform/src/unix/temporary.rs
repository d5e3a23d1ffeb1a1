//! Creates temporary files, and removes their names at once.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::system::unbuffered;

pub(crate) fn unlinked(folder: &Path, unbuffered: bool) -> io::Result<File> {
    let process = std::process::id();
    for attempt in 0.. {
        let path = folder.join(format!(".sqluice-sort-{process}-{attempt}"));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                if unbuffered {
                    unbuffered::switch_on(&file);
                }
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("the loop ends by returning")
}
