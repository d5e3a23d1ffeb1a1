//! An export has exactly one committed state, whatever others write meanwhile.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use sqluice::export::{Export, ReadOptions, formats};
use sqluice_testkit::effort::tries;
use sqluice_testkit::wait::wait_for;

/// Rows of each table. All have the number of the transaction that wrote them last.
const ROWS: usize = 3000;

/// Bytes of the log at which the writer waits until it is reset.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// Stops the writer when it is dropped, so also when an assertion fails.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn make(db: &Path, journal_mode: &str) {
    let connection = Connection::open(db).unwrap();
    let sql = format!(
        "PRAGMA page_size = 1024; PRAGMA journal_mode = {journal_mode};
         CREATE TABLE a (id INTEGER PRIMARY KEY, state INT, filler TEXT);
         CREATE TABLE b (id TEXT PRIMARY KEY, state INT, filler TEXT) WITHOUT ROWID;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
         INSERT INTO a SELECT i, 0, 'filler ' || i FROM n;
         INSERT INTO b SELECT 'key ' || id, 0, filler FROM a;"
    );
    connection.execute_batch(&sql).unwrap();
}

/// Commits again and again until it is stopped, and counts the commits.
fn write(db: &Path, stop: &AtomicBool, commits: &AtomicU64) {
    let connection = Connection::open(db).unwrap();
    connection.busy_timeout(Duration::from_millis(1)).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 50").unwrap();
    let log = db.with_extension("db-wal");
    while !stop.load(Ordering::Relaxed) {
        // Exports that follow each other closely keep SQLite from resetting the log, which would fill the disk.
        if log.metadata().is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            continue;
        }
        let sql = "BEGIN IMMEDIATE; UPDATE a SET filler = filler || 'x' WHERE length(filler) < 60;
            UPDATE a SET state = state + 1; UPDATE b SET state = state + 1;
            DELETE FROM a WHERE id % 500 = (SELECT max(state) FROM a) % 500 AND id > 500; COMMIT";
        match connection.execute_batch(sql) {
            Ok(()) => _ = commits.fetch_add(1, Ordering::Relaxed),
            Err(_) => {
                let _ = connection.execute_batch("ROLLBACK");
            }
        }
    }
}

/// Returns the different transaction numbers in a CSV file with a header.
fn states(file: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut states: Vec<u64> =
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    states.sort_unstable();
    states.dedup();
    states
}

#[test]
fn all_files_of_an_export_have_one_committed_state_while_others_write() {
    for journal_mode in ["WAL", "DELETE"] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("x.db");
        make(&db, journal_mode);
        let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| write(&db, &stop, &commits));
            let stopping = Stop(&stop);
            let mut seen = Vec::new();
            let mut read = ReadOptions::new();
            read.busy_timeout = Duration::from_secs(60);
            for _ in 0..tries(5, 15, 1000) {
                let before = commits.load(Ordering::Relaxed);
                // The writer counts a commit after it has happened. So the first of two further commits may have happened before `before`
                // was read, but not the second.
                wait_for("two commits", || commits.load(Ordering::Relaxed) >= before + 2);
                let to = folder.path().join("out");
                let export =
                    Export::new(&db, &to).format(&formats::CSV).overwrite(true).threads(2).read(read);
                let report = export.run().unwrap();
                assert_eq!(report.lets_others_commit, journal_mode == "WAL");
                let mut all = states(&to.join("a.csv"));
                all.extend(states(&to.join("b.csv")));
                all.dedup();
                assert_eq!(all.len(), 1, "{journal_mode}: {all:?}");
                seen.push(all[0]);
            }
            drop(stopping);
            assert!(seen.is_sorted_by(|one, next| one < next), "{seen:?}");
        });
    }
}

#[test]
fn a_busy_limit_ends_a_long_export_only_in_rollback_mode() {
    for (journal_mode, ends) in [("DELETE", true), ("WAL", false)] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("x.db");
        make(&db, journal_mode);
        let mut read = ReadOptions::new();
        read.busy_limit = Some(Duration::ZERO);
        for export in [
            Export::new(&db, folder.path().join("a.csv")).tables(["a"]),
            Export::new(&db, folder.path().join("q.csv")).query("SELECT * FROM a".to_owned()),
        ] {
            let error = export.read(read).run().err();
            assert_eq!(error.is_some(), ends, "{journal_mode}: {error:?}");
            let message = error.map_or(String::new(), |error| error.to_string());
            assert!(!ends || message.contains("others wait to write"), "{message}");
        }
    }
}
