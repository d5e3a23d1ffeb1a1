//! Opens and checks databases with SQLite, the library and the system's `sqlite3`.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::skip;

/// Opens a database without syncs, which tests do not need. If the database is damaged, the settings fail without an error here: the first
/// query reports the damage.
///
/// # Panics
/// If the file can't be opened.
pub fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    let _ = connection.execute_batch("PRAGMA synchronous = off; PRAGMA journal_mode = memory;");
    connection
}

/// Returns the result of `PRAGMA integrity_check`: `ok`, or the problems or an error as text.
pub fn integrity(connection: &Connection) -> String {
    let lines = || {
        connection
            .prepare("PRAGMA integrity_check")?
            .query_map([], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()
    };
    lines().map_or_else(|error| error.to_string(), |lines| lines.join("\n"))
}

/// Returns the result of `PRAGMA integrity_check` for the database in a file.
pub fn integrity_of(path: &Path) -> String {
    Connection::open(path).map_or_else(|error| error.to_string(), |connection| integrity(&connection))
}

/// Returns the output of the system's `sqlite3` for some SQL. If the program is not installed, returns `None` and the running test is
/// [skipped](skip::skipped).
///
/// # Panics
/// In CI if the program is not installed, and everywhere if it can't be started.
#[track_caller]
pub fn sqlite3(path: &Path, sql: &str) -> Option<String> {
    if !skip::has("sqlite3") {
        return None;
    }
    let output = Command::new("sqlite3").arg(path).arg(sql).output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    Some(format!("{out}{err}").trim_end().to_owned())
}
