//! Dumps that are cut off, damaged, or made to do harm. The load fails with the line and leaves nothing behind, or it keeps the bytes as
//! SQLite does.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use sqluice::error::ErrorKind;
use sqluice::load::Load;
use sqluice::progress::{Amount, Cancel, Context, Progress};
use sqluice_testkit::names;

use super::load;
use crate::support::load::gzip;

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a dump.
    fn dump(&self, text: impl AsRef<[u8]>) -> PathBuf {
        let dump = self.at("dump.sql");
        fs::write(&dump, text).unwrap();
        dump
    }

    /// Loads a dump that must fail. Returns the message, and the line.
    fn refused(&self, text: impl AsRef<[u8]>) -> (String, Option<u64>) {
        let error = load(&self.dump(text), &self.at("x.db"), 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
        assert_eq!(names(self.folder.path()), ["dump.sql"], "{error}");
        (error.to_string(), error.place().and_then(|place| place.line))
    }

    /// Loads a dump, and returns the result of a query.
    fn loaded(&self, text: impl AsRef<[u8]>, query: &str) -> String {
        load(&self.dump(text), &self.at("x.db"), 2).unwrap();
        let connection = Connection::open(self.at("x.db")).unwrap();
        let value = connection.query_row(query, [], |row| row.get(0)).unwrap();
        drop(connection);
        fs::remove_file(self.at("x.db")).unwrap();
        value
    }
}

const START: &str = "CREATE TABLE t (a, b);\nINSERT INTO t VALUES (1, 'x');\n";

#[test]
fn dump_statements_that_reach_beyond_the_database_are_refused() {
    let home = Home::new();
    let statements = [
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'other.db'",
        "VACUUM main INTO 'other.db'",
        "DETACH main",
        "SELECT load_extension('x.so')",
        "SELECT writefile('x', 'y')",
        "UPDATE t SET a = writefile('x', 'y')",
        "INSERT INTO t SELECT readfile('/etc/passwd'), 1",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA journal_mode_x = 1",
        "CREATE TEMP TABLE hidden (a)",
        "CREATE TEMP TRIGGER fires AFTER INSERT ON t BEGIN SELECT 1; END",
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i FROM n",
        ".shell touch x",
        ".open other.db",
        ".read other.sql",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET name = 'x', sql = NULL",
    ];
    for statement in statements {
        let (message, line) = home.refused(format!("{START}{statement}\n;\n"));
        assert_eq!(line, Some(3), "{statement}: {message}");
    }
}

#[test]
fn invalid_entries_of_sqlite_schema_in_a_dump_are_refused() {
    let home = Home::new();
    let insert = "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES";
    for entry in [
        "('table', 'u', 'u', 2, 'CREATE TABLE u (a)')",
        "('table', 'u', 'u', 1, 'CREATE TABLE u (a)')",
        "('table', 'u', 'u', 900, 'CREATE TABLE u (a)')",
        "('table', 'u', 'u', 0, 'CREATE TABLE u (a)')",
        "('index', 'i', 't', 2, 'CREATE INDEX i ON t (a)')",
        "('index', 'i', 't', 0, 'CREATE INDEX i ON t (a)')",
        "('view', 'v', 'v', 0, 'no view')",
    ] {
        home.refused(format!("{START}PRAGMA writable_schema = ON;\n{insert} {entry};\n"));
    }
    for change in
        ["sql = 'CREATE TABLE t (a, b) WITHOUT ROWID'", "sql = 'nothing'", "sql = 'CREATE TABLE u (a, b)'"]
    {
        home.refused(format!("{START}PRAGMA writable_schema = ON;\nUPDATE sqlite_schema SET {change};\n"));
    }
}

#[test]
fn a_dump_of_sqlite_that_was_cut_off_is_refused_with_the_place() {
    let home = Home::new();
    let whole = format!(
        "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n{START}INSERT INTO t VALUES (2, 'a;b\nc');\nCOMMIT;\n"
    );
    let end = whole.find("COMMIT;").unwrap();
    for bytes in (whole.find("TRANSACTION").unwrap() + 12..end + 6).step_by(1) {
        let (message, line) = home.refused(&whole[..bytes]);
        assert!(line.is_some(), "{message} at {bytes}");
    }
    assert_eq!(home.loaded(&whole, "SELECT count(*) || max(b) FROM t"), "2x");
}

#[test]
fn a_dump_without_a_commit_at_its_end_is_loaded_only_on_request() {
    let home = Home::new();
    for end in ["ROLLBACK; -- due to errors\n", ""] {
        let text = format!("BEGIN TRANSACTION;\n{START}{end}");
        let (message, _) = home.refused(&text);
        assert!(message.contains("dump"), "{message}");
        let (dump, db) = (home.dump(&text), home.at("x.db"));
        Load::new(&db, [&dump]).commit_anyway(true).run().unwrap();
        fs::remove_file(db).unwrap();
    }
}

#[test]
fn bytes_that_are_not_utf8_are_kept_in_inserted_literals_and_refused_in_an_update() {
    let home = Home::new();
    let text = b"\xef\xbb\xbfCREATE TABLE t (a, b);\r\nINSERT INTO t VALUES ('a\xffb', 'x\r\ny');\r\nINSERT INTO t VALUES (2, 3);\r\n";
    assert_eq!(
        home.loaded(text, "SELECT group_concat(hex(a) || ' ' || hex(b)) FROM t"),
        "61FF62 780D0A79,32 33"
    );
    let (message, line) = home.refused(b"CREATE TABLE t (a);\nUPDATE t SET a = '\xff';\n");
    assert_eq!(line, Some(2), "{message}");
}

#[test]
fn a_nul_is_kept_in_text_literals_and_comments_and_refused_anywhere_else() {
    let home = Home::new();
    let text = "CREATE TABLE t (a, b);\nINSERT INTO t VALUES (1, 'one'), (2, 'two');\nUPDATE t SET a = 3 WHERE a = 2;\n-- the end\n";
    let is_within = |at: usize, what: &str| {
        let start = text.find(what).unwrap();
        (start + 1..start + what.len()).contains(&at)
    };
    for at in 0..=text.len() {
        let mut bytes = text.as_bytes().to_vec();
        bytes.insert(at, 0);
        if is_within(at, "'one'") || is_within(at, "'two'") || is_within(at, "- the end\n") {
            let found =
                home.loaded(&bytes, "SELECT group_concat(a) || ' ' || sum(length(CAST(b AS BLOB))) FROM t");
            let nuls = usize::from(!is_within(at, "- the end\n"));
            assert_eq!(found, format!("1,3 {}", 6 + nuls), "at {at}");
        } else {
            let (message, line) = home.refused(&bytes);
            let expected = text[..at].matches('\n').count() as u64 + 1;
            // Text after a statement on the same line may belong to the next statement, so the error may name the next line.
            assert!(line.is_some_and(|line| line == expected || line == expected + 1), "at {at}: {message}");
        }
    }
    // SQLite would run this statement only up to the NUL, and so delete all rows.
    let (message, line) =
        home.refused(b"CREATE TABLE t (a);\nINSERT INTO t VALUES (1);\nDELETE FROM t\0 WHERE a = 2;\n");
    assert!(message.contains("NUL"), "{message}");
    assert_eq!(line, Some(3));
}

#[test]
fn bytes_of_a_dump_that_are_not_utf8_are_refused_outside_of_inserted_literals() {
    let home = Home::new();
    for statement in [
        &b"CREATE TABLE \"u\xff\" (a)"[..],
        b"CREATE INDEX i ON t (a) WHERE b = '\xc3'",
        b"INSERT INTO t SELECT '\xed\xa0\x80', 1",
        b"CREATE VIEW v AS SELECT 1 -- \xff\n",
    ] {
        let (message, line) = home.refused([START.as_bytes(), statement, b";\n"].concat());
        assert!(message.contains("UTF-8"), "{message}");
        assert_eq!(line, Some(3), "{message}");
    }
}

#[test]
fn a_row_of_a_dump_that_sqlite_refuses_is_named_by_its_line() {
    let home = Home::new();
    let rows = "INSERT INTO t VALUES (2, 'b'); -- ;\nINSERT INTO t VALUES (3, ';');\n\nINSERT INTO t VALUES\n(2, 'c');\nINSERT INTO t VALUES (4, 'd');\n";
    let (message, line) =
        home.refused(format!("CREATE TABLE t (a UNIQUE, b);\nINSERT INTO t SELECT 1, 'a';\n{rows}"));
    assert_eq!(line, Some(6), "{message}");
}

#[test]
fn nested_and_long_expressions_in_a_dump_have_their_value_or_are_refused() {
    let home = Home::new();
    let nested = |depth: usize| format!("{}7{}", "(".repeat(depth), ")".repeat(depth));
    let sum = |terms: usize| vec!["1"; terms].join("+");
    let tested = |value: &str, insert: bool| match insert {
        true => format!(
            "CREATE TABLE t (a, b);\nINSERT INTO t VALUES (1, 1);\nINSERT INTO t VALUES ({value}, 1);\n"
        ),
        false => format!("CREATE TABLE t (a, b);\nINSERT INTO t VALUES (1, 1);\nUPDATE t SET a = {value};\n"),
    };
    for insert in [true, false] {
        let largest = "SELECT CAST(max(a) AS TEXT) FROM t";
        assert_eq!(home.loaded(tested(&nested(30), insert), largest), "7");
        assert_eq!(home.loaded(tested(&sum(900), insert), largest), "900");
        for value in [nested(100_000), sum(10_000)] {
            let (message, line) = home.refused(tested(&value, insert));
            assert_eq!(line, Some(3), "{}", &message[..message.len().min(200)]);
            assert!(message.len() < 1000);
        }
    }
}

#[cfg(feature = "dialects")]
#[test]
fn unsupported_and_deeply_nested_statements_in_a_mysql_dump_are_refused_with_their_line() {
    let home = Home::new();
    let rows = |rows: &str| {
        format!("-- MySQL dump 10.13\nCREATE TABLE `t` (`a` int);\n{rows};\n-- Dump completed\n")
    };
    let nested = format!("INSERT INTO `t` VALUES ({}1{})", "(".repeat(100_000), ")".repeat(100_000));
    let sum = format!("INSERT INTO `t` VALUES ({})", vec!["1"; 10_000].join("+"));
    for statement in
        [&*nested, &sum, "INSERT INTO `t` SELECT 1", "UPDATE `t` SET a = 1", "INSERT INTO `t\0` VALUES (1)"]
    {
        let (message, line) = home.refused(rows(statement));
        assert_eq!(line, Some(3), "{}", &message[..message.len().min(200)]);
    }
    let check =
        format!("CREATE TABLE `u` (`a` int, CHECK ({}a{} > 1))", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(home.loaded(rows(&check), "SELECT group_concat(name) FROM sqlite_schema"), "t,u");
}

#[test]
fn a_statement_without_an_end_is_refused_within_the_memory_setting() {
    let home = Home::new();
    for start in ["INSERT INTO t VALUES (2, '", "UPDATE t SET a = '", "/* ", "CREATE TABLE \"u"] {
        let dump = home.dump(format!("{START}{start}{}", "long ".repeat(8 << 20)));
        let write = sqluice::options::WriteOptions::new().threads(1).memory_bytes(64 << 20);
        let error = Load::new(home.at("x.db"), [&dump]).write(write).run().unwrap_err();
        assert!(error.to_string().contains("is longer than 8 MiB"), "{error}");
        assert_eq!(error.place().and_then(|place| place.line), Some(3));
        assert_eq!(names(home.folder.path()), ["dump.sql"]);
    }
}

#[test]
fn a_damaged_compressed_dump_leaves_nothing() {
    let home = Home::new();
    let rows: String = (0..20_000).map(|row| format!("INSERT INTO t VALUES ({row}, 'x{row}');\n")).collect();
    let mut packed = gzip(format!("{START}{rows}").as_bytes());
    let middle = packed.len() / 2;
    let dump = home.at("dump.sql.gz");
    for cut in [true, false] {
        match cut {
            true => packed.truncate(middle + 100),
            false => packed[middle] ^= 0x55,
        }
        fs::write(&dump, &packed).unwrap();
        load(&dump, &home.at("x.db"), 2).unwrap_err();
        assert_eq!(names(home.folder.path()), ["dump.sql.gz"]);
    }
}

/// Cancels when a number of bytes or rows were reported.
struct Stop {
    cancel: Cancel,
    reports: std::sync::atomic::AtomicUsize,
    at: usize,
}

impl Progress for Stop {
    fn phase(&self, _: &str, _: Option<Amount>) {
        self.advance(Amount::default());
    }

    fn advance(&self, _: Amount) {
        if self.reports.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == self.at {
            self.cancel.cancel();
        }
    }
}

#[test]
fn a_canceled_load_of_a_dump_leaves_the_old_database() {
    let home = Home::new();
    let rows: String = (0..20_000).map(|row| format!("INSERT INTO t VALUES ({row}, 'x{row}');\n")).collect();
    let dump = home.dump(format!("{START}{rows}UPDATE t SET b = 'y';\n{rows}"));
    let old = home.at("x.db");
    load(&home.dump("CREATE TABLE old (a);\n"), &old, 1).unwrap();
    fs::write(&dump, format!("{START}{rows}UPDATE t SET b = 'y';\n{rows}")).unwrap();
    let before = fs::read(&old).unwrap();
    let mut canceled = 0;
    for at in 0..40 {
        let cancel = Cancel::new();
        let stop = Stop { cancel: cancel.clone(), reports: 0.into(), at };
        let context = Context::default().progress(&stop).cancel(&cancel);
        let write = sqluice::options::WriteOptions::new().threads(2).overwrite(true);
        if Load::new(&old, [&dump]).write(write).run_with(&context).is_ok() {
            break;
        }
        canceled += 1;
        assert!(fs::read(&old).unwrap() == before, "canceled at {at}");
        assert_eq!(names(home.folder.path()), ["dump.sql", "x.db"], "canceled at {at}");
    }
    assert!(canceled > 3, "{canceled}");
}

#[cfg(feature = "dialects")]
#[test]
fn a_dump_of_mariadb_without_its_closing_comment_is_refused_as_cut_off() {
    let home = Home::new();
    let text = "-- MariaDB dump 10.19\n--\nCREATE TABLE t (a int);\nINSERT INTO t VALUES (1),(2);\n";
    let (message, line) = home.refused(text);
    assert!(message.contains("cut off"), "{message}");
    assert_eq!(line, Some(5));
    let loaded = Load::new(home.at("x.db"), [home.at("dump.sql")]).commit_anyway(true).run();
    assert_eq!(loaded.unwrap().rows, 2);
    let complete = home.dump(format!("{text}-- Dump completed on 2026-11-27\n"));
    assert_eq!(load(&complete, &home.at("y.db"), 2).unwrap().rows, 2);
}
