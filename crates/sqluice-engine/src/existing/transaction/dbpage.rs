//! Has SQLite cut off the tail of a file, through the virtual table `sqlite_dbpage`, if SQLite is built with it.

use rusqlite::{Connection, params};
use sqluice_reader::dbpage::read;

/// The offset in page 1 of the number of pages.
const PAGE_COUNT_AT: usize = 28;

fn write(connection: &Connection, number: u32, bytes: &[u8]) -> rusqlite::Result<()> {
    let sql = "INSERT INTO sqlite_dbpage (pgno, data) VALUES (?1, ?2)";
    connection.prepare(sql)?.execute(params![number, bytes]).map(drop)
}

/// Makes SQLite truncate the file at COMMIT, after page `page_count`, and rewrites page 1 unchanged. SQLite truncates only pages that it
/// counts: so page 1 temporarily counts one page more.
pub(super) fn cut_tail(connection: &Connection, page_count: u32) -> rusqlite::Result<()> {
    let page_1 = read(connection, 1)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let mut longer = page_1.clone();
    longer[PAGE_COUNT_AT..PAGE_COUNT_AT + 4].copy_from_slice(&(page_count + 1).to_be_bytes());
    write(connection, 1, &longer)?;
    connection.execute_batch("SAVEPOINT sqluice; RELEASE sqluice")?;
    write(connection, 1, &page_1)?;
    let cut = "INSERT INTO sqlite_dbpage (pgno, data) VALUES (?1, NULL)";
    connection.prepare(cut)?.execute([page_count + 1]).map(drop)
}
