//! Merges while another connection writes to a source: each result has one committed state of this source.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use sqluice::merge::Merge;
use sqluice::options::WriteOptions;

use super::twin::integrity;
use sqluice_testkit::effort::tries;
use sqluice_testkit::wait::wait_for;

const TRANSACTION: &str = "BEGIN;
    UPDATE t SET version = version + 1;
    UPDATE t SET filler = zeroblob((id * version) % 300) WHERE id % 7 = version % 7;
    DELETE FROM t WHERE id = (SELECT max(id) FROM t) AND id > 1500;
    INSERT INTO t (version, filler) SELECT version, zeroblob(50) FROM t LIMIT 1;
    COMMIT";

fn make(db: &Path, mode: &str, first: i64) {
    let connection = Connection::open(db).unwrap();
    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
    let last = first + 1999;
    connection
        .execute_batch(&format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, version INT, filler BLOB); CREATE INDEX i ON t (version, id);
             WITH n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) INSERT INTO t SELECT i, 0, zeroblob(90) FROM n"
        ))
        .unwrap();
}

/// Merges again and again while another connection writes to one of the sources. Each merge has a later version than the one before.
fn merge_while_written(mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let [db, quiet, target] = ["a.db", "quiet.db", "all.db"].map(|name| folder.path().join(name));
    make(&db, mode, 1);
    make(&quiet, mode, 1_000_001);
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
            let merge = Merge::new(&target, [&db, &quiet]).write(options.clone());
            let report = merge.run().unwrap();
            assert_eq!(integrity(&target), "ok");
            let merged = Connection::open(&target).unwrap();
            let sql = "SELECT min(version), max(version), count(*) FROM t WHERE id < 1000000";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (least, most, rows): (i64, i64, i64) = merged.query_row(sql, [], row).unwrap();
            assert_eq!(least, most, "a merge has one state");
            assert_eq!(rows as u64 + 2000, report.rows);
            assert!(last < Some(least), "version {least} after {last:?}");
            last = Some(least);
        }
        stop.store(true, Ordering::Relaxed);
    })
}

#[test]
fn each_merge_beside_a_writer_in_wal_mode_has_one_committed_state() {
    merge_while_written("wal");
}

#[test]
fn each_merge_beside_a_writer_in_rollback_mode_has_one_committed_state() {
    merge_while_written("delete");
}
