//! Transcripts of `recover`: exit codes, the plan, and errors.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::support::{folder, integrity, names, run};
use crate::transcript::matches;

/// Makes a database of 3,000 rows, with an index.
fn make(folder: &Path) {
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE INDEX by_name ON t (name);
        WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) INSERT INTO t SELECT i, 'name ' || i FROM n";
    Connection::open(folder.join("x.db")).unwrap().execute_batch(sql).unwrap();
}

/// Overwrites a leaf of the table with zeros.
fn damage(folder: &Path) {
    let mut bytes = fs::read(folder.join("x.db")).unwrap();
    let leaf = (1..bytes.len() / 4096).find(|page| bytes[page * 4096] == 13).unwrap();
    bytes[leaf * 4096..][..4096].fill(0);
    fs::write(folder.join("x.db"), bytes).unwrap();
}

#[test]
fn a_sound_database_exits_with_0_and_a_damaged_one_with_3() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    let ran = run(folder, ["recover", "x.db", "sound.db"]).ok();
    let expected = "Recovered 3,000 rows of 1 table to sound.db: [..] kB in [..]s ([..] rows/s)\n  x.db shows no damage\n";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    damage(folder);
    let ran = run(folder, ["recover", "x.db", "new.db"]);
    assert_eq!(ran.code(), Some(3), "{ran:?}");
    let expected = "\
Recovered [..] rows of 1 table to new.db: [..] kB in [..]s ([..] rows/s)
  t: [..] rows, 1 page lost
    index by_name has name of [..] lost rows (rowids [..] to [..])
warning: x.db is damaged: rows may be missing in new.db
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    assert_eq!(integrity(&folder.join("new.db")), "ok");
    assert_eq!(names(folder), ["new.db", "sound.db", "x.db"]);
    let ran = run(folder, ["recover", "x.db", "json.db", "--json"]);
    assert_eq!(ran.code(), Some(3), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["damaged"], true);
    assert_eq!(report["tables"][0]["lost_pages"][0]["why"], "all its bytes are zeros");
}

#[test]
fn a_dry_run_reports_what_could_be_saved_and_writes_nothing() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    damage(folder);
    let ran = run(folder, ["recover", "x.db", "new.db", "--dry-run"]);
    assert_eq!(ran.code(), Some(3), "{ran:?}");
    let expected = "\
x.db is damaged: [..] pages of 4096 bytes, [..] rows can be saved to new.db
  t: [..] rows, 1 page lost
    page [..]: all its bytes are zeros ([..])
    index by_name has name of [..] lost rows (rowids [..] to [..])
";
    assert!(matches(&ran.stdout, expected), "{ran:?}");
    assert_eq!(names(folder), ["x.db"]);
}

#[test]
fn the_columns_that_indexes_have_of_lost_rows_are_saved_if_they_are_asked_for() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    damage(folder);
    let ran = run(folder, ["recover", "x.db", "new.db", "--from-indexes", "--dry-run"]);
    assert_eq!(ran.code(), Some(3), "{ran:?}");
    assert!(ran.stdout.contains("  lost_and_found_1: columns of "), "{ran:?}");
    assert_eq!(names(folder), ["x.db"]);
    let ran = run(folder, ["recover", "x.db", "new.db", "--from-indexes", "--json"]);
    assert_eq!(ran.code(), Some(3), "{ran:?}");
    let report = ran.json();
    let lost = 3000 - report["tables"][0]["rows"].as_u64().unwrap();
    let witness = &report["tables"][0]["witnesses"][0];
    assert_eq!((&witness["index"], &witness["columns"][0]), (&"by_name".into(), &"name".into()));
    assert_eq!((&witness["rows"], &report["lost_and_found"][0]["of_table"]), (&lost.into(), &"t".into()));
    let count = "SELECT count(*) FROM lost_and_found_1 WHERE name = 'name ' || source_rowid AND source_rowid NOT IN (SELECT id FROM t)";
    let connection = Connection::open(folder.join("new.db")).unwrap();
    let saved: u64 = connection.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs();
    assert_eq!(saved, lost);
}

#[test]
fn recover_refuses_files_that_are_no_databases_and_existing_targets() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    fs::write(folder.join("a.csv"), "id\n1\n").unwrap();
    let ran = run(folder, ["recover", "a.csv", "new.db"]);
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    assert!(ran.stderr.contains("a.csv has no page of a SQLite database"), "{ran:?}");
    let ran = run(folder, ["recover", "x.db", "x.db"]);
    assert_eq!(ran.code(), Some(2), "{ran:?}");
    let ran = run(folder, ["recover", "x.db", "a.csv"]);
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    assert_eq!(names(folder), ["a.csv", "x.db"]);
}

#[test]
fn a_program_that_writes_is_waited_for_and_then_the_recovery_is_refused() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    damage(folder);
    let writer = Connection::open(folder.join("x.db")).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let args = ["recover", "x.db", "new.db", "--busy-timeout", "50ms"];
    let ran = run(folder, args).failed(1, "is being written");
    assert!(!ran.stderr.contains("Recovered"), "{ran:?}");
    let names_now = names(folder);
    assert!(!names_now.iter().any(|name| name.starts_with("new.db")), "{names_now:?}");
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(run(folder, args).code(), Some(3));
    assert_eq!(integrity(&folder.join("new.db")), "ok");
}
