//! Copies while another connection writes: each has one committed state.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use sqluice::copy::Copy;
use sqluice::options::WriteOptions;

use super::content::integrity;
use sqluice_testkit::effort::tries;
use sqluice_testkit::wait::wait_for;

/// Each transaction gives all rows the same number, moves rows between leaves, and adds and removes some.
const TRANSACTION: &str = "BEGIN;
    UPDATE t SET version = version + 1;
    UPDATE t SET filler = zeroblob((id * version) % 300) WHERE id % 7 = version % 7;
    DELETE FROM t WHERE id = (SELECT max(id) FROM t) AND id > 1500;
    INSERT INTO t (version, filler) SELECT version, zeroblob(50) FROM t LIMIT 1;
    COMMIT";

fn make(db: &Path, mode: &str) {
    let connection = Connection::open(db).unwrap();
    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, version INT, filler BLOB); CREATE INDEX i ON t (version, id);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT i, 0, zeroblob(90) FROM n",
        )
        .unwrap();
}

/// Copies again and again while another connection writes. Each copy has a later version than the one before.
fn copy_while_written(mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (db, target) = (folder.path().join("a.db"), folder.path().join("copy.db"));
    make(&db, mode);
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let writer = Connection::open(&db).unwrap();
            writer.execute_batch("PRAGMA wal_autocheckpoint = 50; PRAGMA synchronous = OFF").unwrap();
            writer.busy_timeout(Duration::from_millis(5)).unwrap();
            while !stop.load(Ordering::Relaxed) {
                match writer.execute_batch(TRANSACTION) {
                    Ok(()) => _ = commits.fetch_add(1, Ordering::Relaxed),
                    Err(_) if !writer.is_autocommit() => writer.execute_batch("ROLLBACK").unwrap(),
                    Err(_) => {}
                }
            }
        });
        let mut last = None;
        let options = WriteOptions::new().busy_timeout(Duration::from_secs(60)).overwrite(true);
        for _ in 0..tries(8, 40, 1000) {
            let before = commits.load(Ordering::Relaxed);
            // The writer counts a commit after it has happened. So the first of two further commits may have happened before `before` was
            // read, but not the second.
            wait_for("two commits", || commits.load(Ordering::Relaxed) >= before + 2);
            let report = Copy::new(&db, &target).write(options.clone()).run().unwrap();
            assert_eq!(integrity(&target), "ok");
            let copy = Connection::open(&target).unwrap();
            let sql = "SELECT min(version), max(version), count(*) FROM t";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (least, most, rows): (i64, i64, i64) = copy.query_row(sql, [], row).unwrap();
            assert_eq!(least, most, "a copy has one state");
            assert_eq!(rows as u64, report.rows);
            assert!(last < Some(least), "version {least} after {last:?}");
            last = Some(least);
        }
        stop.store(true, Ordering::Relaxed);
    })
}

#[test]
fn each_copy_beside_a_writer_in_wal_mode_has_one_committed_state() {
    copy_while_written("wal");
}

#[test]
fn each_copy_beside_a_writer_in_rollback_mode_has_one_committed_state() {
    copy_while_written("delete");
}

#[test]
fn a_copy_that_exceeds_its_limit_on_blocking_writers_fails_without_leaving_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (db, target) = (folder.path().join("a.db"), folder.path().join("copy.db"));
    make(&db, "delete");
    let error = Copy::new(&db, &target).busy_limit(Duration::ZERO).run().unwrap_err();
    assert!(error.to_string().contains("others wait to write"), "{error}");
    assert!(!target.exists());
    make(&folder.path().join("wal.db"), "wal");
    Copy::new(folder.path().join("wal.db"), &target).busy_limit(Duration::ZERO).run().unwrap();
}

#[test]
fn an_unfinished_transaction_in_a_hot_journal_is_rolled_back_before_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (db, hot, target) =
        (folder.path().join("a.db"), folder.path().join("hot.db"), folder.path().join("copy.db"));
    make(&db, "delete");
    let writer = Connection::open(&db).unwrap();
    // With a small cache, SQLite writes pages of the open transaction to the file.
    writer
        .execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE t SET version = 7, filler = zeroblob(200)")
        .unwrap();
    for suffix in ["", "-journal"] {
        let from = format!("{}{suffix}", db.display());
        std::fs::copy(from, format!("{}{suffix}", hot.display())).unwrap();
    }
    writer.execute_batch("ROLLBACK").unwrap();
    assert_ne!(std::fs::read(&db).unwrap(), std::fs::read(&hot).unwrap());
    Copy::new(&hot, &target).run().unwrap();
    let copy = Connection::open(&target).unwrap();
    assert_eq!(copy.query_row("SELECT max(version) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    assert_eq!(integrity(&target), "ok");
}
