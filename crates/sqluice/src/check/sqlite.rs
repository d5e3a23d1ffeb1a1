//! SQLite's part of a check: the read transaction, the schema, and its own `integrity_check`.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sqluice_format::check::spec::Table;

use super::{PROBLEMS_MAX, spec};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::schema::Schema;

/// A connection in a read transaction, so that nobody changes the file; or what SQLite says when it takes it for no
/// database, which our reader will explain.
pub(super) fn hold(target: &Path, cancel: &Cancel) -> Result<std::result::Result<Connection, String>> {
    // An absolute path is never taken for a URI.
    let path = std::path::absolute(target).map_err(|e| Error::read(target, e))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let begun = Connection::open_with_flags(&path, flags).and_then(|mut connection| {
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        // SQLite's check may go on when ours has long been done.
        let cancel = cancel.clone();
        connection.progress_handler(1000, Some(move || cancel.check().is_err()))?;
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    });
    let connection = match begun {
        Ok(connection) => connection,
        Err(error) if is_unsound(&error) => return Ok(Err(message(error))),
        Err(error) => return Err(unreadable(target, error)),
    };
    let mut wal = path.into_os_string();
    wal.push("-wal");
    if std::fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0) {
        let message = format!("the newest pages of {} are in its write-ahead log", target.display());
        return Err(Error::target(message).hint(format!(
            "let SQLite put them where they belong: sqlite3 {} 'PRAGMA wal_checkpoint(TRUNCATE)'",
            target.display()
        )));
    }
    Ok(Ok(connection))
}

/// What the schema says of the tables, or why SQLite can't tell.
pub(super) fn tables(
    connection: &Connection,
    target: &Path,
    encoding: u32,
) -> Result<std::result::Result<Vec<Table>, String>> {
    let read = Schema::from_catalogue(connection, String::new(), target)
        .and_then(|schema| spec::tables(&schema, encoding));
    match read {
        Ok(tables) => Ok(Ok(tables)),
        Err(error) if is_temporary(&error) => Err(unreadable(target, error)),
        Err(error) => Ok(Err(format!("the schema cannot be read: {}", message(error)))),
    }
}

/// What `PRAGMA integrity_check` has to say against the database.
pub(super) fn integrity_check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let read = || {
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check({PROBLEMS_MAX})"))?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        lines.collect::<rusqlite::Result<Vec<_>>>()
    };
    let lines = match read() {
        Ok(lines) => lines,
        Err(error) if is_unsound(&error) => vec![message(error)],
        Err(error) => return Err(error),
    };
    Ok(if lines == ["ok"] { Vec::new() } else { lines })
}

/// Whether it is the database that SQLite does not like: also one of a newer format, or one that needs what only some
/// application has.
fn is_unsound(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    let refused = matches!(error, rusqlite::Error::SqlInputError { .. });
    refused || matches!(error.sqlite_error_code(), Some(NotADatabase | DatabaseCorrupt | Unknown))
}

/// What SQLite says, without the statement that made it say so.
fn message(error: rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    }
}

fn is_temporary(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, OperationInterrupted, OutOfMemory};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | OperationInterrupted | OutOfMemory))
}

pub(super) fn unreadable(target: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{DatabaseBusy, OperationInterrupted};
    match error.sqlite_error_code() {
        Some(DatabaseBusy) => Error::target(format!("{} is being written", target.display()))
            .hint("wait until that is done")
            .because(error),
        Some(OperationInterrupted) => Error::interrupted(),
        _ => Error::input(format!("SQLite cannot read {}", target.display())).because(error),
    }
}
