//! SIGKILL, and a full disk, while rows are added to a full-text table, and while its segments are merged or its index is made again: the
//! database has the old rows and the old index, or the new ones.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use rusqlite::Connection;
use sqluice_testkit::effort::tries;

use crate::support::{Random, folder, run, start};

/// The arguments of each run.
const RUNS: [&[&str]; 5] = [
    &["load", "x.db", "t.csv", "--table", "t", "--append"],
    &["load", "x.db", "t.csv", "--table", "g", "--append"],
    &["load", "x.db", "t.csv", "--table", "u", "--append", "--fts", "h"],
    &["index", "x.db", "--fts-optimize", "f"],
    &["index", "x.db", "--fts-rebuild", "f"],
];

/// Makes the database `before.db` and the rows of `t.csv` that are added.
fn make(folder: &Path, journal: &str) {
    let connection = Connection::open(folder.join("before.db")).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = {journal}; PRAGMA synchronous = off; CREATE TABLE t (a TEXT);
             CREATE VIRTUAL TABLE f USING fts5(a, content=t);
             CREATE TRIGGER t_ai AFTER INSERT ON t BEGIN INSERT INTO f(rowid, a) VALUES (new.rowid, new.a); END;
             CREATE TRIGGER t_ad AFTER DELETE ON t BEGIN
               INSERT INTO f(f, rowid, a) VALUES ('delete', old.rowid, old.a); END;
             INSERT INTO f(f, rank) VALUES ('automerge', 0);
             CREATE VIRTUAL TABLE g USING fts5(a); CREATE TABLE u (a TEXT);
             CREATE VIRTUAL TABLE h USING fts5(a, content=u)"
        ))
        .unwrap();
    for _ in 0..6 {
        connection
            .execute_batch(
                "BEGIN; WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 300)
                 INSERT INTO t SELECT 'every w' || (n * 37 % 101) || ' x' || n FROM n; COMMIT;
                 DELETE FROM t WHERE rowid % 300 > 290",
            )
            .unwrap();
    }
    connection
        .execute_batch(
            "INSERT INTO g SELECT a FROM t WHERE rowid < 250; INSERT INTO u SELECT a FROM t WHERE rowid < 250;
             INSERT INTO h(h) VALUES ('rebuild')",
        )
        .unwrap();
    connection.close().unwrap();
    let mut rows = "a\n".to_owned();
    (0..3000).for_each(|n| writeln!(rows, "every w{} y{n}", n * 31 % 97).unwrap());
    fs::write(folder.join("t.csv"), rows).unwrap();
}

fn begin(folder: &Path) {
    for name in ["x.db", "x.db-journal", "x.db-wal", "x.db-shm"] {
        let _ = fs::remove_file(folder.join(name));
    }
    fs::copy(folder.join("before.db"), folder.join("x.db")).unwrap();
}

/// Asserts that the indexes fit the rows. Returns the number of rows, and of segments, of each full-text table.
fn content(folder: &Path) -> Vec<(i64, i64)> {
    let connection = Connection::open(folder.join("x.db")).unwrap();
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let of_table = |(table, full_text): (&str, &str)| {
        let check = format!("INSERT INTO {full_text}({full_text}, rank) VALUES ('integrity-check', 1)");
        connection.execute_batch(&check).unwrap();
        let rows = number(&format!("SELECT count(*) FROM {table}"));
        let found = number(&format!("SELECT count(*) FROM {full_text} WHERE {full_text} MATCH 'every'"));
        assert_eq!(found, rows, "{full_text}");
        (rows, number(&format!("SELECT count(DISTINCT segid) FROM {full_text}_idx")))
    };
    [("t", "f"), ("g", "g"), ("u", "h")].map(of_table).into()
}

#[test]
fn a_killed_run_leaves_the_old_index_or_the_new_one() {
    for journal in ["delete", "wal"] {
        let folder = folder();
        let folder = folder.path();
        make(folder, journal);
        begin(folder);
        let old = content(folder);
        let mut random = Random::new();
        for args in RUNS {
            begin(folder);
            let started = Instant::now();
            run(folder, args).ok();
            let whole = started.elapsed();
            let new = content(folder);
            assert_ne!(new, old, "{args:?}");
            for _ in 0..tries(3, 12, 100) {
                begin(folder);
                let mut child = start(folder, args);
                thread::sleep(whole.mul_f64(random.fraction() * 1.1));
                // A run that has ended can't be killed.
                let _ = child.kill();
                child.wait().unwrap();
                let found = content(folder);
                assert!(found == old || found == new, "{args:?}: {found:?}, {old:?} and {new:?}");
                run(folder, args).ok();
                content(folder);
            }
        }
    }
}

#[test]
#[cfg(target_os = "linux")] // The limit on file sizes is set by ulimit, in units of Linux.
fn a_full_disk_leaves_the_old_index() {
    use crate::support::{finish, sqluice_with_file_limit};

    let folder = folder();
    let folder = folder.path();
    make(folder, "wal");
    begin(folder);
    let old = content(folder);
    for args in RUNS {
        // The first write fails with the lowest limit, others in the middle of the log with higher ones, until the run succeeds.
        let mut failed = 0;
        for limit in (1..).map(|step| 24 * step) {
            begin(folder);
            let ran = finish(sqluice_with_file_limit(folder, limit).args(args));
            if ran.code() == Some(0) {
                break;
            }
            failed += 1;
            assert_eq!(content(folder), old, "{args:?} with files of at most {limit} units: {ran:?}");
        }
        assert!(failed > 1, "{args:?}: {failed} runs failed");
    }
}
