//! Pages through SQLite: they become part of a database, and of SQLite's cache, by a savepoint that is rolled back.
//!
//! ROLLBACK TO copies pages from the sub-journal into SQLite's cache, marks them as changed, forgets what was made of them before, and
//! reads the number of pages again: all that is needed of a page that was made elsewhere. So pages are lent to it as if they were
//! its own records ([`sub_journal`]).
//!
//! ```text
//!  SAVEPOINT s     write page 1 as it is, until SQLite keeps the sub-journal in a file
//!  ROLLBACK TO s   reads our pages first
//!  RELEASE s
//! ```
//!
//! Two things remain for SQL:
//!
//! * **The journal.** In rollback mode, a page may change only once the journal has it as it was. SQLite notes that for every page that it
//!   writes. A BLOB reaches any page: a table of our own has a row whose value continues on that page, and one byte of it is written as
//!   it is. In WAL mode the file keeps the old page until a checkpoint.
//! * **The last page.** SQLite counts up to the last page that it writes. So it is shown an empty schema and a page less for a moment,
//!   and makes a table, whose root is that page.
//!
//! Invariant: a page of the old database is lent only when SQLite has journaled it. No other statement may be open meanwhile.

use std::sync::OnceLock;

use rusqlite::{Connection, Error, ErrorCode, OpenFlags, ffi};
use sqluice_format::page::{DATABASE_HEADER_BYTES, PageKind, write_header};
use sqluice_format::varint;

use super::sub_journal::{self, NUMBER_BYTES};

/// Where page 1 has the number of pages, and the free pages.
const PAGE_COUNT_AT: usize = 28;
const FREELIST_AT: usize = 32;
const USER_VERSION_AT: usize = 60;

/// SQLite keeps that much of a sub-journal in memory.
const IN_MEMORY_BYTES: usize = 64 << 10;

/// Cells that fit on a leaf of any size.
const CELLS: usize = 4;

/// The table of our own, in its moment.
const TABLE: &str = "sqluice pages";

/// Whether SQLite takes pages in this way: tried once, with a temporary database.
pub(super) fn works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| try_it().unwrap_or(false))
}

fn try_it() -> rusqlite::Result<bool> {
    let Some(name) = sub_journal::name() else { return Ok(false) };
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags_and_vfs("", flags, name)?;
    connection.execute_batch("PRAGMA temp_store = FILE; BEGIN IMMEDIATE; CREATE TABLE t (a)")?;
    let mut page_1 = page_1(&connection)?;
    page_1[USER_VERSION_AT..USER_VERSION_AT + 4].copy_from_slice(&7u32.to_be_bytes());
    lend(&connection, &[(1, &page_1)])?;
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? == 7)
}

/// Page 1, as this transaction sees it.
fn page_1(connection: &Connection) -> rusqlite::Result<Vec<u8>> {
    match lend(connection, &[])? {
        Some((1, page)) => Ok(page),
        _ => Err(not_taken()),
    }
}

/// Gives SQLite these pages; returns a record of its own.
fn lend(connection: &Connection, pages: &[(u32, &[u8])]) -> rusqlite::Result<Option<(u32, Vec<u8>)>> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let page_bytes = usize::try_from(number("PRAGMA main.page_size")?).unwrap_or(0);
    let touch = format!("PRAGMA main.user_version = {};", number("PRAGMA main.user_version")?);
    let records = pages.len().max(IN_MEMORY_BYTES / (page_bytes + NUMBER_BYTES)) + 1;
    // What is journaled after a savepoint is rolled back before the sub-journal is read: so page 1 is touched before, too.
    connection.execute_batch(&format!(
        "{touch} SAVEPOINT \"sqluice playback\"; {touch} {}",
        format!("SAVEPOINT \"sqluice record\"; {touch}").repeat(records - 1)
    ))?;
    let rolled_back = || connection.execute_batch("ROLLBACK TO \"sqluice playback\"");
    let (rolled_back, played) = sub_journal::lend(pages, rolled_back);
    rolled_back?;
    connection.execute_batch("RELEASE \"sqluice playback\"")?;
    if played.lent != pages.len() {
        return Err(not_taken());
    }
    Ok(played.own)
}

fn not_taken() -> Error {
    let why = "SQLite did not read its sub-journal as it does otherwise".to_owned();
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERNAL), Some(why))
}

/// Makes pages part of the database: `overwritten` are the existing ones; `last` is the one that it ends with now, with its
/// number, if it has grown.
pub(super) fn publish(
    connection: &Connection,
    overwritten: &[(u32, Vec<u8>)],
    last: Option<(u32, &[u8])>,
) -> rusqlite::Result<()> {
    let page_1 = page_1(connection)?;
    let page_count = get_u32(&page_1, PAGE_COUNT_AT);
    let before_scratch = last.map_or(page_count, |(number, _)| number - 1);
    let mode: String = connection.query_row("PRAGMA main.journal_mode", [], |row| row.get(0))?;
    if mode != "wal" && !overwritten.is_empty() {
        let numbers: Vec<u32> = overwritten.iter().map(|(number, _)| *number).collect();
        journal(connection, &page_1, before_scratch, &numbers)?;
    }
    let mut pages: Vec<(u32, &[u8])> =
        overwritten.iter().map(|(number, bytes)| (*number, &bytes[..])).collect();
    let Some((number, bytes)) = last else { return lend(connection, &pages).map(drop) };
    if make_table(connection, &page_1, before_scratch)? != number {
        return Err(not_taken());
    }
    let mut counted = page_1;
    counted[PAGE_COUNT_AT..PAGE_COUNT_AT + 4].copy_from_slice(&number.to_be_bytes());
    pages.extend([(1, &counted[..]), (number, bytes)]);
    lend(connection, &pages).map(drop)
}

/// Makes the table behind that number of pages; returns its root page.
fn make_table(connection: &Connection, page_1: &[u8], page_count: u32) -> rusqlite::Result<u32> {
    lend(connection, &[(1, &without_schema(page_1, page_count))])?;
    connection.execute_batch(&format!("CREATE TABLE main.\"{TABLE}\" (content)"))?;
    connection.query_row("SELECT rootpage FROM main.sqlite_schema", [], |row| row.get(0))
}

/// Page 1 with an empty schema table, that number of pages, and none of them free.
fn without_schema(page_1: &[u8], page_count: u32) -> Vec<u8> {
    let mut page = page_1.to_vec();
    page[DATABASE_HEADER_BYTES..].fill(0);
    page[PAGE_COUNT_AT..PAGE_COUNT_AT + 4].copy_from_slice(&page_count.to_be_bytes());
    page[FREELIST_AT..FREELIST_AT + 8].fill(0);
    let end = page.len();
    write_header(&mut page[DATABASE_HEADER_BYTES..], PageKind::LeafTable, 0, end);
    page
}

/// Has SQLite journal these pages as they are.
fn journal(connection: &Connection, page_1: &[u8], page_count: u32, numbers: &[u32]) -> rusqlite::Result<()> {
    connection.execute_batch("SAVEPOINT \"sqluice journal\"")?;
    let root = make_table(connection, page_1, page_count)?;
    for numbers in numbers.chunks(CELLS) {
        lend(connection, &[(root, &leaf(page_1.len(), numbers))])?;
        // A page that SQLite has looked at must be read again; those that were changed stay.
        connection.execute_batch("PRAGMA shrink_memory")?;
        (1..).zip(numbers).try_for_each(|(row, _)| touch(connection, row))?;
    }
    connection.execute_batch("ROLLBACK TO \"sqluice journal\"; RELEASE \"sqluice journal\"")
}

/// Writes the last byte of a value as it is.
fn touch(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    let mut blob = connection.blob_open("main", TABLE, "content", row, false)?;
    let at = blob.len() - 1;
    let mut byte = [0];
    blob.read_at_exact(&mut byte, at)?;
    match blob.write_at(&byte, at) {
        // SQLite refuses to write it as part of a BLOB where it is in the cache as a page of a tree. That it still is shows that it
        // was changed, and so is in the journal.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => Ok(()),
        other => other,
    }
}

/// A leaf of the table whose rows are numbered from 1; each has a BLOB that continues on one of these pages.
fn leaf(page_bytes: usize, numbers: &[u32]) -> Vec<u8> {
    // What stays on the leaf of a value that takes one more page (<https://www.sqlite.org/fileformat2.html#b_tree_pages>).
    let local = (page_bytes - 12) * 32 / 255 - 23;
    let payload = local + page_bytes - 4;
    let mut page = vec![0; page_bytes];
    let mut start = page_bytes;
    for (index, (row, number)) in (1..).zip(numbers).enumerate() {
        let mut cell = Vec::new();
        varint::push(&mut cell, payload as u64);
        varint::push(&mut cell, row);
        let record_start = cell.len();
        cell.extend(record_header(payload));
        cell.resize(record_start + local, 0);
        cell.extend(number.to_be_bytes());
        start -= cell.len();
        page[start..start + cell.len()].copy_from_slice(&cell);
        let pointer = PageKind::LeafTable.header_bytes() + 2 * index;
        page[pointer..pointer + 2].copy_from_slice(&(start as u16).to_be_bytes());
    }
    write_header(&mut page, PageKind::LeafTable, numbers.len(), start);
    page
}

/// The header of a record of that many bytes whose only value is a BLOB.
fn record_header(bytes: usize) -> Vec<u8> {
    let mut header_bytes = 2;
    loop {
        let mut header = vec![header_bytes as u8];
        varint::push(&mut header, 12 + 2 * (bytes - header_bytes) as u64);
        if header.len() == header_bytes {
            return header;
        }
        header_bytes += 1;
    }
}

fn get_u32(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use tempfile::TempDir;

    use super::*;

    const MODES: [&str; 4] = ["delete", "truncate", "persist", "wal"];

    /// A database, and what SQL makes of it: the pages of both, and what the table holds in both.
    struct Change {
        _home: TempDir,
        path: PathBuf,
        page_bytes: usize,
        old: Vec<u8>,
        new: Vec<u8>,
        content: [(i64, String); 2],
    }

    const MORE_ROWS: &str = "WITH n(i) AS (SELECT 3001 UNION ALL SELECT i + 1 FROM n LIMIT 9000)
        INSERT INTO t SELECT i, i % 9999 + 300, printf('%x', i * 7919) FROM n";

    const OTHER_VALUES: &str = "UPDATE t SET c = c + 1";

    impl Change {
        fn new(mode: &str, page_bytes: usize, sql: &str) -> Change {
            let home = tempfile::tempdir().unwrap();
            let [path, changed] = ["x.db", "y.db"].map(|name| home.path().join(name));
            let database = Connection::open(&path).unwrap();
            database
                .execute_batch(&format!(
                    "PRAGMA page_size = {page_bytes}; PRAGMA journal_mode = {mode}; PRAGMA synchronous = OFF;
                     CREATE TABLE t (a INTEGER PRIMARY KEY, c INTEGER, b); CREATE INDEX t_b ON t (b);
                     WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
                     INSERT INTO t SELECT i, i % 9999 + 300, printf('%x', i * 7919) FROM n"
                ))
                .unwrap();
            database.close().unwrap();
            std::fs::copy(&path, &changed).unwrap();
            let database = Connection::open(&changed).unwrap();
            database.execute_batch(sql).unwrap();
            database.close().unwrap();
            let [old, new] = [&path, &changed].map(|path| std::fs::read(path).unwrap());
            let content = [content(&path), content(&changed)];
            Change { _home: home, path, page_bytes, old, new, content }
        }

        /// In a transaction in which the new pages are part of the database, by way of `before`.
        fn publish(&self, mode: &str, before: &str) -> Connection {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
            let name = sub_journal::name().expect("the file system is SQLite's own");
            let connection = Connection::open_with_flags_and_vfs(&self.path, flags, name).unwrap();
            connection
                .execute_batch(&format!(
                    "PRAGMA journal_mode = {mode}; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;
                     PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE; SELECT sum(c) FROM t; {before}"
                ))
                .unwrap();
            let pages = |bytes: &[u8]| bytes.chunks(self.page_bytes).map(<[u8]>::to_vec).collect::<Vec<_>>();
            let (old, new) = (pages(&self.old), pages(&self.new));
            let mut file = std::fs::OpenOptions::new().append(true).open(&self.path).unwrap();
            let last = (new.len() > old.len()).then(|| (new.len() as u32, &new[new.len() - 1][..]));
            if last.is_some() {
                std::io::Write::write_all(&mut file, &new[old.len()..new.len() - 1].concat()).unwrap();
            }
            let both = (1..).zip(old.iter().zip(&new)).skip(1);
            let overwritten = both.filter(|(_, (old, new))| old != new);
            let overwritten: Vec<(u32, Vec<u8>)> =
                overwritten.map(|(number, (_, new))| (number, new.clone())).collect();
            assert!(!overwritten.is_empty());
            publish(&connection, &overwritten, last).unwrap();
            connection
        }
    }

    fn sum(connection: &Connection) -> (i64, String) {
        let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok");
        let sql = "SELECT count(*), group_concat(c || b) FROM (SELECT c, b FROM t ORDER BY b, a)";
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    /// What the table of a sound database holds.
    fn content(path: &Path) -> (i64, String) {
        sum(&Connection::open(path).unwrap())
    }

    /// What a crash at this moment leaves.
    fn after_a_crash(path: &Path) -> (i64, String) {
        let home = tempfile::tempdir().unwrap();
        let copy = home.path().join("x.db");
        for suffix in ["", "-journal", "-wal"] {
            let beside = |path: &Path| {
                let mut name = path.as_os_str().to_owned();
                name.push(suffix);
                PathBuf::from(name)
            };
            if beside(path).exists() {
                std::fs::copy(beside(path), beside(&copy)).unwrap();
            }
        }
        content(&copy)
    }

    fn each(mut test: impl FnMut(&str, &Change)) {
        for mode in MODES {
            for page_bytes in [512, 1024, 4096, 65536] {
                for sql in [MORE_ROWS, OTHER_VALUES] {
                    test(mode, &Change::new(mode, page_bytes, sql));
                }
            }
        }
    }

    #[test]
    fn pages_are_part_of_the_database_before_and_after_commit() {
        each(|mode, change| {
            let connection = change.publish(mode, "");
            assert_eq!(sum(&connection), change.content[1], "{mode} {}", change.page_bytes);
            connection
                .execute_batch("COMMIT; CREATE TABLE more (x); INSERT INTO more SELECT b FROM t")
                .unwrap();
            connection.close().unwrap();
            assert_eq!(content(&change.path), change.content[1], "{mode} {}", change.page_bytes);
        });
    }

    #[test]
    fn pages_that_the_transaction_has_changed_itself_are_replaced() {
        each(|mode, change| {
            // They are in the cache, changed, and have been looked at.
            let connection = change.publish(mode, "UPDATE t SET c = c + 1; UPDATE t SET c = c - 1;");
            assert_eq!(sum(&connection), change.content[1], "{mode} {}", change.page_bytes);
            connection.execute_batch("COMMIT").unwrap();
            connection.close().unwrap();
            assert_eq!(content(&change.path), change.content[1], "{mode} {}", change.page_bytes);
        });
    }

    #[test]
    fn rollback_brings_the_old_pages_back() {
        for before in ["", "UPDATE t SET c = c + 1; UPDATE t SET c = c - 1;"] {
            each(|mode, change| {
                let connection = change.publish(mode, before);
                connection.execute_batch("ROLLBACK").unwrap();
                assert_eq!(sum(&connection), change.content[0], "{mode} {}", change.page_bytes);
                connection.close().unwrap();
                assert_eq!(content(&change.path), change.content[0], "{mode} {}", change.page_bytes);
            });
        }
    }

    #[test]
    fn a_crash_leaves_the_old_pages_also_when_new_ones_are_in_the_file_already() {
        for before in ["", "UPDATE t SET c = c + 1; UPDATE t SET c = c - 1;"] {
            each(|mode, change| {
                let connection = change.publish(mode, before);
                assert_eq!(after_a_crash(&change.path), change.content[0], "{mode} {}", change.page_bytes);
                // A small cache writes what it has to the file, or to the log, before the transaction ends.
                let flush = "PRAGMA cache_size = 5; UPDATE t SET c = c + 1; PRAGMA shrink_memory";
                connection.execute_batch(flush).unwrap();
                connection.cache_flush().unwrap();
                if mode != "wal" {
                    assert_ne!(std::fs::read(&change.path).unwrap()[..change.old.len()], change.old);
                }
                assert_eq!(after_a_crash(&change.path), change.content[0], "{mode} {}", change.page_bytes);
            });
        }
    }
}
