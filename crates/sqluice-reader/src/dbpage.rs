//! Pages through SQLite: the virtual table `sqlite_dbpage` ([docs](https://www.sqlite.org/dbpage.html)), as a transaction sees them.

use rusqlite::{Connection, OptionalExtension};

/// Whether this SQLite has the virtual table.
///
/// # Errors
/// When SQLite can't be asked.
pub fn is_available(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage')";
    connection.query_row(sql, [], |row| row.get(0))
}

/// A page as this transaction sees it; `None` past the last.
///
/// # Errors
/// When SQLite can't read it.
pub fn read(connection: &Connection, number: u32) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT data FROM sqlite_dbpage('main') WHERE pgno = ?1";
    connection.prepare_cached(sql)?.query_row([number], |row| row.get(0)).optional()
}

/// Copies a page to `into`, which has its size; whether it exists.
///
/// # Errors
/// When SQLite can't read it.
pub fn read_into(connection: &Connection, number: u32, into: &mut [u8]) -> rusqlite::Result<bool> {
    let sql = "SELECT data FROM sqlite_dbpage('main') WHERE pgno = ?1";
    let copied = connection.prepare_cached(sql)?.query_row([number], |row| {
        let page = row.get_ref(0)?.as_blob()?;
        if page.len() != into.len() {
            return Ok(false);
        }
        into.copy_from_slice(page);
        Ok(true)
    });
    Ok(copied.optional()?.unwrap_or(false))
}
