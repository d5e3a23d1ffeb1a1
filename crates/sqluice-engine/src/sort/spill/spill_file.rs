//! A temporary file of spilled runs, which has no name and is read and written in whole blocks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_platform::positioned::Positioned;
use sqluice_platform::{errors, temporary, unbuffered};

/// A temporary file without a name, and the folder on whose disk it is.
#[derive(Debug)]
pub(in crate::sort) struct SpillFile {
    file: File,
    folder: PathBuf,
}

/// The mode in which a file is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sort) enum How {
    /// Reads and writes go through the page cache.
    Cached,
    /// Reads and writes go past the page cache if the file system supports it.
    Direct,
}

impl SpillFile {
    pub(in crate::sort) fn create(folder: &Path, how: How) -> Result<SpillFile> {
        match temporary::unnamed(folder, how == How::Direct) {
            Ok(file) => Ok(SpillFile { file, folder: folder.to_owned() }),
            Err(error) => Err(failed(folder, "create", error)),
        }
    }

    /// Writes whole blocks at an offset of the file.
    pub(in crate::sort) fn write(&self, mut offset: u64, mut blocks: &[u8]) -> Result<()> {
        let file = &self.file;
        while !blocks.is_empty() {
            match file.write_at(blocks, offset) {
                Ok(0) => return Err(failed(&self.folder, "write", errors::nothing_written())),
                Ok(n) => {
                    blocks = &blocks[n..];
                    offset += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Direct I/O is switched off, and the write is repeated: a file system may have accepted the flag for direct I/O but refuse
                // the write, or may have written only a part of a block before.
                Err(error) if unbuffered::refuses(&error) && unbuffered::switch_off(file) => {}
                Err(error) => return Err(failed(&self.folder, "write", error)),
            }
        }
        Ok(())
    }

    /// Reads whole blocks from an offset of the file.
    pub(in crate::sort) fn read(&self, mut offset: u64, mut blocks: &mut [u8]) -> Result<()> {
        let file = &self.file;
        while !blocks.is_empty() {
            match file.read_at(blocks, offset) {
                Ok(0) => return Err(failed(&self.folder, "read", io::ErrorKind::UnexpectedEof)),
                Ok(n) => {
                    blocks = &mut blocks[n..];
                    offset += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if unbuffered::refuses(&error) && unbuffered::switch_off(file) => {}
                Err(error) => return Err(failed(&self.folder, "read", error)),
            }
        }
        Ok(())
    }
}

/// Returns the error for blocks that can't be what was written.
pub(in crate::sort) fn damaged(folder: &Path) -> Error {
    failed(folder, "read", io::ErrorKind::InvalidData)
}

fn failed(folder: &Path, what: &str, error: impl Into<io::Error>) -> Error {
    let error = error.into();
    let message = format!("cannot {what} a temporary file for sorting in {}", folder.display());
    let failure = Error::target(message).about(folder);
    let hint = match error.kind() {
        io::ErrorKind::NotFound => message!["choose an existing folder: ", Setting::TempDir],
        io::ErrorKind::NotADirectory => {
            message!["choose a folder: ", Setting::TempDir, " leads through a file"]
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            message!["choose a folder that you may write to: ", Setting::TempDir]
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            message![
                "free some space, choose another folder (",
                Setting::TempDir,
                "), or sort more in memory (",
                Setting::Memory,
                ")"
            ]
        }
        io::ErrorKind::FileTooLarge => {
            message![
                "raise the limit on file sizes (ulimit -f) or choose another file system: ",
                Setting::TempDir
            ]
        }
        _ => return failure.because(error),
    };
    failure.because(error).hint(hint)
}
