//! A file that several worker processes fill, each with its own range of pages. The driver process then completes the database and renames
//! the file.
//!
//! ```text
//!                 time ──>
//!  driver         create                                             exclusive lock ── interior pages, page 1 ── rename
//!  worker                  shared lock ── same name ── pages ── fsync
//!  late worker                                                                         shared lock ── other name: refused
//! ```
//!
//! A worker writes while it holds the shared lock (`sqluice_platform::locks`). The worker gets the lock only while the file still has its
//! first name. The driver renames the file while it holds the exclusive lock. So a worker that was believed dead can't write into the
//! database after the rename, whatever descriptors the worker has. The kernel releases the locks of a process that ends.
//!
//! Invariant: a worker writes into its own range of pages only.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqluice_core::error::{Error, Result};
use sqluice_platform::durable;
use sqluice_platform::locks::{Lock, try_lock, try_lock_shared};

use crate::output::direct::Direct;
use crate::output::leftover::is_still_at;
use crate::output::{Output, Replacement, explained};

/// The time between two attempts to lock the file.
const AGAIN: Duration = Duration::from_millis(50);

/// Creates the file, which must not exist. Returns `true` if the file system has the locks that the processes need.
///
/// # Errors
/// If the file can't be created.
pub fn create_shared(path: &Path) -> Result<bool> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    let file = made.map_err(|error| failed("create", path, error))?;
    Ok(try_lock(&file).is_ok_and(|lock| lock == Lock::Taken))
}

/// Locks the file exclusively for this process. Waits up to `wait` for processes that write to the file.
///
/// # Errors
/// If the file is gone or can't be locked, or other processes still write to it.
pub(super) fn take(path: &Path, wait: Duration) -> Result<File> {
    let file = open(path)?;
    let began = Instant::now();
    loop {
        match try_lock(&file) {
            Ok(Lock::Taken) if is_still_at(&file, path) => return Ok(file),
            Ok(Lock::Taken) => return Err(gone(path)),
            Ok(Lock::Held) if began.elapsed() < wait => std::thread::sleep(AGAIN),
            Ok(Lock::Held) => {
                let what = format!("another process still writes to {}", path.display());
                return Err(
                    Error::target(what).hint("end the tasks that have been given up, and run the job again")
                );
            }
            Err(error) => return Err(failed("lock", path, error)),
        }
    }
}

/// A range of bytes of the file, for one worker.
#[derive(Debug)]
pub(crate) struct SharedRange {
    file: File,
    path: PathBuf,
    direct: Direct,
    /// The bytes of the file that the worker may write.
    bytes: Range<u64>,
}

impl SharedRange {
    /// Opens the file to write the byte range `bytes`, in pages of `page_bytes` bytes.
    ///
    /// # Errors
    /// If the file is gone or can't be locked, or the driver has taken it.
    pub(crate) fn open(path: &Path, page_bytes: usize, bytes: Range<u64>) -> Result<SharedRange> {
        let file = open(path)?;
        match try_lock_shared(&file) {
            Ok(Lock::Taken) if is_still_at(&file, path) => {}
            Ok(Lock::Taken | Lock::Held) => return Err(gone(path)),
            Err(error) => return Err(failed("lock", path, error)),
        }
        let direct = Direct::new(&file, page_bytes);
        Ok(SharedRange { file, path: path.to_owned(), direct, bytes })
    }
}

impl Output for SharedRange {
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()> {
        let end = offset + pages.iter().map(|pages| pages.len() as u64).sum::<u64>();
        if offset < self.bytes.start || end > self.bytes.end {
            return Err(Error::input(
                "the source has changed since its pages were counted: it has more pages now",
            ));
        }
        self.direct.write(&self.file, offset, pages).map_err(|error| failed("write", &self.path, error))
    }

    fn commit(self: Box<Self>) -> Result<Option<Replacement>> {
        durable::sync(&self.file).map_err(|error| failed("write", &self.path, error))?;
        Ok(None)
    }

    fn describe(&self) -> &'static str {
        self.direct.describe()
    }
}

fn open(path: &Path) -> Result<File> {
    // A file that the driver has renamed or removed must stay so: a late worker must not create it again.
    OpenOptions::new().read(true).write(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => gone(path),
        _ => failed("open", path, error),
    })
}

fn gone(path: &Path) -> Error {
    let name = path.file_name().unwrap_or(OsStr::new("")).display();
    Error::target(format!("{name} is finished or was abandoned: no process may write to it any more"))
        .about(path)
}

fn failed(what: &str, path: &Path, error: impl Into<io::Error>) -> Error {
    explained(Error::target(format!("cannot {what} {}", path.display())).about(path), error.into())
}
