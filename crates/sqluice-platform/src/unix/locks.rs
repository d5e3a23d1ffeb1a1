//! File locks with `flock`.

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
    match rustix::fs::flock(file, operation) {
        Ok(()) => Ok(Lock::Taken),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(Lock::Held),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
