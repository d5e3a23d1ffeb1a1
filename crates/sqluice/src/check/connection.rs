//! Opens the connections on which a check reads the database.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use sqluice_core::progress::Cancel;

/// The constraints that SQLite keeps in the schema of a connection, and so checks in `integrity_check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    /// All constraints but CHECK: SQLite drops CHECK constraints on a read-only connection.
    NoChecks,
    /// All constraints. SQLite opens the file for writing if it may, and `PRAGMA query_only` refuses statements that write.
    Checks,
}

/// Opens a connection that only reads. `path` is absolute, so SQLite never parses it as a URI.
pub(super) fn open(path: &Path, keeps: Keeps, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let access = match keeps {
        Keeps::NoChecks => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Keeps::Checks => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let mut connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // By default, SQLite runs a checkpoint and removes the WAL when the last connection that may write is closed. A check must change no
    // file.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    // SQLite's check may take much longer than the check of this crate, so it must be cancelable.
    let cancel = cancel.clone();
    connection.progress_handler(1000, Some(move || cancel.check().is_err()))?;
    Ok(connection)
}

/// Opens a connection in a read transaction.
pub(super) fn begin(path: &Path, cancel: &Cancel) -> rusqlite::Result<Connection> {
    begin_with(path, Keeps::NoChecks, cancel)
}

/// Opens a connection in a read transaction. The connection keeps the constraints of `keeps`, or those of [`Keeps::NoChecks`] if the file
/// is empty or can't be opened for writing.
///
/// A connection that may write rolls back a hot journal, which would change the file. So a read-only connection takes the lock first: it
/// refuses a database with a hot journal.
pub(super) fn begin_with(path: &Path, keeps: Keeps, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let begin = |keeps| -> rusqlite::Result<Connection> {
        let connection = open(path, keeps, cancel)?;
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    let first = begin(Keeps::NoChecks)?;
    // Open an empty file only for reading: a connection that may write would remove its journal.
    let is_empty = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
    Ok(match keeps {
        Keeps::Checks if !is_empty => begin(keeps).unwrap_or(first),
        _ => first,
    })
}

/// Returns the number of bytes of the sidecar file with this suffix (`-wal`, `-journal`), or `None` if it does not exist.
pub(super) fn beside(path: &Path, suffix: &str) -> Option<u64> {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    std::fs::metadata(name).ok().map(|metadata| metadata.len())
}
