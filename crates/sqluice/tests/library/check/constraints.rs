//! `check` with SQLite's own check: it finds all faults that SQLite finds on a writable connection, and changes no file. Constraints that
//! need a function, collation or module of an application are reported as not verified.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use sqluice::check::{Check, Checked, UnverifiedKind};

use crate::support::files::integrity;

fn full(path: &Path) -> Checked {
    Check::new(path).full(true).run().unwrap()
}

/// Returns the database, its log and its journal, byte by byte.
fn files(path: &Path) -> Vec<Option<Vec<u8>>> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::read(PathBuf::from(name)).ok().filter(|bytes| !bytes.is_empty())
    };
    vec![std::fs::read(path).ok(), beside("-wal"), beside("-journal")]
}

/// Opens a connection on which rows may break constraints.
fn breaking(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF",
        )
        .unwrap();
    connection
}

/// Returns SQL that changes the declaration of a table without its rows.
fn redeclare(from: &str, to: &str) -> String {
    format!(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}'); PRAGMA writable_schema = RESET;"
    )
}

/// Returns SQL that changes rows while an index is left out of the schema, so that the index becomes outdated.
fn behind(index: &str, change: &str) -> String {
    format!(
        "CREATE TEMP TABLE spare AS SELECT * FROM main.sqlite_schema WHERE name = '{index}';
         PRAGMA writable_schema = ON; DELETE FROM main.sqlite_schema WHERE name = '{index}'; PRAGMA writable_schema = RESET;
         {change}
         PRAGMA writable_schema = ON; INSERT INTO main.sqlite_schema SELECT * FROM spare; PRAGMA writable_schema = RESET;"
    )
}

/// Returns SQL statements, each of which makes faults that SQLite finds.
fn faults() -> Vec<String> {
    let t = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT); INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);";
    let check =
        |declared: &str, row: &str| format!("CREATE TABLE c ({declared}); INSERT INTO c VALUES {row};");
    let mut faults = vec![
        check("a CHECK (a > 0)", "(-1)"),
        check("a, b, CHECK (a < b)", "(2, 1)"),
        check("a TEXT CHECK (length(a) = 3)", "('four')"),
        check("a CHECK (a IN (1, 2))", "(3)"),
        check("a CHECK (a IS NOT NULL)", "(NULL)"),
        check("a CHECK (typeof(a) = 'integer')", "('x')"),
        check("a CHECK (a BETWEEN 1 AND 9)", "(1), (5), (10)"),
        check("a CHECK (json_valid(a))", "('{')"),
        check("a CHECK (a LIKE '%@%')", "('nobody')"),
        check("a CHECK (a GLOB '[0-9]*')", "('x1')"),
        check("a COLLATE NOCASE CHECK (a <> 'ann')", "('ANN')"),
        check("a INTEGER PRIMARY KEY CHECK (a < 100)", "(100)"),
        check("a, CONSTRAINT named CHECK (a % 2 = 0)", "(3)"),
        check("a CHECK (a > 0) CHECK (a < 9)", "(9)"),
        "CREATE TABLE c (a PRIMARY KEY, b CHECK (b > 0)) WITHOUT ROWID; INSERT INTO c VALUES (1, 0);".to_owned(),
        "CREATE TABLE c (a INTEGER CHECK (a > 0)) STRICT; INSERT INTO c VALUES (0);".to_owned(),
        "CREATE TABLE c (a, g AS (a * 2) CHECK (g < 10)); INSERT INTO c VALUES (5);".to_owned(),
        "CREATE TABLE c (a, g AS (a * 2) STORED CHECK (g < 10)); INSERT INTO c VALUES (5);".to_owned(),
        "CREATE TABLE d (a CHECK (a > 0)); INSERT INTO d VALUES (1); CREATE TABLE c (a CHECK (a > 0)); INSERT INTO c VALUES (0);".to_owned(),
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE c (a TEXT CHECK (a <> 'no')); INSERT INTO c VALUES ('no');".to_owned(),
        "PRAGMA auto_vacuum = 1; CREATE TABLE c (a CHECK (a > 0)); INSERT INTO c VALUES (0);".to_owned(),
        "PRAGMA page_size = 512; CREATE TABLE c (a CHECK (length(a) < 2000)); INSERT INTO c VALUES (zeroblob(3000));".to_owned(),
    ];
    let with_t = [
        redeclare("a INTEGER", "a INTEGER CHECK (a < 25)"),
        redeclare("b TEXT", "b TEXT NOT NULL"),
        redeclare("a INTEGER", "a INTEGER NOT NULL CHECK (a <> 20)"),
        format!("CREATE INDEX p ON t (a) WHERE a > 15; {}", behind("p", "INSERT INTO t VALUES (9, 90, 'z');")),
        format!("CREATE INDEX e ON t (a + 1); {}", behind("e", "UPDATE t SET a = 99 WHERE id = 2;")),
        format!("CREATE INDEX i ON t (b); {}", behind("i", "DELETE FROM t WHERE id = 1;")),
        format!("CREATE UNIQUE INDEX u ON t (a); {}", behind("u", "UPDATE t SET a = 10 WHERE id = 2;")),
        "CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('words'); UPDATE f_content SET c0 = 'others';".to_owned(),
        "CREATE VIRTUAL TABLE r USING rtree(id, x, y); INSERT INTO r VALUES (1, 1, 2); DELETE FROM r_rowid;".to_owned(),
    ];
    faults.extend(with_t.map(|fault| format!("{t} {fault}")));
    faults
}

#[test]
fn a_full_check_finds_each_fault_that_sqlite_finds_on_a_writable_connection() {
    let faults = faults();
    assert!(faults.len() >= 30);
    for sql in faults {
        let folder = tempfile::tempdir().unwrap();
        for mode in ["DELETE", "WAL"] {
            let path = folder.path().join(mode);
            let connection = breaking(&path);
            let set = sql.split_once("CREATE").unwrap().0;
            connection.execute_batch(set).unwrap();
            connection.pragma_update(None, "journal_mode", mode).unwrap();
            connection.execute_batch(&sql).unwrap();
            // In WAL mode the newest pages stay in the log when the connection is closed, so that `check` must read them there.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
            drop(connection);
            let before = files(&path);
            let checked = full(&path);
            assert_eq!(files(&path), before, "{mode}: {sql}");
            let connection = Connection::open(&path).unwrap();
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
            assert_ne!(integrity(&connection), "ok", "{mode}: {sql}");
            assert!(!checked.is_sound(), "{mode}: {sql}");
            let is_check = |kind: UnverifiedKind| kind == UnverifiedKind::CheckConstraint;
            assert!(!checked.unverified.iter().any(|unverified| is_check(unverified.what)), "{sql}");
        }
    }
}

/// Returns SQL that makes sound databases, each with `true` if the database needs a function, collation or tokenizer of an application,
/// which `check` reports.
fn sound() -> Vec<(String, bool)> {
    let t = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b); INSERT INTO t VALUES (1, 'x', 1), (2, 'Y', 2), (3, 'z', 3);";
    let own = [
        "CREATE INDEX i ON t (a COLLATE RTRIM)",
        "CREATE INDEX i ON t (a COLLATE RTRIM DESC, b)",
        "CREATE UNIQUE INDEX i ON t (a COLLATE RTRIM)",
        "CREATE TABLE w (a TEXT COLLATE RTRIM PRIMARY KEY) WITHOUT ROWID; INSERT INTO w SELECT a FROM t",
        "CREATE TABLE w (a TEXT UNIQUE COLLATE RTRIM); INSERT INTO w SELECT a FROM t",
        "CREATE TABLE w (a TEXT COLLATE RTRIM CHECK (a < 'zz')); INSERT INTO w SELECT a FROM t",
        "CREATE INDEX i ON t (abs(b))",
        "CREATE INDEX i ON t (a) WHERE abs(b) > 2",
        "CREATE TABLE w (a CHECK (abs(a) > 0)); INSERT INTO w VALUES (1)",
        "CREATE TABLE w (a, g AS (abs(a))); INSERT INTO w VALUES (1)",
        "CREATE TABLE w (a, g AS (abs(a)) STORED); INSERT INTO w VALUES (1)",
        "CREATE INDEX i ON t (a COLLATE RTRIM); CREATE INDEX j ON t (abs(b)); CREATE TABLE c (a CHECK (a > 0)); INSERT INTO c VALUES (1)",
    ];
    let tokenized = [
        "CREATE VIRTUAL TABLE f USING fts5(x, tokenize = 'porter'); INSERT INTO f VALUES ('words of a text')",
        "CREATE VIRTUAL TABLE f USING fts4(x, tokenize=porter); INSERT INTO f VALUES ('words of a text')",
        "CREATE VIRTUAL TABLE f USING fts3(x, tokenize porter); INSERT INTO f VALUES ('words')",
    ];
    let plain = [
        "SELECT 1",
        "CREATE INDEX i ON t (a COLLATE NOCASE)",
        "CREATE INDEX i ON t (a COLLATE RTRIM DESC)",
        "CREATE INDEX i ON t (a) WHERE b > 1",
        "CREATE INDEX i ON t (lower(a))",
        "CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('words')",
        "CREATE VIRTUAL TABLE f USING fts5(x, content=''); INSERT INTO f(rowid, x) VALUES (1, 'words')",
        "CREATE VIRTUAL TABLE f USING fts5(a, content='t', content_rowid='id'); INSERT INTO f(f) VALUES ('rebuild')",
        "CREATE VIRTUAL TABLE f USING fts4(x, tokenize=unicode61); INSERT INTO f VALUES ('words')",
        "CREATE VIRTUAL TABLE r USING rtree(id, x, y); INSERT INTO r VALUES (1, 1, 2)",
        "CREATE TABLE c (a CHECK (a > 0)); INSERT INTO c VALUES (1), (NULL)",
        "CREATE TABLE \"12\" (a CHECK (a > 0)); INSERT INTO \"12\" VALUES (1)",
        "CREATE VIEW v AS SELECT * FROM missing",
        "CREATE TABLE c (a REFERENCES nowhere); INSERT INTO c VALUES (1)",
        "ALTER TABLE t ADD COLUMN n DEFAULT 'x'; CREATE INDEX i ON t (n)",
    ];
    let with = |sql: &str| format!("{t} {sql};");
    let all = own.into_iter().chain(tokenized).map(|sql| (with(sql), true));
    all.chain(plain.into_iter().map(|sql| (with(sql), false))).collect()
}

#[test]
fn a_full_check_passes_sound_databases_and_reports_objects_of_an_application_as_unverified() {
    let all = sound();
    assert!(all.len() >= 30);
    let mut unverified = 0;
    for (sql, needs_application) in all {
        for mode in ["DELETE", "WAL"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.db");
            let connection = Connection::open(&path).unwrap();
            connection.pragma_update(None, "journal_mode", mode).unwrap();
            connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
            // This connection lacks the collation, function or tokenizer of the application, so the name is written into the text of the
            // schema.
            let own = [("RTRIM", "odd"), ("abs(", "twice("), ("porter", "lemmas")];
            for (from, to) in own.into_iter().filter(|_| needs_application) {
                connection.execute_batch(&redeclare(from, to)).unwrap();
            }
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
            drop(connection);
            let before = files(&path);
            let link = folder.path().join("elsewhere").join("link.db");
            std::fs::create_dir(link.parent().unwrap()).unwrap();
            sqluice_testkit::system::symlink(&path, &link);
            for path in [&path, &link] {
                let checked = full(path);
                let what = format!("{mode} {}: {sql}", path.display());
                assert_eq!(checked.sqlite_problems, Vec::<String>::new(), "{what}");
                assert!(checked.is_sound(), "{what}: {:?}", checked.report.problems);
                assert!(checked.rows() > 2, "{what}: {}", checked.rows());
                let is_unverified = checked
                    .unverified
                    .iter()
                    .any(|unverified| unverified.what == UnverifiedKind::IntegrityCheck);
                // A database that needs an application may be verified all the same, as SQLite does not look up every name of the schema.
                assert!(needs_application || !is_unverified, "{what}: {:?}", checked.unverified);
                unverified += usize::from(is_unverified);
            }
            assert_eq!(files(&path), before, "{mode}: {sql}");
        }
    }
    assert!(unverified >= 40, "{unverified} of 60");
}

#[test]
fn a_full_check_refuses_a_database_with_a_hot_journal_and_keeps_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let connection = Connection::open(path("a.db")).unwrap();
    connection
        .execute_batch("CREATE TABLE t (a CHECK (a > 0)); INSERT INTO t VALUES (1); PRAGMA cache_size = 1; BEGIN; UPDATE t SET a = 2;")
        .unwrap();
    connection.cache_flush().unwrap();
    std::fs::copy(path("a.db"), path("b.db")).unwrap();
    std::fs::copy(path("a.db-journal"), path("b.db-journal")).unwrap();
    let before = files(&path("b.db"));
    assert!(before[2].is_some());
    let error = Check::new(path("b.db")).full(true).run().unwrap_err();
    assert!(error.message().contains("has a journal of a transaction that was not finished"), "{error}");
    assert_eq!(files(&path("b.db")), before);
}

#[test]
fn check_constraints_of_a_file_that_cannot_be_opened_for_writing_are_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = breaking(&path);
    connection.execute_batch("CREATE TABLE t (a CHECK (a > 0)); INSERT INTO t VALUES (0);").unwrap();
    drop(connection);
    // SQLite opens a file with a newer write version in its header as read-only, so the broken CHECK is not found, and is reported as not
    // verified.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[18] = 3;
    std::fs::write(&path, bytes).unwrap();
    let checked = full(&path);
    assert!(checked.is_sound(), "{:?}", checked.sqlite_problems);
    let unverified: Vec<String> = checked
        .unverified
        .iter()
        .map(|unverified| format!("{} {}", unverified.what, unverified.name))
        .collect();
    assert_eq!(unverified, ["CHECK of t"]);
}
