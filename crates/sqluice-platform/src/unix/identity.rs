//! Identities of files on Unix: device and inode.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::answers::Identity;

fn of(metadata: &Metadata) -> Identity {
    Identity { device: metadata.dev(), number: metadata.ino() }
}

pub(crate) fn of_path(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|metadata| of(&metadata))
}

pub(crate) fn of_link(path: &Path) -> io::Result<Identity> {
    fs::symlink_metadata(path).map(|metadata| of(&metadata))
}

pub(crate) fn of_file(file: &File) -> io::Result<Identity> {
    file.metadata().map(|metadata| of(&metadata))
}

pub(crate) fn name_count(file: &File) -> io::Result<u64> {
    file.metadata().map(|metadata| metadata.nlink())
}
