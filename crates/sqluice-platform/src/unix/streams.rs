//! Standard input by its descriptor.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use crate::answers::Stream;

pub(crate) fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

pub(crate) fn kind(file: &File) -> io::Result<Stream> {
    let about = file.metadata()?;
    Ok(match () {
        () if about.is_dir() => Stream::Folder,
        () if about.is_file() => Stream::File(about.len()),
        () => Stream::Once,
    })
}
