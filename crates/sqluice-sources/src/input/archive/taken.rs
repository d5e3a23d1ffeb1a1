//! Opens and reads archives in memory, for tests and fuzz targets.

use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Context;

use super::{Archive, ArchiveKind, ArchiveLimits};
use crate::input::{InputFile, InputOptions};

/// Returns an input of a file with these bytes. `name` is its name in messages.
pub(super) fn input(bytes: &[u8], name: &str) -> InputFile {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("room for a small file");
    InputFile::of_open(file, PathBuf::from(name), InputOptions::new()).expect("a regular file")
}

/// Opens an input as an archive.
pub(super) fn open(input: InputFile, kind: ArchiveKind, memory_bytes: u64) -> Result<Archive> {
    let temp_folder: &dyn Fn() -> Result<PathBuf> = &|| Ok(std::env::temp_dir());
    Archive::open(input, kind, &ArchiveLimits { memory_bytes, temp_folder }, &Context::default())
}

/// Returns the first `most` bytes of a member, and the error that ended the reading, if any.
pub(super) fn read(archive: &Archive, index: usize, most: u64) -> (Vec<u8>, Option<Error>) {
    let mut bytes = Vec::new();
    let reader = archive.input(index, InputOptions::new()).and_then(|mut input| input.open_raw());
    let mut reader = match reader {
        Ok(reader) => reader.take(most),
        Err(error) => return (bytes, Some(error)),
    };
    // `read_to_end` keeps the bytes before an error.
    let error = reader.read_to_end(&mut bytes).err();
    if error.is_some() {
        assert!(reader.read(&mut [0; 16]).is_err(), "an error must not look like the end");
    }
    (bytes, error.map(|error| Error::from_read(Path::new("not named"), error)))
}
