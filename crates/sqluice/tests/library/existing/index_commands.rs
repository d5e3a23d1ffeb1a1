//! `index` with names that exist already, repeated keys, databases that are in use, and indexes that only SQLite can make.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::files::{Home, integrity};
use crate::support::lived_in::{but_for_counters, schema_rows};
use rusqlite::Connection;
use sqluice::error::{DuplicateRows, Error, ErrorKind};
use sqluice::index::{Index, Report};
use sqluice::options::WritePath;
use sqluice::progress::{Amount, Cancel, Context, Progress};

/// Makes a database with a table t of `rows` rows. Its columns: a (unique except in rows 5 and 900), b (text), c (7 values).
fn database(home: &Home, rows: i64, before: &str) -> PathBuf {
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = off; {before};
             CREATE TABLE t (id INTEGER PRIMARY KEY, a, b TEXT, c); CREATE VIEW v AS SELECT 1;
             CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END;
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows})
             INSERT INTO t SELECT i, iif(i = 900, 5, i), 'text ' || (i * 7919 % 10007), i % 7 FROM n"
        ))
        .unwrap();
    connection.close().unwrap();
    path
}

fn index(path: &Path, sql: &[&str]) -> Result<Report, Error> {
    Index::new(path, sql.iter().copied()).busy_timeout(Duration::ZERO).run()
}

fn plan_of(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let lines = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
    lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

#[test]
fn queries_of_another_connection_use_the_new_index() {
    for mode in ["delete", "wal"] {
        let home = Home::new();
        let path = database(&home, 20_000, &format!("PRAGMA journal_mode = {mode}"));
        // This connection has read the schema before the index was created.
        let other = Connection::open(&path).unwrap();
        assert!(plan_of(&other, "SELECT * FROM t WHERE b = 'text 5'").contains("SCAN t"));
        let report = index(&path, &["CREATE INDEX by_b ON t (b, c DESC)"]).unwrap();
        assert_eq!((report.indexes[0].entries, report.indexes[0].write_path), (20_000, WritePath::Sorted));
        assert_eq!((&*report.journal_mode_before, &*report.journal_mode_after), (mode, mode));
        assert!(report.pages > report.pages_before);
        let count = |sql: &str| other.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM t WHERE b = 'text 7919'"), 2);
        assert!(plan_of(&other, "SELECT * FROM t WHERE b = 'text 5'").contains("USING INDEX by_b"));
        assert_eq!(
            count("SELECT count(*) FROM t WHERE b BETWEEN 'text 2' AND 'text 4'"),
            count("SELECT count(*) FROM t NOT INDEXED WHERE b BETWEEN 'text 2' AND 'text 4'")
        );
        assert_eq!(integrity(&other), "ok");
    }
}

#[test]
fn a_repeated_key_is_reported_with_both_rows_and_nothing_is_changed() {
    for mode in ["delete", "wal"] {
        let home = Home::new();
        let path = database(&home, 20_000, &format!("PRAGMA journal_mode = {mode}"));
        let before = but_for_counters(&path);
        let sql = ["CREATE INDEX one ON t (b)", "CREATE UNIQUE INDEX two ON t (a)"];
        let mut error = index(&path, &sql).unwrap_err();
        assert_eq!(error.message(), "UNIQUE constraint failed: t.a = 5 in rowids 5 and 900");
        assert_eq!(error.kind(), ErrorKind::Input);
        assert_eq!(error.take_duplicate().unwrap().rows, DuplicateRows::Rowids(5, 900));
        assert!(but_for_counters(&path) == before, "{mode}");
        assert_eq!(integrity(&Connection::open(&path).unwrap()), "ok");
    }
    let home = Home::new();
    let path = home.path("x.db");
    let sql = "CREATE TABLE w (x, k TEXT, l, PRIMARY KEY (k, l)) WITHOUT ROWID; INSERT INTO w VALUES (1, 'a', 2), (1, 'b', 3)";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let error = index(&path, &["CREATE UNIQUE INDEX i ON w (x)"]).unwrap_err();
    assert_eq!(error.message(), "UNIQUE constraint failed: w.x = 1 in the rows ('a', 2) and ('b', 3)");
}

#[test]
fn names_and_statements_of_indexes_are_checked_before_any_work() {
    let home = Home::new();
    let path = database(&home, 10, "");
    index(&path, &["CREATE INDEX i ON t (b)"]).unwrap();
    for (sql, message) in [
        ("CREATE INDEX I ON t (a)", "index I exists already"),
        ("CREATE INDEX t ON t (a)", "table t exists already"),
        ("CREATE INDEX IF NOT EXISTS v ON t (a)", "view v exists already"),
        ("CREATE INDEX j ON x (a)", "table x does not exist"),
        ("CREATE INDEX j ON v (a)", "v can't have an index: it is a view, and has no rows of its own"),
        ("CREATE INDEX j ON sqlite_schema (name)", "sqlite_schema can't have an index: it is SQLite's own"),
        ("CREATE INDEX j ON t (nowhere)", "index j: no such column: nowhere"),
        ("CREATE INDEX j ON t (a) a", "index j: near \"a\": syntax error"),
        ("CREATE INDEX sqlite_j ON t (a)", "index sqlite_j: object name reserved for internal use: sqlite_j"),
        ("CREATE INDEX j ON t (a); CREATE INDEX J ON t (b)", "index J exists already"),
    ] {
        let error = index(&path, &[sql]).unwrap_err();
        assert!(error.message().starts_with(message), "{sql}: {error:?}");
        assert_ne!(error.kind(), ErrorKind::Input);
    }
    let error = index(&path, &["CREATE INDEX j ON x (a)"]).unwrap_err();
    assert_eq!(error.hint_text().as_deref(), Some("did you mean t? There are: t"));
    // A trigger has the name r already. Triggers have a namespace of their own, so an index may have this name, too.
    let report = index(&path, &["CREATE INDEX r ON t (a)", "CREATE INDEX IF NOT EXISTS I ON t (c)"]).unwrap();
    assert_eq!((report.indexes.len(), &report.existing[..]), (1, &["I".to_owned()][..]));
    let nothing = index(&path, &["CREATE INDEX IF NOT EXISTS i ON t (c)"]).unwrap();
    assert_eq!((nothing.indexes.len(), nothing.pages), (0, nothing.pages_before));
    assert!(index(&path, &[]).is_err());
}

#[test]
fn indexes_that_only_sqlite_can_make_are_made_by_sqlite() {
    let home = Home::new();
    let columns: String = (0..1998).map(|column| format!(", c{column}")).collect();
    let path = database(
        &home,
        2000,
        &format!("CREATE TABLE wide (a{columns}); INSERT INTO wide (a) VALUES (1), (1)"),
    );
    let sql = [
        "CREATE INDEX part ON t (b) WHERE c = 1",
        "CREATE INDEX plain ON t (c)",
        "CREATE INDEX computed ON t (a + 1, b)",
        "CREATE INDEX of_wide ON wide (abs(a))",
    ];
    let prepared = Index::new(&path, sql).prepare(&Context::default()).unwrap();
    let planned = prepared.plan();
    let write_paths: Vec<(WritePath, &str)> =
        planned.indexes.iter().map(|index| (index.write_path, &*index.why)).collect();
    assert_eq!(
        write_paths,
        [
            (WritePath::Sorted, "values that SQLite computes from the rows are sorted"),
            (WritePath::Sorted, "values of the table's rows are sorted"),
            (WritePath::Sorted, "values that SQLite computes from the rows are sorted"),
            (WritePath::Sqlite, "it has more columns than a batch can have"),
        ]
    );
    index(&path, &sql).unwrap();
    let connection = Connection::open(&path).unwrap();
    assert_eq!(integrity(&connection), "ok");
    let count = || schema_rows(&connection).iter().filter(|row| row.0 == "index").count();
    assert_eq!(count(), 4);
    for (unique, said) in [
        ("CREATE UNIQUE INDEX twice ON t (c + 1)", "UNIQUE constraint failed: index 'twice' = "),
        ("CREATE UNIQUE INDEX twice ON wide (abs(a))", "index twice: UNIQUE constraint failed"),
        (
            "CREATE INDEX wrong ON t (json_extract(b || '{', '$.a'))",
            "row 1 of t: index wrong can't be computed",
        ),
    ] {
        let error = index(&path, &["CREATE INDEX new ON t (a)", unique]).unwrap_err();
        assert!(error.message().starts_with(said), "{error:?}");
        assert_eq!(count(), 4);
    }
}

#[test]
fn a_new_index_computes_only_the_generated_columns_that_the_index_uses() {
    let home = Home::new();
    let path = home.path("x.db");
    let old = Connection::open(&path).unwrap();
    // Column e can be computed in no row, because its expression makes malformed JSON. The indexes do not use e, so they are created.
    let sql = "CREATE TABLE t (a INT, b TEXT, c INT AS (a * 2), d INT AS (c + 1), e AS (json_type(b)));
               INSERT INTO t (a, b) VALUES (1, '{}'), (5, '[]'); PRAGMA writable_schema = on;
               UPDATE sqlite_schema SET sql = replace(sql, 'json_type(b)', 'json_type(b || a || ''{'')');
               PRAGMA writable_schema = reset";
    old.execute_batch(sql).unwrap();
    index(&path, &["CREATE INDEX i ON t (d + 1, a) WHERE c > 2", "CREATE INDEX j ON t (d)"]).unwrap();
    let found = |sql: &str| old.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(found("SELECT a FROM t INDEXED BY i WHERE d + 1 = 12 AND c > 2"), 5);
    assert_eq!(found("SELECT count(*) FROM t INDEXED BY j WHERE d > 0"), 2);
    let error = index(&path, &["CREATE INDEX k ON t (e)"]).unwrap_err();
    assert!(error.message().contains("column e of table t can't be computed"), "{error:?}");
}

#[test]
fn sqlite_makes_the_index_in_databases_that_cannot_be_written_by_pages() {
    for (before, why) in [
        ("PRAGMA auto_vacuum = FULL", "pointer map"),
        ("PRAGMA encoding = 'UTF-16le'", "UTF-16le"),
        ("PRAGMA legacy_file_format = ON", ""),
    ] {
        let home = Home::new();
        let path = database(&home, 3000, before);
        let prepared = Index::new(&path, ["CREATE INDEX i ON t (b)"]).prepare(&Context::default()).unwrap();
        let planned = prepared.plan();
        assert!(planned.indexes[0].why.contains(why), "{planned:?}");
        index(&path, &["CREATE INDEX i ON t (b)"]).unwrap();
        let connection = Connection::open(&path).unwrap();
        assert_eq!(integrity(&connection), "ok");
        assert!(plan_of(&connection, "SELECT * FROM t WHERE b = 'x'").contains("USING INDEX i"));
    }
}

#[test]
fn index_waits_for_a_writer_and_lets_readers_continue() {
    let home = Home::new();
    let path = database(&home, 2000, "PRAGMA journal_mode = wal");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO t (b) VALUES ('new')").unwrap();
    let error = index(&path, &["CREATE INDEX i ON t (b)"]).unwrap_err();
    assert!(error.message().contains("in use"), "{error:?}");
    other.execute_batch("COMMIT; BEGIN").unwrap();
    let count = |sql: &str| other.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM t"), 2001);
    // The reader's snapshot is the newest, so a checkpoint can copy the log. If it were older, SQLite would make the index.
    index(&path, &["CREATE INDEX i ON t (b)"]).unwrap();
    assert_eq!(count("SELECT count(*) FROM sqlite_schema WHERE name = 'i'"), 0);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(count("SELECT count(*) FROM sqlite_schema WHERE name = 'i'"), 1);
    assert_eq!(integrity(&other), "ok");
}

#[test]
fn an_index_run_that_is_cancelled_leaves_the_old_database() {
    /// Cancels the run when the given number of phases have begun.
    struct Stop(Cancel, std::sync::atomic::AtomicUsize);
    impl Progress for Stop {
        fn phase(&self, _: &str, _: Option<Amount>) {
            if self.1.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1 {
                self.0.cancel();
            }
        }
    }
    for mode in ["delete", "wal"] {
        let home = Home::new();
        let path = database(&home, 5000, &format!("PRAGMA journal_mode = {mode}"));
        let before = but_for_counters(&path);
        let sql = ["CREATE INDEX i ON t (b)", "CREATE INDEX j ON t (b, a)"];
        let mut stopped = 0;
        for phases in 1..20 {
            let cancel = Cancel::new();
            let stop = Stop(cancel.clone(), phases.into());
            match Index::new(&path, sql).run_with(&Context::default().progress(&stop).cancel(&cancel)) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error:?}");
                    assert!(but_for_counters(&path) == before, "{mode}, phase {phases}");
                    stopped += 1;
                }
                Ok(_) => break,
            }
        }
        assert!(stopped >= 5, "{stopped}");
        assert_eq!(integrity(&Connection::open(&path).unwrap()), "ok");
    }
}

#[test]
fn index_reports_a_damaged_page_by_its_number() {
    let home = Home::new();
    let path = database(&home, 5000, "");
    let mut bytes = std::fs::read(&path).unwrap();
    // A leaf in the middle of the table gets the page type of another kind.
    let damaged = bytes.len() / 4096 / 2;
    bytes[damaged * 4096] = 99;
    std::fs::write(&path, &bytes).unwrap();
    let error = index(&path, &["CREATE INDEX i ON t (b)"]).unwrap_err();
    assert!(error.message().contains(&format!("is damaged: t: page {}:", damaged + 1)), "{error:?}");
    assert!(std::fs::read(&path).unwrap() == bytes);
}
