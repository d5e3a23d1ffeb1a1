//! Makes pages part of a database and of SQLite's page cache, through a savepoint that is rolled back.
//!
//! ROLLBACK TO copies pages from the sub-journal into the page cache, marks them as dirty, drops their parsed form, and reads the number of
//! pages again. A page that was built outside of SQLite needs the same steps. So such pages are *lent* to ROLLBACK TO, which reads them as
//! if they were records of the sub-journal ([`sub_journal`]).
//!
//! ```text
//!  SAVEPOINT s     write page 1 unchanged, until SQLite keeps the sub-journal in a file
//!  ROLLBACK TO s   reads our pages first
//!  RELEASE s
//! ```
//!
//! Two things remain for SQL:
//!
//! * **The journal.** In rollback mode, a page may change only after the journal has its old content. SQLite journals every page that it
//!   writes. A BLOB reaches any page: a scratch table has a row whose overflow page is this page, and one byte of the value is rewritten
//!   unchanged. In WAL mode, the file keeps the old page until a checkpoint.
//! * **The last page.** SQLite counts pages up to the last page that it writes. So SQLite temporarily sees an empty schema and one page
//!   less, and creates a table whose root is the last page.
//!
//! Invariant: a page of the old database is lent only after SQLite has journaled it. No other statement may be open meanwhile.

use std::sync::OnceLock;

use rusqlite::{Connection, Error, ErrorCode, OpenFlags, ffi};
use sqluice_format::page::{DATABASE_HEADER_BYTES, PageKind, write_header};
use sqluice_format::varint;

use super::sub_journal::{self, NUMBER_BYTES};

/// The offsets in page 1 of the number of pages, of the freelist (its first page and its number of pages) and of `user_version`.
const PAGE_COUNT_AT: usize = 28;
const FREELIST_AT: usize = 32;
const USER_VERSION_AT: usize = 60;

/// The largest size of a sub-journal that SQLite keeps in memory. Only a longer one is a file, whose reads can be replaced.
const IN_MEMORY_BYTES: usize = 64 << 10;

/// The number of cells of the scratch table on one leaf: they fit on a leaf of any page size.
const CELLS: usize = 4;

/// The name of the scratch table.
const TABLE: &str = "sqluice pages";

/// Returns `true` if ROLLBACK TO in this build of SQLite can be made to read our pages as if they were records of the sub-journal. The
/// first call tries this with a temporary database.
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

/// Returns page 1 as this transaction sees it.
fn page_1(connection: &Connection) -> rusqlite::Result<Vec<u8>> {
    match lend(connection, &[])? {
        Some((1, page)) => Ok(page),
        _ => Err(not_taken()),
    }
}

/// Puts `pages` into SQLite's page cache by ROLLBACK TO, which reads them before the records of SQLite's own sub-journal. Returns the first
/// of these records: page 1 as it is now. Returns `None` if SQLite reads no such record.
fn lend(connection: &Connection, pages: &[(u32, &[u8])]) -> rusqlite::Result<Option<(u32, Vec<u8>)>> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let page_bytes = usize::try_from(number("PRAGMA main.page_size")?).unwrap_or(0);
    let touch = format!("PRAGMA main.user_version = {};", number("PRAGMA main.user_version")?);
    let records = pages.len().max(IN_MEMORY_BYTES / (page_bytes + NUMBER_BYTES)) + 1;
    // Pages journaled after a savepoint are rolled back before the sub-journal is read. So page 1 is touched before the savepoint, too.
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
    let why = "SQLite did not read the lent pages from its sub-journal".to_owned();
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERNAL), Some(why))
}

/// Makes pages part of the database: the existing pages `overwritten`, and, if the database has grown, its `last` page with its number.
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

/// Makes SQLite see an empty schema and `page_count` pages, and creates the scratch table: its root is the next page. Returns the root
/// page.
fn make_table(connection: &Connection, page_1: &[u8], page_count: u32) -> rusqlite::Result<u32> {
    lend(connection, &[(1, &without_schema(page_1, page_count))])?;
    connection.execute_batch(&format!("CREATE TABLE main.\"{TABLE}\" (content)"))?;
    connection.query_row("SELECT rootpage FROM main.sqlite_schema", [], |row| row.get(0))
}

/// Returns page 1 with an empty schema table, the given number of pages and an empty freelist.
fn without_schema(page_1: &[u8], page_count: u32) -> Vec<u8> {
    let mut page = page_1.to_vec();
    page[DATABASE_HEADER_BYTES..].fill(0);
    page[PAGE_COUNT_AT..PAGE_COUNT_AT + 4].copy_from_slice(&page_count.to_be_bytes());
    page[FREELIST_AT..FREELIST_AT + 8].fill(0);
    let end = page.len();
    write_header(&mut page[DATABASE_HEADER_BYTES..], PageKind::LeafTable, 0, end);
    page
}

/// Makes SQLite save the old content of the pages `numbers` in its journal, so that these pages may change.
fn journal(connection: &Connection, page_1: &[u8], page_count: u32, numbers: &[u32]) -> rusqlite::Result<()> {
    connection.execute_batch("SAVEPOINT \"sqluice journal\"")?;
    let root = make_table(connection, page_1, page_count)?;
    for numbers in numbers.chunks(CELLS) {
        lend(connection, &[(root, &leaf(page_1.len(), numbers))])?;
        // SQLite must read the leaf and cached pages again. Dirty pages stay in the cache.
        connection.execute_batch("PRAGMA shrink_memory")?;
        (1..).zip(numbers).try_for_each(|(row, _)| touch(connection, row))?;
    }
    connection.execute_batch("ROLLBACK TO \"sqluice journal\"; RELEASE \"sqluice journal\"")
}

/// Rewrites the last byte of the BLOB in the row `row` unchanged: SQLite journals the page of this byte.
fn touch(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    let mut blob = connection.blob_open("main", TABLE, "content", row, false)?;
    let at = blob.len() - 1;
    let mut byte = [0];
    blob.read_at_exact(&mut byte, at)?;
    match blob.write_at(&byte, at) {
        // SQLite refuses to write a page as part of a BLOB if the page is cached as a page of a tree. Only dirty pages are still cached,
        // and a dirty page is already in the journal.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => Ok(()),
        other => other,
    }
}

/// Returns a leaf of the scratch table. Its rows are numbered from 1, and the overflow page of each row's BLOB is one of the pages
/// `numbers`.
fn leaf(page_bytes: usize, numbers: &[u32]) -> Vec<u8> {
    // The bytes on the leaf of a value with one overflow page (<https://www.sqlite.org/fileformat2.html#b_tree_pages>).
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

/// Returns the header of a record of `bytes` bytes whose only value is a BLOB.
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

    /// A database before and after a change by SQL: the pages, and the content of the table.
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

        /// Begins a transaction, runs `before`, and makes the new pages part of the database.
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

    /// Returns the content of the table.
    fn content(path: &Path) -> (i64, String) {
        sum(&Connection::open(path).unwrap())
    }

    /// Returns the content of the table after a crash at this moment.
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
    fn pages_put_into_a_transaction_are_part_of_the_database_before_and_after_commit() {
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
    fn pages_put_into_a_transaction_replace_pages_that_earlier_sql_has_changed() {
        each(|mode, change| {
            // The UPDATEs leave the pages changed and parsed in the cache of SQLite.
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
    fn a_crash_before_commit_leaves_the_old_pages_even_if_new_pages_are_in_the_file() {
        for before in ["", "UPDATE t SET c = c + 1; UPDATE t SET c = c - 1;"] {
            each(|mode, change| {
                let connection = change.publish(mode, before);
                assert_eq!(after_a_crash(&change.path), change.content[0], "{mode} {}", change.page_bytes);
                // A small cache writes dirty pages to the file or the WAL before the transaction ends.
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
