//! The text of statements for SQLite, and the errors about them.

use std::ops::Range;

use sqluice_core::error::{Error, Result};
use sqluice_core::sqlite_error::failed;
use sqluice_sources::dump::DumpFile;

use super::guard::Guard;

/// Returns the text of statements for SQLite.
pub(super) fn text_of(file: &DumpFile, range: Range<u64>) -> Result<String> {
    let mut bytes = Vec::new();
    file.read(range.start, (range.end - range.start) as usize, &mut bytes)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = range.start + error.utf8_error().valid_up_to() as u64;
        Error::input("this statement is not UTF-8, so SQLite can't run it").at(file.place(at))
    })
}

/// Explains why SQLite does not run a statement.
pub(super) fn explained(
    file: &DumpFile,
    range: &Range<u64>,
    sql: &str,
    guard: &Guard,
    error: rusqlite::Error,
) -> Error {
    let offset = match &error {
        rusqlite::Error::SqlInputError { sql: rest, offset, .. } => {
            (sql.len() - rest.len().min(sql.len())) as u64 + u64::try_from(*offset).unwrap_or(0)
        }
        _ => 0,
    };
    if let Some(what) = guard.take().denied {
        return Error::input(format!("a dump only fills its database, and this statement {what}"))
            .at(file.place(range.start))
            .hint("look at what the dump does, and take the statement out");
    }
    let message = match &error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        _ => return failed(error, "run a statement of the dump").at(file.place(range.start)),
    };
    Error::input(message).at(file.place(range.start + offset))
}

/// Checks that each foreign key refers to a row. Statements may have dropped and altered tables, so SQLite checks all tables.
fn check_foreign_keys(connection: &Connection, file: &DumpFile) -> Result<()> {
    let cannot = |error| failed(error, "check the foreign keys of the dump");
    let mut check = connection.prepare("PRAGMA foreign_key_check").map_err(cannot)?;
    let mut rows = check.query([]).map_err(cannot)?;
    let Some(row) = rows.next().map_err(cannot)? else { return Ok(()) };
    let (child, rowid): (String, Option<i64>) = (row.get(0).map_err(cannot)?, row.get(1).map_err(cannot)?);
    let parent: String = row.get(2).map_err(cannot)?;
    let which = rowid.map_or_else(|| "a row".to_owned(), |rowid| format!("the row with rowid {rowid}"));
    Err(Error::input(format!(
        "FOREIGN KEY constraint failed: {which} of {child} refers to no row of {parent}"
    ))
    .at(Place::file(file.name())))
}
