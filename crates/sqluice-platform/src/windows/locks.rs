//! File locks with `LockFileEx` on a byte beyond the end of any file, because Windows prevents others from reading and writing locked
//! bytes.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_OPEN_REPARSE_POINT, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

use super::errors::{is, unless_zero};
use crate::answers::Lock;

/// The byte to lock, beyond the end of the largest file.
const LOCK_BYTE: Range<u64> = 0x7fff_ffff_ffff_fff0..0x7fff_ffff_ffff_fff1;

pub(crate) fn try_lock(file: &File) -> io::Result<Lock> {
    lock(file, true)
}

pub(crate) fn try_lock_shared(file: &File) -> io::Result<Lock> {
    lock(file, false)
}

/// The bytes that SQLite locks: `PENDING_BYTE`, `RESERVED_BYTE`, and `SHARED_SIZE` bytes of `SHARED_FIRST`.
const SQLITE_BYTES: Range<u64> = 0x4000_0000..0x4000_0200;

pub(crate) fn try_lock_database(file: &File) -> io::Result<Lock> {
    answer(lock_range(file, SQLITE_BYTES, true))
}

fn lock(file: &File, exclusive: bool) -> io::Result<Lock> {
    answer(lock_range(file, LOCK_BYTE, exclusive))
}

fn answer(locked: io::Result<()>) -> io::Result<Lock> {
    match locked {
        Ok(()) => Ok(Lock::Taken),
        Err(error) if is(&error, ERROR_LOCK_VIOLATION) || is(&error, ERROR_IO_PENDING) => Ok(Lock::Held),
        Err(error) => Err(error),
    }
}

/// Locks a range of a file until the file is closed.
pub(super) fn lock_range(file: &File, range: Range<u64>, exclusive: bool) -> io::Result<()> {
    let flags = LOCKFILE_FAIL_IMMEDIATELY | if exclusive { LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
    let bytes = range.end - range.start;
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.Offset = range.start as u32;
    place.Anonymous.Anonymous.OffsetHigh = (range.start >> 32) as u32;
    // SAFETY: the handle is open as long as `file`, and the call does not wait, so that it is done with `place` when it returns.
    #[allow(unsafe_code, reason = "no safe call exists")]
    unless_zero(unsafe {
        LockFileEx(file.as_raw_handle(), flags, 0, bytes as u32, (bytes >> 32) as u32, &raw mut place)
    })
}

pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)
}
