//! Existing databases with a past: rows that were deleted, pages that are free, a log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::Result;
use sqluice::existing::write_into;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice::source::Source;

use super::files::{Home, integrity};
use super::tables::page_bytes;

/// The description of a database that `create` makes.
#[derive(Clone, Debug)]
pub(crate) struct Old {
    pub(crate) page_bytes: u32,
    pub(crate) wal: bool,
    /// The number of rows that are inserted.
    pub(crate) rows: u32,
    /// One in this number of rows is deleted. 0: none.
    pub(crate) deleted: u32,
    /// SQL that runs last.
    pub(crate) then: String,
}

impl Default for Old {
    fn default() -> Old {
        Old { page_bytes: 4096, wal: false, rows: 200, deleted: 3, then: String::new() }
    }
}

/// Generates databases of all page sizes in both journal modes, some of them without a page.
pub(crate) fn old() -> impl Strategy<Value = Old> {
    let rows = prop_oneof![1 => Just(0), 3 => 1..300u32];
    (page_bytes(), any::<bool>(), rows, 0..4u32).prop_map(|(page_bytes, wal, rows, deleted)| Old {
        page_bytes,
        wal,
        rows,
        deleted,
        ..Old::default()
    })
}

impl Old {
    pub(crate) fn mode(&self) -> &'static str {
        if self.wal { "wal" } else { "delete" }
    }

    /// Makes the database, and closes it.
    pub(crate) fn create(&self, path: &Path) {
        let database = Connection::open(path).unwrap();
        let (page_bytes, mode) = (self.page_bytes, self.mode());
        database.pragma_update(None, "page_size", page_bytes).unwrap();
        let set: String =
            database.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0)).unwrap();
        assert_eq!(set, mode);
        if self.rows > 0 {
            database
                .execute_batch(&format!(
                    "PRAGMA synchronous = OFF; BEGIN;
                     CREATE TABLE \"old 1\" (a INTEGER PRIMARY KEY, b); CREATE INDEX \"old 1 b\" ON \"old 1\" (b);
                     CREATE TABLE \"old 2\" (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
                     WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows})
                     INSERT INTO \"old 1\" SELECT i * 3, printf('%.*c', (i * 7919) % 1500, 'x') FROM n;
                     INSERT INTO \"old 2\" SELECT 'k' || a, zeroblob(a % 700) FROM \"old 1\";
                     COMMIT",
                    rows = self.rows
                ))
                .unwrap();
            if self.deleted > 0 {
                database
                    .execute_batch(&format!("DELETE FROM \"old 1\" WHERE a / 20 % {0} = 0; DELETE FROM \"old 2\" WHERE length(v) % {0} = 0", self.deleted + 1))
                    .unwrap();
            }
        }
        database.execute_batch(&self.then).unwrap();
        database.close().unwrap();
    }
}

/// Writes tables into the database at `path`, without waiting for locks.
pub(crate) fn add(
    path: &Path,
    schema: &Schema,
    sources: Vec<Box<dyn Source + '_>>,
    options: &WriteOptions,
) -> Result<Report> {
    write_into(path, schema, sources, options, Duration::ZERO, &Context::default())
}

pub(crate) fn schema(sql: &str) -> Schema {
    Schema::parse(sql.to_owned(), Path::new("test.sql")).unwrap()
}

/// Returns the single value of a query.
pub(crate) fn one<T: rusqlite::types::FromSql>(database: &Connection, sql: &str) -> T {
    database.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Copies the file of a database that is not in use, and returns the path of the copy.
pub(crate) fn copied(home: &Home, path: &Path, name: &str) -> PathBuf {
    let copy = home.path(name);
    std::fs::copy(path, &copy).unwrap();
    copy
}

/// Returns the content of a database as SQL shows it: the schema, then every row of every table, values with their types.
pub(crate) fn content(database: &Connection) -> Vec<String> {
    let names = |sql: &str| -> Vec<(String, String)> {
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    };
    let objects = names(
        "SELECT name, type || ' ' || tbl_name || ' ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1, 2",
    );
    let mut content: Vec<String> = objects.iter().map(|(name, rest)| format!("{name}: {rest}")).collect();
    for (name, columns) in names(
        "SELECT t.name, (SELECT group_concat('quote(\"' || replace(name, '\"', '\"\"') || '\")', ' || '', '' || ') FROM pragma_table_xinfo(t.name))
         FROM pragma_table_list AS t WHERE schema = 'main' AND t.name <> 'sqlite_schema' AND type = 'table' ORDER BY 1",
    ) {
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        // The rows in the order of the table.
        let sql = format!("SELECT {columns} FROM {quoted} NOT INDEXED");
        let mut statement = database.prepare(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let mut rows: Vec<String> = rows.collect::<rusqlite::Result<_>>().unwrap();
        if ["sqlite_sequence", "sqlite_stat1"].contains(&name.as_str()) {
            rows.sort();
        }
        content.extend(rows.into_iter().map(|row| format!("{name}| {row}")));
    }
    content
}

/// Asserts that the database is sound, is in journal mode `mode`, has no journal or log, and that its file ends with its last page.
pub(crate) fn assert_whole(path: &Path, mode: &str) {
    let database = Connection::open(path).unwrap();
    assert_eq!(integrity(&database), "ok");
    assert_eq!(one::<String>(&database, "PRAGMA journal_mode"), mode);
    let bytes = one::<i64>(&database, "PRAGMA page_count") * one::<i64>(&database, "PRAGMA page_size");
    database.close().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), bytes as u64, "no tail");
    for suffix in ["-journal", "-wal", "-shm"] {
        let mut sibling = path.as_os_str().to_owned();
        sibling.push(suffix);
        assert!(!Path::new(&sibling).exists(), "{suffix} is left");
    }
}

/// Asserts that both databases have the same content, as SQL shows it.
pub(crate) fn assert_same_content(ours: &Connection, twin: &Connection) {
    // The samples of sqlite_stat4 depend on more than the rows.
    let [ours, twin] = [ours, twin].map(|database| {
        let mut content = content(database);
        content.retain(|line| !line.starts_with("sqlite_stat4|"));
        content
    });
    let different = ours.iter().zip(&twin).position(|(ours, twin)| ours != twin);
    let at = different.unwrap_or(ours.len().min(twin.len()));
    let short = |line: Option<&String>| line.map(|line| line.chars().take(200).collect::<String>());
    assert_eq!(short(ours.get(at)), short(twin.get(at)), "line {at} of {} and {}", ours.len(), twin.len());
    assert!(ours == twin, "line {at} differs far behind its beginning");
}
