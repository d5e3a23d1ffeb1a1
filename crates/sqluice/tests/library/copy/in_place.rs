//! Tests of copies that replace their source.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use sqluice::copy::{Copy, CopyReport};
use sqluice::error::Result;
use sqluice::options::WriteOptions;
use sqluice::progress::{Cancel, Context};

use super::content::{content, integrity, open, pragma};

fn make(db: &Path, mode: &str) {
    let connection = Connection::open(db).unwrap();
    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE INDEX i ON t (b);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) INSERT INTO t SELECT i, hex(i) FROM n;
             DELETE FROM t WHERE a % 3 > 0",
        )
        .unwrap();
}

fn run(db: &Path) -> Result<CopyReport> {
    Copy::new(db, db).run()
}

#[test]
fn a_copy_in_place_shrinks_and_keeps_content_and_journal_mode() {
    for mode in ["delete", "wal", "truncate"] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("a.db");
        make(&db, mode);
        let before = content(&db);
        let report = run(&db).unwrap();
        assert!(report.bytes * 2 < report.source_bytes, "{report:?}");
        assert_eq!(content(&db), before);
        assert_eq!(integrity(&db), "ok");
        let kept = if mode == "wal" { "wal" } else { "delete" };
        assert_eq!(pragma(&open(&db), "journal_mode"), format!("Text({kept:?})"));
        drop(open(&db));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{mode}");
    }
}

#[test]
fn a_copy_in_place_of_a_database_in_use_changes_nothing() {
    for mode in ["delete", "wal"] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("a.db");
        make(&db, mode);
        let other = open(&db);
        other.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        let bytes = db.metadata().unwrap().len();
        let cancel = Cancel::new();
        let options = WriteOptions::new().busy_timeout(Duration::from_millis(50));
        let error =
            Copy::new(&db, &db).write(options).run_with(&Context::default().cancel(&cancel)).unwrap_err();
        assert!(error.to_string().contains("in use"), "{error}");
        assert_eq!(db.metadata().unwrap().len(), bytes);
        other.execute_batch("COMMIT; INSERT INTO t VALUES (-1, 'still here')").unwrap();
        assert_eq!(pragma(&other, "journal_mode"), format!("Text({mode:?})"));
    }
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn a_copy_to_a_symbolic_link_to_its_source_keeps_the_content_and_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let (db, link) = (folder.path().join("a.db"), folder.path().join("link.db"));
    make(&db, "delete");
    sqluice_testkit::system::symlink(&db, &link);
    let before = content(&db);
    Copy::new(&db, &link).run().unwrap();
    assert_eq!(content(&db), before);
    assert!(link.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_copy_in_place_that_fails_because_of_damage_keeps_the_journal_mode_and_leaves_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    make(&db, "wal");
    let connection = open(&db);
    connection
        .execute_batch(
            "CREATE TABLE damaged (a); INSERT INTO damaged VALUES (1); PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
    let sql = "SELECT (rootpage - 1) * page_size FROM sqlite_schema, pragma_page_size WHERE name = 'damaged'";
    let root: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(connection);
    let mut file = std::fs::read(&db).unwrap();
    file[usize::try_from(root).unwrap()] = 77;
    std::fs::write(&db, &file).unwrap();
    let error = run(&db).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    assert_eq!(pragma(&open(&db), "journal_mode"), "Text(\"wal\")");
    open(&db).execute_batch("INSERT INTO t VALUES (-1, 'still here')").unwrap();
}
