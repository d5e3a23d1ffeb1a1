//! Sound databases that tests of `recover` damage, and functions that read rows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sqluice::recover::{Recover, RecoverReport};

/// A row as text: values with their types, the rowid first if the table has one.
pub(crate) type Row = String;

/// The rows of all tables of a database, by the names of the tables.
pub(crate) type Rows = BTreeMap<String, Vec<Row>>;

/// The schemas of databases to damage, each with rows.
pub(crate) const SCHEMAS: [&str; 7] = [
    // Several tables, indexes and an overflowing column.
    "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born REAL, photo BLOB);
     CREATE INDEX people_name ON people (name, born);
     CREATE TABLE visits (person INT, at TEXT, note);
     CREATE VIEW old AS SELECT * FROM people WHERE born < 1950;
     CREATE TRIGGER gone AFTER DELETE ON people BEGIN DELETE FROM visits WHERE person = old.id; END;
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 700)
       INSERT INTO people SELECT i * 3, 'name ' || i * 7919 % 1000, 1900 + i % 100,
         CASE WHEN i % 40 = 0 THEN randomblob(i * 10) END FROM n;
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 900)
       INSERT INTO visits SELECT i % 700, date(i * 86400, 'unixepoch'), i || ' notes' FROM n;",
    // Without rowids, and a key of two columns.
    "CREATE TABLE words (word TEXT, place INT, weight REAL, PRIMARY KEY (word, place)) WITHOUT ROWID;
     CREATE INDEX heavy ON words (weight);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1200)
       INSERT INTO words SELECT 'word ' || i % 300, i, i / 7.0 FROM n;",
    // AUTOINCREMENT, UNIQUE and CHECK.
    "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT UNIQUE, price INT CHECK (price >= 0));
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
       INSERT INTO orders SELECT i, 'code ' || i, i % 500 FROM n;
     DELETE FROM orders WHERE id > 950;",
    // Generated columns, old rows of ADD COLUMN, a table without a declared key, free pages.
    "CREATE TABLE items (a INT, b AS (a * 2), c TEXT AS (a || 'x') STORED);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600) INSERT INTO items (a) SELECT i FROM n;
     ALTER TABLE items ADD COLUMN d TEXT DEFAULT 'none';
     WITH RECURSIVE n(i) AS (SELECT 601 UNION ALL SELECT i + 1 FROM n LIMIT 300) INSERT INTO items (a, d) SELECT i, 'd' || i FROM n;
     CREATE TABLE dropped (x TEXT);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) INSERT INTO dropped SELECT 'secret ' || i FROM n;
     DROP TABLE dropped;",
    // Texts beyond ASCII, long texts, NULLs and huge integers.
    "CREATE TABLE texts (id INTEGER PRIMARY KEY, t TEXT, n NUMERIC);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400)
       INSERT INTO texts SELECT i * i, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'grün ' || i
         ELSE substr(hex(zeroblob(2000)), 1, i * 8) || i END, i * 1000000007 * 1000003 FROM n;",
    // STRICT, and two tables of one shape with other rowids.
    "CREATE TABLE one (id INTEGER PRIMARY KEY, v TEXT) STRICT;
     CREATE TABLE two (id INTEGER PRIMARY KEY, v TEXT) STRICT;
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600) INSERT INTO one SELECT i, 'one ' || i FROM n;
     WITH RECURSIVE n(i) AS (SELECT 10001 UNION ALL SELECT i + 1 FROM n LIMIT 600) INSERT INTO two SELECT i, 'two ' || i FROM n;",
    // Rows in no order, rowids below zero.
    "CREATE TABLE mixed (k INTEGER PRIMARY KEY, a, b, c, d, e, f);
     CREATE UNIQUE INDEX mixed_a ON mixed (a);
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 800)
       INSERT INTO mixed SELECT (i * 7919) % 1601 - 800, i, i / 3.0, 'x' || i, x'00ff', NULL, -i FROM n;",
];

/// Makes a database with a schema in a new file.
pub(crate) fn make(path: &Path, schema: &str, page_bytes: u32, encoding: &str) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {page_bytes}; PRAGMA encoding = '{encoding}'; PRAGMA foreign_keys = OFF;
             PRAGMA user_version = 17; {schema}"
        ))
        .unwrap();
}

/// Returns the rows of a database.
pub(crate) fn rows(path: &Path) -> Rows {
    let connection = Connection::open(path).unwrap();
    let names: Vec<(String, bool)> = connection
        .prepare("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let of = |(name, without_rowid): (String, bool)| {
        let rowid = if without_rowid || name.starts_with("lost_and_found") { "" } else { "rowid, " };
        let mut select = connection.prepare(&format!("SELECT {rowid}* FROM \"{name}\"")).unwrap();
        let columns = select.column_count();
        let rows = select
            .query_map([], |row| {
                let values = (0..columns).map(|column| shown(row.get_ref_unwrap(column)));
                Ok(values.collect::<Vec<_>>().join("|"))
            })
            .unwrap();
        let rows = rows.map(Result::unwrap).collect();
        (name, rows)
    };
    names.into_iter().map(of).collect()
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Blob(blob) => {
            format!("x{}", blob.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(int) => format!("{int}"),
        ValueRef::Real(real) => format!("{real:?}"),
        ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
    }
}

/// Recovers a database, and checks that the result is sound.
pub(crate) fn recovered(source: &Path) -> (PathBuf, RecoverReport) {
    let target = source.with_extension("new");
    let _ = std::fs::remove_file(&target);
    let before = std::fs::read(source).unwrap();
    let report = Recover::new(source, &target).run().unwrap();
    assert_eq!(std::fs::read(source).unwrap(), before, "the source was written");
    assert_sound(&target);
    (target, report)
}

/// Checks a database with SQLite.
pub(crate) fn assert_sound(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let said: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok");
}
