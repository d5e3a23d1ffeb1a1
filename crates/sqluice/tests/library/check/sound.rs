//! `check` finds no fault in databases with random schemas that SQLite wrote and changed.

use std::sync::Mutex;

use crate::support::files::{Home, integrity};
use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::check::{Check, Checked};
use sqluice::progress::{Amount, Context, Progress};

/// The phases of a run: name, total bytes, and bytes done.
#[derive(Default)]
struct Watch(Mutex<Vec<(String, u64, u64)>>);

impl Progress for Watch {
    fn phase(&self, name: &str, total: Option<Amount>) {
        self.0.lock().unwrap().push((name.to_owned(), total.unwrap().bytes, 0));
    }

    fn advance(&self, done: Amount) {
        self.0.lock().unwrap().last_mut().unwrap().2 += done.bytes;
    }
}

#[test]
fn the_progress_of_a_check_never_exceeds_the_size_of_the_file() {
    let home = Home::new();
    let target = home.path("x.db");
    // Rows and an index in random order, in pages that lie anywhere, some of them free.
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB, c TEXT); CREATE INDEX i ON t (b);
               CREATE TABLE u (a); INSERT INTO u VALUES (zeroblob(3000000));
               WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
               INSERT INTO t SELECT (i * 7919) % 30011 + 1, randomblob(60), hex(randomblob(100)) FROM n;
               DROP TABLE u";
    Connection::open(&target).unwrap().execute_batch(sql).unwrap();
    let file_bytes = std::fs::metadata(&target).unwrap().len();
    for threads in [1, 4] {
        let watch = Watch::default();
        let check = Check::new(target.clone()).checksum(true).threads(threads);
        check.run_with(&Context::default().progress(&watch)).unwrap();
        let phases = watch.0.into_inner().unwrap();
        assert_eq!(phases.len(), 2, "{phases:?}");
        assert_eq!((phases[0].1, &*phases[0].0), (file_bytes, "check"));
        assert!(phases[0].2 <= file_bytes && phases[0].2 * 10 >= file_bytes * 5, "{phases:?}");
        assert_eq!(phases[1].2, phases[1].1, "{phases:?}");
    }
}

const TYPES: [&str; 8] = ["", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "CHAR(6)", "INT"];
const STRICT_TYPES: [&str; 6] = ["ANY", "INTEGER", "REAL", "TEXT", "BLOB", "INT"];
const COLLATIONS: [&str; 5] = ["", "", "COLLATE NOCASE", "COLLATE RTRIM", "COLLATE BINARY"];
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "5.0",
    "-0.0",
    "0.5",
    "1e300",
    "9007199254740993",
    "9007199254740992.0",
    "-9223372036854775808",
    "9223372036854775807",
    "'12'",
];
const TEXTS: [&str; 19] = [
    "''",
    "'a'",
    "'A'",
    "'a '",
    "'a  '",
    "' 5 '",
    "'Grüße'",
    "'b' || char(0) || 'c'",
    "'B' || char(0) || 'cd'",
    "'1e5'",
    "'x5'",
    "'😀'",
    "char(57344)",
    "char(65533, 32)",
    "'Z😀' || char(32, 0, 32)",
    // In UTF-16: half a surrogate pair, at the end and before other characters, and half a code unit.
    "CAST(x'3dd8' AS TEXT)",
    "CAST(x'd83d' AS TEXT)",
    "CAST(x'3dd8410042' AS TEXT)",
    "CAST(x'd83d00610062' AS TEXT)",
];

/// A database as SQL that makes it.
struct Made {
    random: Random,
    columns: Vec<String>,
    sql: Vec<String>,
}

impl Made {
    fn new(seed: u64) -> Made {
        let mut made = Made { random: Random(seed), columns: Vec::new(), sql: Vec::new() };
        let page_bytes = made.random.pick(&[512, 1024, 4096, 65536]);
        let auto_vacuum = made.random.pick(&[0, 0, 1, 2]);
        let encoding = made.random.pick(&["UTF-8", "UTF-8", "UTF-8", "UTF-16le", "UTF-16be"]);
        made.sql.push(format!("PRAGMA page_size = {page_bytes}"));
        made.sql.push(format!("PRAGMA auto_vacuum = {auto_vacuum}"));
        made.sql.push(format!("PRAGMA encoding = '{encoding}'"));
        made.table();
        for i in 0..made.random.below(4) {
            made.index(i);
        }
        for _ in 0..made.random.below(400) {
            made.change();
        }
        for i in 10..10 + made.random.below(3) {
            made.index(i);
        }
        if made.random.one_in(4) {
            made.sql.push("VACUUM".to_owned());
        }
        made
    }

    fn table(&mut self) {
        let strict = self.random.one_in(3);
        let mut parts = Vec::new();
        for i in 0..1 + self.random.below(5) {
            let name = format!("c{i}");
            let declared = if strict { self.random.pick(&STRICT_TYPES) } else { self.random.pick(&TYPES) };
            let collation = self.random.pick(&COLLATIONS);
            let null = if self.random.one_in(4) { "NOT NULL" } else { "" };
            parts.push(format!("{name} {declared} {null} {collation}"));
            self.columns.push(name);
        }
        let key = self.key();
        let (primary, mut options) = match self.random.below(6) {
            0 => (Some(format!("PRIMARY KEY ({key})")), Vec::new()),
            1 | 2 => (Some(format!("PRIMARY KEY ({key})")), vec!["WITHOUT ROWID"]),
            3 => {
                let order = self.random.pick(&["", " DESC"]);
                parts.insert(self.random.below(parts.len() + 1), format!("id INTEGER PRIMARY KEY{order}"));
                (None, Vec::new())
            }
            _ => (None, Vec::new()),
        };
        if self.random.one_in(4) {
            let stored = self.random.pick(&["STORED", "VIRTUAL"]);
            let declared = if strict { "ANY" } else { self.random.pick(&TYPES) };
            parts.insert(self.random.below(parts.len() + 1), format!("g {declared} AS (c0 || 'g') {stored}"));
        }
        if self.random.one_in(3) {
            parts.push(format!("UNIQUE ({})", self.key()));
        }
        parts.extend(primary);
        if strict {
            options.push("STRICT");
        }
        self.sql.push(format!("CREATE TABLE t ({}) {}", parts.join(", "), options.join(", ")));
        self.sql.push("CREATE VIEW v AS SELECT * FROM t".to_owned());
    }

    /// Returns the columns of an index, with collations and orders.
    fn key(&mut self) -> String {
        let mut columns = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let column = self.random.below(self.columns.len());
            let collation = self.random.pick(&COLLATIONS);
            let order = self.random.pick(&["", "DESC", "ASC"]);
            columns.push(format!("{} {collation} {order}", self.columns[column]));
        }
        columns.join(", ")
    }

    fn index(&mut self, number: usize) {
        let unique = if self.random.one_in(4) { "UNIQUE" } else { "" };
        let mut key = self.key();
        match self.random.below(8) {
            0 => {
                let terms = [
                    "c0 || 'x'",
                    "CAST(c0 AS INTEGER)",
                    "upper(c0)",
                    "c0 + 0",
                    "hex(c0)",
                    "c0 LIKE 'a%'",
                    "-c0",
                ];
                key += &format!(", {}", self.random.pick(&terms));
            }
            1 => key = format!("length(c0), {key}"),
            2 => key += ", g",
            3 => key += ", rowid",
            4 => key += ", id DESC",
            _ => {}
        }
        let conditions =
            ["WHERE c0 > 3", "WHERE c0 IS NOT NULL", "WHERE CAST(c0 AS REAL) > 1", "WHERE c0 = 'a'"];
        let condition = if self.random.one_in(4) { self.random.pick(&conditions) } else { "" };
        self.sql.push(format!("CREATE {unique} INDEX i{number} ON t ({key}) {condition}"));
    }

    fn value(&mut self) -> String {
        match self.random.below(10) {
            0 => "NULL".to_owned(),
            1 | 2 => self.random.pick(&NUMBERS).to_owned(),
            3 | 4 => self.random.pick(&TEXTS).to_owned(),
            5 => format!("zeroblob({})", self.random.below(40)),
            6 => format!("'{}'", "long ".repeat(self.random.below(400))),
            7 => format!("x'{:04x}'", self.random.below(1 << 16)),
            8 if self.random.one_in(2) => {
                let units = ["00d8", "3dd8", "00de", "4100", "6100", "2000", "0000", "00e0", "ff"];
                let text: String = (0..self.random.below(4)).map(|_| self.random.pick(&units)).collect();
                format!("CAST(x'{text}' AS TEXT)")
            }
            8 => format!("{}", self.random.below(2000) as f64 / 4.0),
            _ => format!("{}", self.random.below(100_000)),
        }
    }

    fn change(&mut self) {
        let column = self.random.below(self.columns.len());
        let column = self.columns[column].clone();
        let value = self.value();
        let sql = match self.random.below(40) {
            0 => format!("UPDATE OR IGNORE t SET {column} = {value} WHERE {column} < {}", self.value()),
            1 => format!("DELETE FROM t WHERE {column} = {value}"),
            2 => format!("DELETE FROM t WHERE {column} < {value} AND random() % 3 = 0"),
            3 if self.random.one_in(3) && self.columns.len() < 9 => {
                let name = format!("c{}", self.columns.len());
                let declared = self.random.pick(&STRICT_TYPES);
                let null = self.random.pick(&["", "NOT NULL"]);
                let added = format!("ALTER TABLE t ADD COLUMN {name} {declared} {null} DEFAULT ({value})");
                self.columns.push(name);
                added
            }
            4 if self.random.one_in(9) => "PRAGMA incremental_vacuum".to_owned(),
            _ => {
                let columns = self.columns.clone();
                let values: Vec<String> = columns.iter().map(|_| self.value()).collect();
                let verb = self.random.pick(&["INSERT OR IGNORE", "INSERT OR REPLACE"]);
                format!("{verb} INTO t ({}) VALUES ({})", columns.join(", "), values.join(", "))
            }
        };
        self.sql.push(sql);
    }
}

fn check(path: &std::path::Path, threads: usize) -> Checked {
    let check = Check::new(path.to_owned()).checksum(true).threads(threads);
    check.run().unwrap()
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn check_finds_no_fault_in_databases_that_sqlite_wrote(seed in any::<u64>()) {
        let home = Home::new();
        let path = home.path("x.db");
        let made = Made::new(seed);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA synchronous = off").unwrap();
        // Statements that break a constraint, or name a missing column, are left out.
        let done: Vec<&String> = made.sql.iter().filter(|sql| connection.execute_batch(sql).is_ok()).collect();
        prop_assume!(done.iter().any(|sql| sql.starts_with("CREATE TABLE")));
        // SQLite may read malformed text in two ways, so that its own entries differ from what it computes later. Such databases are
        // skipped.
        prop_assume!(integrity(&connection) == "ok");
        let rows: i64 = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        drop(connection);
        let checked = check(&path, 1);
        prop_assert!(
            checked.is_sound(),
            "{:?} {:?}\n{:#?}", checked.report.problems, checked.sqlite_problems, done
        );
        prop_assert_eq!(checked.report.trees.iter().find(|tree| tree.name == "t").unwrap().rows, rows as u64);
        let other = check(&path, 3);
        prop_assert_eq!(format!("{:?}", other.report), format!("{:?}", checked.report));
        prop_assert_eq!(other.checksum, checked.checksum);
    }
}

#[test]
fn check_reads_an_invalid_text_default_as_sqlite_does() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA encoding = '{encoding}'; CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);
                 ALTER TABLE t ADD COLUMN b DEFAULT (CAST(x'3dd8410042' AS TEXT)); CREATE INDEX i ON t (b)"
            ))
            .unwrap();
        drop(connection);
        let checked = check(&path, 2);
        assert!(
            checked.is_sound(),
            "{encoding}: {:?} {:?}",
            checked.report.problems,
            checked.sqlite_problems
        );
    }
}

#[test]
fn check_finds_no_fault_in_internal_tables_of_sqlite_or_unknown_virtual_table_modules() {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a COLLATE NOCASE); CREATE INDEX i ON t (a);
             INSERT INTO t (a) VALUES ('x'), ('X'), (1); ANALYZE;
             CREATE VIRTUAL TABLE f USING fts5 (a, b); INSERT INTO f VALUES ('some words', 'others'), ('words', 'x');
             CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t WHERE a = 5; END;
             PRAGMA writable_schema = on;
             INSERT INTO sqlite_schema VALUES ('table', 'n', 'n', 0, 'CREATE VIRTUAL TABLE n USING no_such (a)')",
        )
        .unwrap();
    drop(connection);
    let checked = check(&path, 2);
    assert!(checked.is_sound(), "{:?} {:?}", checked.report.problems, checked.sqlite_problems);
}

#[test]
fn the_order_of_an_index_with_an_unknown_collation_is_not_verified() {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a TEXT COLLATE nocase, b); CREATE INDEX i ON t (a); CREATE INDEX j ON t (b, a);
             CREATE TABLE w (k TEXT COLLATE nocase PRIMARY KEY, v) WITHOUT ROWID; CREATE INDEX u ON w (v);
             INSERT INTO t VALUES ('a', 1), ('B', 2), ('c', 3); INSERT INTO w SELECT * FROM t;
             PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = replace(sql, 'nocase', 'folded')",
        )
        .unwrap();
    drop(connection);
    let checked = check(&path, 2);
    assert!(checked.is_sound(), "{:?} {:?}", checked.report.problems, checked.sqlite_problems);
    // The entries of the index are compared with the rows all the same, so a changed entry is found.
    let mut content = std::fs::read(&path).unwrap();
    let root = checked.report.trees.iter().find(|tree| tree.name == "i").unwrap().root_page as usize;
    let page = &mut content[(root - 1) * 4096..root * 4096];
    let at = page.iter().rposition(|&byte| byte == b'c').unwrap();
    page[at] = b'd';
    std::fs::write(&path, content).unwrap();
    let checked = check(&path, 2);
    assert!(
        checked.report.problems[0].to_string().contains("the entry of row 3"),
        "{:?}",
        checked.report.problems
    );
}

#[test]
fn no_other_connection_can_write_in_rollback_mode_until_a_check_is_done() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use sqluice::progress::{Amount, Context, Progress};

    /// Tries to write whenever something has been read, and asserts that the write is refused.
    struct Writes(std::path::PathBuf, AtomicBool);
    impl Progress for Writes {
        fn advance(&self, _: Amount) {
            let connection = Connection::open(&self.0).unwrap();
            connection.busy_timeout(std::time::Duration::ZERO).unwrap();
            let refused = connection.execute_batch("INSERT INTO t VALUES (1)").is_err();
            self.1.fetch_or(refused, Ordering::Relaxed);
            assert!(refused, "nobody holds the file");
        }
    }
    for full in [false, true] {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
        drop(connection);
        let writes = Writes(path.clone(), AtomicBool::new(false));
        let check = Check::new(path).full(full).checksum(true).threads(1);
        assert!(check.run_with(&Context::default().progress(&writes)).unwrap().is_sound());
        assert!(writes.1.into_inner());
    }
}
