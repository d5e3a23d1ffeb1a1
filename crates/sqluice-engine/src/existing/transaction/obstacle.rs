//! Reasons why pages can't be written into a database directly. SQLite must insert the rows then.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use sqluice_format::database::Header;

use sqluice_reader::dbpage;

use super::playback;
use crate::existing::Existing;

/// The first schema format with descending indexes, and with integers 0 and 1 that take no bytes.
const SCHEMA_FORMAT: u32 = 4;

/// Returns the reason why pages can never be written into this database, because of a property such as its text encoding, as a sentence for
/// the plan. Returns `None` if no property is an obstacle.
pub(in crate::existing) fn of_kind(existing: &Existing) -> rusqlite::Result<Option<String>> {
    let connection = &existing.connection;
    let auto_vacuum: i64 = connection.query_row("PRAGMA main.auto_vacuum", [], |row| row.get(0))?;
    let mode = existing.journal_mode();
    let why = match () {
        () if !playback::works() => {
            "this build of SQLite keeps its temporary files in memory (SQLITE_TEMP_STORE=3), or uses a VFS of the program"
                .to_owned()
        }
        () if connection.db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE)? => {
            "SQLite is in defensive mode, in which it takes no pages".to_owned()
        }
        () if auto_vacuum != 0 => {
            "it is an auto_vacuum database, whose pointer map only SQLite keeps".to_owned()
        }
        () if existing.geometry.reserved_bytes() > 0 => {
            let bytes = existing.geometry.reserved_bytes();
            format!("each page ends with {bytes} bytes of an extension, which only SQLite can fill")
        }
        () if existing.encoding() != "UTF-8" => format!("its text is {}", existing.encoding()),
        () if !["delete", "truncate", "persist", "wal"].contains(&mode) => {
            format!("its journal mode is {mode}")
        }
        () if attached(connection)? => "other databases are attached to it".to_owned(),
        () => return Ok(None),
    };
    Ok(Some(why))
}

/// Returns the reason why pages can't be written into the database in its present state, such as a tail past its last page. Called under
/// the write lock, after the tail was cut off if that was possible.
pub(in crate::existing) fn of_state(
    existing: &Existing,
    file_bytes: u64,
) -> rusqlite::Result<Option<String>> {
    let connection = &existing.connection;
    let page_1 = match dbpage::is_available(connection)? {
        true => dbpage::read(connection, 1)?,
        false => existing.page_of_file(1).ok().flatten(),
    };
    let Some(page_1) = page_1 else {
        // An empty database has no page: SQLite writes the first page with the first table.
        return Ok((file_bytes > 0).then(|| "it has bytes, but no pages".to_owned()));
    };
    let header = match Header::from_bytes(&page_1) {
        Ok(header) => header,
        Err(error) => return Ok(Some(format!("invalid database header ({error:?})"))),
    };
    let pages: u32 = connection.query_row("PRAGMA main.page_count", [], |row| row.get(0))?;
    let bytes = u64::from(pages) * existing.geometry.page_bytes() as u64;
    let is_new = file_bytes == 0;
    let why = match () {
        () if header.geometry.page_size() != existing.geometry.page_size()
            || header.geometry.reserved_bytes() > 0 =>
        {
            "its pages have changed their size".to_owned()
        }
        () if !is_new && header.change_counter != header.valid_for => {
            "it was last written by an old version of SQLite, which does not store the page count".to_owned()
        }
        () if header.schema_format != 0 && header.schema_format < SCHEMA_FORMAT => {
            format!(
                "its schema format is {}, and pages can be written only in format 4",
                header.schema_format
            )
        }
        () if !is_new && file_bytes != bytes => {
            format!("its file has {file_bytes} bytes, but its {pages} pages take {bytes}")
        }
        () => return Ok(None),
    };
    Ok(Some(why))
}

fn attached(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_database_list WHERE name NOT IN ('main', 'temp'))";
    connection.query_row(sql, [], |row| row.get(0))
}
