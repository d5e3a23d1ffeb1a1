//! What SQLite adds to a new file once its pages are written.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::sqlite_error::failed;

/// Calls `make` in one transaction in the new file at a path, which has no name yet that anyone knows.
///
/// # Errors
/// What `make` says, and when SQLite can't open or write the file.
pub(crate) fn in_new_file(
    path: &Path,
    cancel: &Cancel,
    make: impl FnOnce(&Connection) -> Result<()>,
) -> Result<()> {
    let path = std::path::absolute(path).map_err(|error| Error::read(path, error))?;
    let cannot = |error| failed(error, "open the new file");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(cannot)?;
    let stop = cancel.clone();
    connection.progress_handler(1000, Some(move || stop.check().is_err())).map_err(cannot)?;
    connection
        .execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
             PRAGMA secure_delete = ON; PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = ON; BEGIN",
        )
        .map_err(cannot)?;
    make(&connection)?;
    connection.execute_batch("COMMIT").map_err(|error| failed(error, "write the new file"))?;
    connection.close().map_err(|(_, error)| failed(error, "close the new file"))?;
    cancel.check()
}
