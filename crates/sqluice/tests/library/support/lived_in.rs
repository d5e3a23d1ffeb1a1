//! Random databases that SQLite has made and changed, as inputs of tests.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use sqluice_format::database::Header;
use sqluice_format::scan::{Kind, Reader, Scan, Tree};

use super::Random;

/// Page sizes, small ones more often: their trees are tall.
pub(crate) const PAGE_SIZES: [u32; 9] = [512, 512, 512, 1024, 2048, 4096, 8192, 32768, 65536];

/// Declarations of a table. Each has the columns `k`, `a`, `b`, `c`.
const TABLES: [&str; 8] = [
    "CREATE TABLE t (k INTEGER PRIMARY KEY, a, b TEXT COLLATE NOCASE, c REAL)",
    "CREATE TABLE t (k, a INTEGER, b, c NUMERIC)",
    "CREATE TABLE t (k TEXT PRIMARY KEY, a REAL, b TEXT COLLATE RTRIM, c BLOB)",
    "CREATE TABLE t (k PRIMARY KEY, a, b, c) WITHOUT ROWID",
    "CREATE TABLE t (a TEXT, k, b REAL, c, PRIMARY KEY (b, k DESC)) WITHOUT ROWID",
    "CREATE TABLE t (k, v AS (a || 1) VIRTUAL, a, b, s AS (k) STORED, c REAL)",
    "CREATE TABLE t (k INT, a ANY, b TEXT, c REAL) STRICT",
    "CREATE TABLE t (k UNIQUE, a TEXT UNIQUE, b, c, CHECK (a != 'nothing'))",
];

/// Columns that are added later: a name, and its declaration.
const LATER: [(&str, &str); 10] = [
    ("d", "DEFAULT 5"),
    ("d", "REAL DEFAULT 5"),
    ("d", "REAL DEFAULT 5.5"),
    ("d", "TEXT NOT NULL DEFAULT 7"),
    ("d", "INTEGER DEFAULT '8'"),
    ("d", "TEXT DEFAULT 'long enough to need a few bytes more than most'"),
    ("d", "BLOB DEFAULT x'0102'"),
    ("d", "NUMERIC DEFAULT -1.0"),
    ("d", ""),
    ("d", "INTEGER DEFAULT (2)"),
];

/// Returns a random value, often one that other rows have.
pub(crate) fn value(random: &mut Random) -> Value {
    match random.below(20) {
        0 | 1 => Value::Null,
        2..6 => Value::Integer(random.next() as i64 % 50),
        6 => Value::Integer(random.next() as i64),
        7 | 8 => Value::Real((random.next() % 50) as f64),
        9 => Value::Real(random.next() as f64 / 7.0),
        10 => Value::Real(-0.0),
        11 => Value::Blob(vec![random.next() as u8; random.below(30)]),
        12 => Value::Text("x".repeat(random.below(2500))),
        13 => Value::Text("common text, the same in many rows ".repeat(random.below(3))),
        _ => Value::Text(
            random.pick(&["a", "A", "b ", "b", "Bb", "bB ", "", "12", "3.0", "ä", "\u{0}x"]).to_owned(),
        ),
    }
}

/// Fills a new database: `rows` rows or fewer, some of them from before the column `d`, some changed or deleted.
pub(crate) fn fill(connection: &Connection, random: &mut Random, rows: usize) -> String {
    let page_size = random.pick(&PAGE_SIZES);
    let table = random.pick(&TABLES);
    connection.execute_batch(&format!("PRAGMA page_size = {page_size}; {table}")).unwrap();
    connection.execute_batch("CREATE TABLE other (x); CREATE INDEX other_x ON other (x); BEGIN").unwrap();
    let insert = |columns: &str, marks: &str, random: &mut Random| {
        let values: Vec<Value> = (0..columns.split(',').count()).map(|_| value(random)).collect();
        let sql = format!("INSERT OR IGNORE INTO t ({columns}) VALUES ({marks})");
        // A STRICT table or a rowid may refuse the value.
        let _ = connection.prepare_cached(&sql).unwrap().execute(rusqlite::params_from_iter(values));
    };
    for _ in 0..rows / 2 {
        insert("k, a, b, c", "?, ?, ?, ?", random);
    }
    let (name, declared) = random.pick(&LATER);
    let declared = if table.ends_with("STRICT") { "INT DEFAULT 5" } else { declared };
    connection.execute_batch(&format!("ALTER TABLE t ADD COLUMN {name} {declared}")).unwrap();
    if random.one_in(2) {
        for _ in 0..rows / 2 {
            insert("k, a, b, c, d", "?, ?, ?, ?, ?", random);
        }
    }
    if random.one_in(2) {
        let _ = connection.execute_batch("UPDATE t SET a = a || 'y' WHERE c > 10");
        connection
            .execute_batch("DELETE FROM t WHERE b = 'a' OR k > 40; INSERT INTO other VALUES (1), (2)")
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    format!("{table}; ADD COLUMN {name} {declared}; page_size {page_size}")
}

/// Returns the records of an index or of a WITHOUT ROWID table, in its order.
pub(crate) fn entries(bytes: &[u8], root_page: u32) -> Vec<Vec<u8>> {
    let geometry = Header::from_bytes(bytes).unwrap().geometry;
    let page_count = (bytes.len() / geometry.page_bytes()) as u32;
    let tree = Tree { root_page, kind: Kind::Index, geometry, page_count };
    let mut pages = bytes;
    let scan = Scan::new(&mut pages, tree).unwrap();
    let mut entries = Vec::new();
    for part in 0..scan.parts() {
        let each = |_, record: &[u8]| {
            entries.push(record.to_vec());
            Ok(())
        };
        scan.read(part, &mut pages, &mut Reader::default(), each).unwrap();
    }
    entries
}

/// Returns the rows of `sqlite_schema` without root pages.
pub(crate) fn schema_rows(connection: &Connection) -> Vec<(String, String, String, Option<String>)> {
    let mut statement =
        connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

pub(crate) fn root_page(connection: &Connection, name: &str) -> u32 {
    connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0))
        .unwrap()
}

pub(crate) fn journal_mode(path: &Path) -> String {
    let connection = Connection::open(path).unwrap();
    connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap()
}

/// Returns the bytes of a database without those that an empty commit changes: in WAL mode, such a commit records the number of pages for
/// other connections.
pub(crate) fn but_for_counters(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    // The fields are the change counter, its value at the last write of the version number, and SQLite's version number.
    bytes[24..28].fill(0);
    bytes[92..100].fill(0);
    bytes
}
