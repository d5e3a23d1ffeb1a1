//! Read-only connections to databases, and the errors for databases that can't be read.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::database_path::immutable_uri;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::sqlite_error::said;
use sqluice_platform::paths::canonical;

/// The number of steps of SQLite's virtual machine between two checks for cancellation.
const CANCEL_STEPS: i32 = 1000;

/// Opens a connection and begins a read transaction.
///
/// If the database has a hot journal, or a write-ahead log without its index, a connection that may write first recovers the database.
///
/// # Errors
/// When SQLite can't open or read the database.
pub fn begin(path: &Path, busy_timeout: Duration, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let read = |flags| -> rusqlite::Result<Connection> {
        let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(busy_timeout)?;
        let cancel = cancel.clone();
        connection.progress_handler(CANCEL_STEPS, Some(move || cancel.check().is_err()))?;
        connection.execute_batch("PRAGMA cell_size_check = ON; BEGIN")?;
        // The first read takes the lock.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    match read(OpenFlags::SQLITE_OPEN_READ_ONLY) {
        // A connection that may write rolls back a hot journal, or rebuilds the index of a log.
        Err(error) if is_unopened(&error) => {
            drop(read(OpenFlags::SQLITE_OPEN_READ_WRITE)?);
            read(OpenFlags::SQLITE_OPEN_READ_ONLY)
        }
        other => other,
    }
}

/// Opens a connection that takes no locks, to a WAL-mode database without a log and a journal ([`AtRest`](crate::at_rest::AtRest)), and
/// begins a read transaction.
///
/// # Errors
/// When SQLite can't read the database.
pub(crate) fn begin_at_rest(path: &Path, cancel: &Cancel) -> Result<Connection> {
    let uri = immutable_uri(path)?;
    let read = || -> rusqlite::Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(uri, flags)?;
        let cancel = cancel.clone();
        connection.progress_handler(CANCEL_STEPS, Some(move || cancel.check().is_err()))?;
        connection.execute_batch("PRAGMA cell_size_check = ON; BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    read().map_err(|error| unreadable(path, error))
}

/// Returns `true` if the error says that SQLite could not open a file, or could not write a file that it needs beside the database.
pub(crate) fn is_unopened(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen))
}

/// Returns the error for the database `name`, which SQLite can't read.
pub fn unreadable(name: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, NotADatabase, OperationInterrupted, ReadOnly};
    let shown = name.display();
    match error.sqlite_error_code() {
        Some(ReadOnly | CannotOpen) if has_beside(name, "-journal") => {
            Error::input(format!("{shown} has a journal of a transaction that was not finished"))
                .because(error)
                .hint("open it once with a program that may write to it: SQLite then undoes that transaction")
        }
        Some(ReadOnly | CannotOpen) => Error::input(format!("SQLite cannot read {shown}"))
            .because(error)
            .hint("check that you may read it and, if it has a -wal beside it, write to its folder"),
        Some(DatabaseBusy) => {
            Error::target(format!("{shown} is being written")).because(error).hint(message![
                "wait longer (",
                Setting::BusyTimeout.to("SECONDS"),
                "), or run again when that is done"
            ])
        }
        Some(OperationInterrupted) => Error::interrupted(),
        Some(NotADatabase) => no_database(name).because(said(error)),
        _ => Error::input(format!("SQLite cannot read {shown}")).because(said(error)),
    }
}

/// Returns the error for a file that is not a SQLite database.
pub(crate) fn no_database(name: &Path) -> Error {
    Error::input(format!("{} is not a SQLite database", name.display())).hint("name another file")
}

/// Returns `true` if the file with the name of the database and this suffix exists and is not empty. Symbolic links to the database are
/// followed.
fn has_beside(path: &Path, suffix: &str) -> bool {
    let mut name = canonical(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(suffix);
    std::fs::metadata(name).is_ok_and(|metadata| metadata.len() > 0)
}
