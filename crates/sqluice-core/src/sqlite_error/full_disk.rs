//! Recognises errors of SQLite that come from a full disk.
//!
//! SQLite returns SQLITE_FULL if a write to the database, its journal or its WAL finds no room. For other files and calls it only returns
//! an I/O error: the shared memory of the WAL takes 32 KiB before anything is read, a journal may fail to be truncated or synced, and a
//! file may not even be created. After such an error, the disk counts as full if less than 256 KiB are free.

use std::io;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use super::said;
use crate::error::Error;

/// The free bytes that SQLite needs to go on: shared memory, a journal and a few pages take this much.
const FREE_BYTES_MIN: u64 = 256 << 10;

/// Returns `true` if the cause of `error` is that the disk with the database at `path`, its journal and its WAL is full.
pub fn is_it(error: &rusqlite::Error, path: &Path) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => may_be(error) && is_full(path),
        _ => false,
    }
}

/// Returns the error for a failure of SQLite for which [`is_it`] is `true`.
pub fn error(error: rusqlite::Error, what: &str, name: &Path) -> Error {
    let failure = Error::target(format!("SQLite cannot {what} {}: its disk is full", name.display()));
    because(failure, error).hint("free some space; the database is as it was")
}

/// Adds SQLite's message to an error as an I/O error, so that callers see that the disk is full.
pub(super) fn because(failure: Error, error: rusqlite::Error) -> Error {
    failure.because(io::Error::new(io::ErrorKind::StorageFull, said(error)))
}

/// Returns `true` if an I/O error comes from a call that may need disk space.
fn may_be(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    matches!(
        extended,
        ffi::SQLITE_IOERR_WRITE
            | ffi::SQLITE_IOERR_FSYNC
            | ffi::SQLITE_IOERR_DIR_FSYNC
            | ffi::SQLITE_IOERR_TRUNCATE
            | ffi::SQLITE_IOERR_SHMOPEN
            | ffi::SQLITE_IOERR_SHMSIZE
            | ffi::SQLITE_IOERR_SHMMAP
            | ffi::SQLITE_IOERR
            | ffi::SQLITE_CANTOPEN
    )
}

fn is_full(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    sqluice_platform::space::is_below(folder, FREE_BYTES_MIN)
}
