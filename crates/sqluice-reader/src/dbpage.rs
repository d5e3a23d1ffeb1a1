//! Pages as a transaction sees them, read through SQLite's virtual table `sqlite_dbpage` ([docs](https://www.sqlite.org/dbpage.html)).

use rusqlite::{Connection, OptionalExtension};

/// Returns `true` if this build of SQLite has the virtual table `sqlite_dbpage`.
///
/// # Errors
/// When SQLite can't run the query.
pub fn is_available(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage')";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Returns page `number` as the open transaction of the connection sees it, or `None` if the database has fewer pages.
///
/// # Errors
/// When SQLite can't read the page.
pub fn read(connection: &Connection, number: u32) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT data FROM sqlite_dbpage('main') WHERE pgno = ?1";
    connection.prepare_cached(sql)?.query_row([number], |row| row.get(0)).optional()
}

/// Copies page `number` to `into`. Returns `false` if the page does not exist, or if the page and `into` differ in size.
///
/// # Errors
/// When SQLite can't read the page.
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
