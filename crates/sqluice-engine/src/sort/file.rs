//! A temporary file: opened without a name, read and written in whole blocks.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use sqluice_core::error::{Error, Result, Setting, message};

/// A file without a name.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    folder: PathBuf,
}

/// How a file is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Through the page cache.
    Cached,
    /// Past it, where the file system can.
    Direct,
}

impl SpillFile {
    pub(super) fn create(folder: &Path, how: How) -> Result<SpillFile> {
        match create(folder, how) {
            Ok(file) => Ok(SpillFile { file, folder: folder.to_owned() }),
            Err(error) => Err(failed(folder, "create", error)),
        }
    }

    /// Writes blocks.
    pub(super) fn write(&self, mut offset: u64, mut blocks: &[u8]) -> Result<()> {
        let file = &self.file;
        while !blocks.is_empty() {
            match rustix::io::pwrite(file, blocks, offset) {
                Ok(0) => return Err(failed(&self.folder, "write", Errno::IO)),
                Ok(n) => {
                    blocks = &blocks[n..];
                    offset += n as u64;
                }
                Err(Errno::INTR) => {}
                // A file system may take the flag and refuse the write, or have written a part that is no whole block.
                Err(Errno::INVAL) if unset_direct(file) => {}
                Err(error) => return Err(failed(&self.folder, "write", error)),
            }
        }
        Ok(())
    }

    /// Reads blocks.
    pub(super) fn read(&self, mut offset: u64, mut blocks: &mut [u8]) -> Result<()> {
        let file = &self.file;
        while !blocks.is_empty() {
            match rustix::io::pread(file, &mut *blocks, offset) {
                Ok(0) => return Err(failed(&self.folder, "read", io::ErrorKind::UnexpectedEof)),
                Ok(n) => {
                    blocks = &mut blocks[n..];
                    offset += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::INVAL) if unset_direct(file) => {}
                Err(error) => return Err(failed(&self.folder, "read", error)),
            }
        }
        Ok(())
    }
}

/// What was read is not what was written.
pub(super) fn damaged(folder: &Path) -> Error {
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

/// A file without a name.
fn create(folder: &Path, how: How) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    for direct in [OFlags::DIRECT, OFlags::empty()] {
        if !direct.is_empty() && how == How::Cached {
            continue;
        }
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC | direct;
        match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok(file.into()),
            // No direct I/O here, or no files without names: what a kernel or file system says that knows none of these.
            Err(Errno::INVAL | Errno::NOTSUP | Errno::ISDIR | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    create_named(folder, how)
}

/// A file that loses its name at once.
fn create_named(folder: &Path, how: How) -> io::Result<File> {
    let process = std::process::id();
    for attempt in 0.. {
        let path = folder.join(format!(".sqluice-sort-{process}-{attempt}"));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                set_direct(&file, how == How::Direct);
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("the loop ends by returning")
}

/// Switches direct I/O off; says whether it was on.
fn unset_direct(file: &File) -> bool {
    let flags = rustix::fs::fcntl_getfl(file);
    flags.is_ok_and(|flags| flags.contains(DIRECT)) && !DIRECT.is_empty() && set_direct(file, false)
}

#[cfg(target_os = "linux")]
const DIRECT: OFlags = OFlags::DIRECT;
#[cfg(not(target_os = "linux"))]
const DIRECT: OFlags = OFlags::empty();

/// Switches direct I/O; says whether that worked.
fn set_direct(file: &File, direct: bool) -> bool {
    let set = rustix::fs::fcntl_getfl(file).and_then(|mut flags| {
        flags.set(DIRECT, direct);
        rustix::fs::fcntl_setfl(file, flags)
    });
    set.is_ok()
}
