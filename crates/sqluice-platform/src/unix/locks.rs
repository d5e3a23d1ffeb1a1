//! File locks with `flock`, and with `fcntl` as SQLite takes them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use crate::answers::Lock;

pub(crate) fn try_lock(file: &File) -> io::Result<Lock> {
    lock(file, FlockOperation::NonBlockingLockExclusive)
}

pub(crate) fn try_lock_shared(file: &File) -> io::Result<Lock> {
    lock(file, FlockOperation::NonBlockingLockShared)
}

fn lock(file: &File, operation: FlockOperation) -> io::Result<Lock> {
    answer(rustix::fs::flock(file, operation))
}

/// Locks all bytes of the file, including the bytes that SQLite locks.
pub(crate) fn try_lock_database(file: &File) -> io::Result<Lock> {
    answer(rustix::fs::fcntl_lock(file, FlockOperation::NonBlockingLockExclusive))
}

fn answer(locked: rustix::io::Result<()>) -> io::Result<Lock> {
    match locked {
        Ok(()) => Ok(Lock::Taken),
        // POSIX allows both errors for a lock that another process has.
        Err(Errno::WOULDBLOCK | Errno::ACCESS | Errno::INTR) => Ok(Lock::Held),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
