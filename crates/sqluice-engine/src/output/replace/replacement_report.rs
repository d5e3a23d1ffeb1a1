//! The content of a database that is replaced: its tables and their row counts.
//!
//! Reading takes no locks, changes nothing, and never fails: parts that can't be read are reported. A table of up to [`COUNTED_ROWS_MAX`]
//! rows is counted. For a larger table, a few paths from the root to a leaf give an estimate:
//!
//! ```text
//!  interior page, 3 children
//!    └─ interior page, 200 children
//!         └─ leaf, 40 cells              3 × 200 × 40 = 24,000 rows
//! ```
//!
//! A path goes down by one child of each page, as if all children of a level were alike. The estimate is the average of [`PATHS`] paths,
//! spread evenly over the table.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::quoted;
use sqluice_core::sqlite_error::said;
use sqluice_format::page::{CELL_POINTER_BYTES, PageKind};
use sqluice_platform::positioned::Positioned;

use crate::output::target_path::TargetPath;
use sqluice_core::database_path::immutable_uri;

/// The largest number of rows of a table that are counted. The row counts of larger tables are estimated.
const COUNTED_ROWS_MAX: u64 = 200_000;

/// The time after which rows are no longer counted: the row counts of the remaining tables are estimated.
const COUNTING: Duration = Duration::from_millis(200);

/// The number of paths from the root to a leaf that an estimate takes.
const PATHS: u32 = 16;

/// The largest depth of a tree in SQLite. A deeper tree is damaged, for example circular, and gets no estimate.
const DEPTH_MAX: u32 = 20;

/// The content of a database that was or will be replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replaced {
    /// The tables of the database, by name.
    pub tables: Vec<ReplacedTable>,
    /// The sum of the known row counts of the tables.
    pub rows: u64,
    /// `true` if the row counts of some tables are estimates.
    pub estimated: bool,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The reason why the tables of the database could not be read; `None` if they were read. A single table that can't be read has no row
    /// count.
    pub unread: Option<String>,
}

/// A table of a database that is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplacedTable {
    /// The name of the table.
    pub name: String,
    /// The number of rows; `None` if the table is virtual or can't be read.
    pub rows: Option<u64>,
    /// `true` if the number of rows is an estimate.
    pub estimated: bool,
}

impl Replaced {
    /// Returns `true` if the database has no tables, so that no rows are lost when it is replaced.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.unread.is_none()
    }

    /// Reads the database at `target`.
    pub(in crate::output) fn read(target: &TargetPath) -> Replaced {
        let path = target.path();
        let mut replaced =
            Replaced { bytes: fs::metadata(&path).map_or(0, |about| about.len()), ..Replaced::default() };
        if replaced.bytes == 0 {
            return replaced;
        }
        let pending = ["-journal", "-wal"].into_iter().find(|suffix| holds_changes(&target.sibling(suffix)));
        let read = match pending {
            None => replaced.read_tables(&path),
            Some(suffix) => Err(Error::target(format!(
                "SQLite must apply {} to the database before its tables can be read, and only the run does that",
                target.sibling(suffix).display()
            ))),
        };
        if let Err(error) = read {
            let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
            replaced.unread = Some(error.message() + &cause);
        }
        replaced
    }

    fn read_tables(&mut self, path: &Path) -> Result<()> {
        let cannot_read = |error| Error::target("its tables can't be read").because(said(error));
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(immutable_uri(path)?, flags).map_err(cannot_read)?;
        let tables = tables(&connection).map_err(cannot_read)?;
        let page_bytes: u32 =
            connection.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(cannot_read)?;
        let file = File::open(path).map_err(|error| Error::read(path, error))?;
        let started = Instant::now();
        for (name, root_page) in tables {
            let estimate = estimated_rows(&file, page_bytes as usize, root_page);
            let is_counted =
                estimate.is_some_and(|rows| rows <= COUNTED_ROWS_MAX) && started.elapsed() < COUNTING;
            let (rows, estimated) = match is_counted {
                true => {
                    let sql = format!("SELECT count(*) FROM {}", quoted(&name));
                    let counted = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
                    (counted.ok().and_then(|rows| u64::try_from(rows).ok()), false)
                }
                false => (estimate, estimate.is_some()),
            };
            self.rows = self.rows.saturating_add(rows.unwrap_or(0));
            self.estimated |= estimated;
            self.tables.push(ReplacedTable { name, rows, estimated });
        }
        Ok(())
    }
}

/// Returns `true` if SQLite would roll back the journal, or read changes from the WAL. A journal kept between transactions begins with
/// zeros.
fn holds_changes(sibling: &Path) -> bool {
    let mut start = [0; 8];
    let file = File::open(sibling);
    file.is_ok_and(|file| file.read_exact_at(&mut start, 0).is_ok()) && start != [0; 8]
}

/// Returns the names and root pages of the user's tables. The root page of a virtual table is 0.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<(String, u32)>> {
    let sql = "SELECT name, rootpage FROM sqlite_schema \
               WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let tables =
        statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<u32>>(1)?.unwrap_or(0))))?;
    tables.collect()
}

/// Estimates the number of rows of a tree. Returns `None` if the tree does not exist or is damaged.
fn estimated_rows(file: &File, page_bytes: usize, root_page: u32) -> Option<u64> {
    let paths = (0..PATHS).map(|path| {
        let place = (f64::from(path) + 0.5) / f64::from(PATHS);
        rows_by_path(file, page_bytes, root_page, place)
    });
    let sum = paths.sum::<Option<f64>>()?;
    Some((sum / f64::from(PATHS)).round() as u64)
}

/// Estimates the number of rows of a tree from one path from the root to a leaf. `place` is the relative position of the leaf in the tree,
/// between 0 and 1. Returns `None` if the path can't be read to its end.
fn rows_by_path(file: &File, page_bytes: usize, root_page: u32, mut place: f64) -> Option<f64> {
    let mut page = vec![0; page_bytes];
    let (mut number, mut pages, mut rows) = (root_page, 1.0, 0.0);
    for _ in 0..DEPTH_MAX {
        let offset = u64::from(number.checked_sub(1)?) * page_bytes as u64;
        file.read_exact_at(&mut page, offset).ok()?;
        let kind = PageKind::from_byte(page[0])?;
        let cells = u16::from_be_bytes(page.get(3..5)?.try_into().ok()?);
        let leaf = kind.is_leaf();
        if leaf || kind == PageKind::InteriorIndex {
            rows += pages * f64::from(cells);
        }
        if leaf {
            return Some(rows);
        }
        let children = f64::from(cells) + 1.0;
        let child = (place * children).floor().min(f64::from(cells));
        (place, pages) = (place * children - child, pages * children);
        let at = match child as u16 {
            last if last == cells => kind.header_bytes() - 4,
            child => {
                let pointer = kind.header_bytes() + usize::from(child) * CELL_POINTER_BYTES;
                usize::from(u16::from_be_bytes(page.get(pointer..pointer + 2)?.try_into().ok()?))
            }
        };
        number = u32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::TargetPath;

    /// Returns SQL for the numbers from 1 to `last`.
    fn numbers(last: u64) -> String {
        format!("WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {last})")
    }

    fn read(sql: &str) -> (tempfile::TempDir, Replaced) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let replaced = Replaced::read(&TargetPath::resolve(&path).unwrap());
        (folder, replaced)
    }

    fn rows_of(replaced: &Replaced) -> Vec<(&str, Option<u64>, bool)> {
        replaced.tables.iter().map(|table| (&*table.name, table.rows, table.estimated)).collect()
    }

    #[test]
    fn the_rows_of_small_tables_of_each_kind_are_counted_exactly() {
        let (_folder, replaced) = read(&format!(
            "CREATE TABLE b (x); INSERT INTO b VALUES (1), (2);
             CREATE TABLE a (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
             {} INSERT INTO a SELECT i, i FROM n;
             CREATE TABLE \"odd \"\" name\" (x INTEGER PRIMARY KEY AUTOINCREMENT);
             CREATE VIRTUAL TABLE f USING fts5(t); CREATE VIEW v AS SELECT 1",
            numbers(3000)
        ));
        assert_eq!(replaced.unread, None);
        let expected = [("a", Some(3000), false), ("b", Some(2), false), ("f", None, false)];
        assert_eq!(rows_of(&replaced)[..3], expected);
        assert!(rows_of(&replaced).contains(&("odd \" name", Some(0), false)));
        assert!(!replaced.is_empty() && !replaced.estimated && replaced.rows >= 3002);
    }

    #[test]
    fn estimated_row_counts_of_large_tables_are_near_the_real_ones() {
        let sizes = [1u64, 7, 300, 5000, 60_000];
        for (page_size, keys) in
            [(512, "INTEGER PRIMARY KEY"), (4096, "TEXT PRIMARY KEY"), (65536, "INTEGER")]
        {
            for without_rowid in ["", "WITHOUT ROWID"] {
                if keys == "INTEGER" && !without_rowid.is_empty() {
                    continue;
                }
                for rows in sizes {
                    let (folder, _) = read(&format!(
                        "PRAGMA page_size = {page_size}; CREATE TABLE t (k {keys}, v) {without_rowid};
                         {} INSERT INTO t SELECT i, hex(randomblob(i % 40)) FROM n",
                        numbers(rows)
                    ));
                    let file = File::open(folder.path().join("x.db")).unwrap();
                    let estimate = estimated_rows(&file, page_size, 2).unwrap();
                    assert!(
                        estimate * 3 >= rows * 2 && estimate * 2 <= rows * 3,
                        "{page_size} {keys} {without_rowid}: {estimate} of {rows}"
                    );
                }
            }
        }
    }

    #[test]
    fn damaged_databases_are_read_without_a_panic() {
        let (folder, _) = read(&format!(
            "PRAGMA page_size = 512; CREATE TABLE t (a); CREATE TABLE u (b);
             {} INSERT INTO t SELECT i FROM n; INSERT INTO u SELECT a FROM t",
            numbers(2000)
        ));
        let path = folder.path().join("x.db");
        let bytes = fs::read(&path).unwrap();
        let look = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Replaced::read(&TargetPath::resolve(&path).unwrap())
        };
        assert_eq!(look(&[]), Replaced::default());
        for page in 0..bytes.len() / 512 {
            for with in [0u8, 0xff, 5, 2, 13] {
                let mut damaged = bytes.clone();
                damaged[page * 512 + if page == 0 { 100 } else { 0 }..(page + 1) * 512].fill(with);
                let replaced = look(&damaged);
                assert!(page == 0 || replaced.tables.len() == 2, "page {}: {replaced:?}", page + 1);
            }
        }
        for cut in [99, 100, 512, 700, 1024] {
            look(&bytes[..cut]);
        }
        let garbage = look(&[&b"SQLite format 3\0"[..], &[0x5a; 4000]].concat());
        assert!(garbage.unread.is_some(), "{garbage:?}");
    }

    #[test]
    fn changes_in_a_journal_or_wal_are_reported_as_unread() {
        let (folder, _) = read("CREATE TABLE t (a)");
        let path = folder.path().join("x.db");
        fs::write(folder.path().join("x.db-journal"), [0; 600]).unwrap();
        assert_eq!(Replaced::read(&TargetPath::resolve(&path).unwrap()).unread, None);
        fs::write(folder.path().join("x.db-wal"), [1; 600]).unwrap();
        let replaced = Replaced::read(&TargetPath::resolve(&path).unwrap());
        assert!(
            replaced
                .unread
                .is_some_and(|why| why.contains("x.db-wal to the database before its tables can be read"))
        );
    }
}
