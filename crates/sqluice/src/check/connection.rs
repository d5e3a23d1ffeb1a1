//! Connections that read a database.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::progress::Cancel;

/// A connection that reads. `path` is absolute: such a one is never taken for a URI.
pub(super) fn open(path: &Path, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    // SQLite's check may go on when ours has long been done.
    let cancel = cancel.clone();
    connection.progress_handler(1000, Some(move || cancel.check().is_err()))?;
    Ok(connection)
}

/// The same in a read transaction.
pub(super) fn begin(path: &Path, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let connection = open(path, cancel)?;
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Bytes of a file beside the database, if it exists.
pub(super) fn beside(path: &Path, suffix: &str) -> Option<u64> {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    std::fs::metadata(name).ok().map(|metadata| metadata.len())
}
