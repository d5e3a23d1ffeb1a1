//! Whether SQLite failed because the disk is full.
//!
//! It says SQLITE_FULL when a write to the database, its journal or its log finds no room. For other files and calls it only
//! reports an I/O error: the shared memory of the log takes 32 KiB before anything is read, a journal may be cut or synced in vain,
//! and a file may not even be created. Then the free space decides.

use std::io;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use super::said;
use crate::error::Error;

/// With less than this, SQLite can't be expected to go on: shared memory, a journal and a few pages take as much.
const FREE_BYTES_MIN: u64 = 256 << 10;

/// Whether `error` is that of a disk without room for the files of the database at `path`, which lie beside it.
pub fn is_it(error: &rusqlite::Error, path: &Path) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => may_be(error) && is_full(path),
        _ => false,
    }
}

/// The error for what SQLite could not do because [`is_it`].
pub fn error(error: rusqlite::Error, what: &str, name: &Path) -> Error {
    let failure = Error::target(format!("SQLite cannot {what} {}: its disk is full", name.display()));
    because(failure, error).hint("free some space; the database is as it was")
}

/// Adds the cause to an error: SQLite's message as an I/O error, so that callers see that the disk is full.
pub(super) fn because(failure: Error, error: rusqlite::Error) -> Error {
    failure.because(io::Error::new(io::ErrorKind::StorageFull, said(error)))
}

/// Whether an I/O error is that of a call that takes room.
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
