//! SQLite's part of a check: the read transaction, the schema, and its own `integrity_check`.

use std::path::Path;

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::Schema;
use sqluice_format::check::spec::Table;
use sqluice_reader::connection::unreadable;

use super::connection::{begin, beside};
use super::snapshot::Snapshot;
use super::unverified::{self, Unverified};
use super::{PROBLEMS_MAX, spec};

/// A database that is read.
pub(super) struct Held {
    /// In a read transaction, so that the file does not change.
    pub(super) connection: Connection,
    /// Its pages, where the newest are in the log.
    pub(super) log: Option<Snapshot>,
}

/// Begins to read the database; or what SQLite says when it takes it for none, which our reader will explain.
pub(super) fn hold(target: &Path, cancel: &Cancel) -> Result<std::result::Result<Held, String>> {
    let path = std::path::absolute(target).map_err(|e| Error::read(target, e))?;
    let connection = match begin(&path, cancel) {
        Ok(connection) => connection,
        Err(error) if is_unsound(&error) => return Ok(Err(message(error))),
        Err(error) => return Err(unreadable(target, error)),
    };
    // An empty log stays so as far as this transaction is concerned: what is added to it now is not copied to the file.
    if beside(&path, "-wal").is_none_or(|bytes| bytes == 0) {
        return Ok(Ok(Held { connection, log: None }));
    }
    drop(connection);
    let (connection, log) = Snapshot::begin(&path, target, cancel)?;
    Ok(Ok(Held { connection, log: Some(log) }))
}

/// What the schema says of the tables, and what of them can't be verified; or why SQLite can't read it.
type Known = std::result::Result<(Vec<Table>, Vec<Unverified>), String>;

/// What is known of the tables of a database.
pub(super) fn tables(connection: &Connection, target: &Path, encoding: u32) -> Result<Known> {
    let read = Schema::from_catalogue(connection, String::new(), target).and_then(|schema| {
        let tables = spec::tables(&schema, encoding)?;
        let unverified = unverified::of_schema(&schema, &tables);
        Ok((tables, unverified))
    });
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(error) if is_temporary(&error) => Err(unreadable(target, error)),
        Err(error) => Ok(Err(format!("the schema cannot be read: {}", message(error)))),
    }
}

/// What `PRAGMA integrity_check` says.
pub(super) enum Said {
    /// What is wrong; nothing, if all is well.
    Problems(Vec<String>),
    /// It does not run: the database needs what an application brings to SQLite.
    Unanswered(String),
}

/// What `PRAGMA integrity_check` has to say against the database.
pub(super) fn integrity_check(connection: &Connection) -> rusqlite::Result<Said> {
    let read = || {
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check({PROBLEMS_MAX})"))?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        lines.collect::<rusqlite::Result<Vec<_>>>()
    };
    let lines = match read() {
        Ok(lines) => lines,
        Err(error) if is_unsound(&error) => {
            let message = message(error);
            let brought = ["no such collation sequence", "no such function", "unknown function"];
            if brought.iter().any(|what| message.contains(what)) {
                return Ok(Said::Unanswered(message));
            }
            vec![message]
        }
        Err(error) => return Err(error),
    };
    Ok(Said::Problems(if lines == ["ok"] { Vec::new() } else { lines }))
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
