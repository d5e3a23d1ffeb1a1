//! Pages through SQLite: the virtual table `sqlite_dbpage`, which copies bytes under the B-tree layer.
//!
//! What SQLite has cached of a page that is written so it does not read again: counts are 0, and inserts find the database
//! malformed. Rolled back to a savepoint, a page forgets what was made of it:
//!
//! ```text
//!  SAVEPOINT s      write the existing pages            ROLLBACK TO s      RELEASE s       they are read again from now on
//!  write            the same pages, and the last one: the pager counts up to it
//!  write            page 1, read after everything else, with the number of pages
//!  SAVEPOINT s      RELEASE s                                              the B-tree layer reads that number
//! ```
//!
//! No other statement may be open meanwhile.

use rusqlite::{Connection, params};
use sqluice_reader::dbpage::read;

/// Where page 1 has the number of pages.
const PAGE_COUNT_AT: usize = 28;

fn write(connection: &Connection, number: u32, bytes: &[u8]) -> rusqlite::Result<()> {
    let sql = "INSERT INTO sqlite_dbpage (pgno, data) VALUES (?1, ?2)";
    connection.prepare(sql)?.execute(params![number, bytes]).map(drop)
}

/// Cuts the file behind the last page when this is committed, and writes page 1 as it is. SQLite cuts only what it counts: so for
/// a moment it counts a page more.
pub(super) fn cut_tail(connection: &Connection, page_count: u32) -> rusqlite::Result<()> {
    let page_1 = read(connection, 1)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    write(connection, 1, &with_page_count(&page_1, page_count + 1))?;
    connection.execute_batch("SAVEPOINT sqluice; RELEASE sqluice")?;
    write(connection, 1, &page_1)?;
    let cut = "INSERT INTO sqlite_dbpage (pgno, data) VALUES (?1, NULL)";
    connection.prepare(cut)?.execute([page_count + 1]).map(drop)
}

fn with_page_count(page_1: &[u8], page_count: u32) -> Vec<u8> {
    let mut page_1 = page_1.to_vec();
    page_1[PAGE_COUNT_AT..PAGE_COUNT_AT + 4].copy_from_slice(&page_count.to_be_bytes());
    page_1
}

/// Makes pages part of the database: `overwritten` are the existing ones; `last` is the one that it ends with now, with its
/// number, if it has grown.
pub(super) fn publish(
    connection: &Connection,
    overwritten: &[(u32, Vec<u8>)],
    last: Option<(u32, &[u8])>,
) -> rusqlite::Result<()> {
    connection.execute_batch("SAVEPOINT sqluice")?;
    for (number, bytes) in overwritten {
        write(connection, *number, bytes)?;
    }
    connection.execute_batch("ROLLBACK TO sqluice; RELEASE sqluice")?;
    for (number, bytes) in overwritten {
        write(connection, *number, bytes)?;
    }
    if let Some((number, bytes)) = last {
        write(connection, number, bytes)?;
        let page_1 = read(connection, 1)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        write(connection, 1, &with_page_count(&page_1, number))?;
    }
    connection.execute_batch("SAVEPOINT sqluice; RELEASE sqluice")
}
