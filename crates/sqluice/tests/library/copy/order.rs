//! Copies of indexes and tables that are out of order or have an unknown collation, and of damaged schemas.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use sqluice::copy::{Copy, CopyReport};
use sqluice::error::Result;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;

use super::content::{content, integrity};

/// Makes a database by `sql`. Returns its folder, its path and the path of the copy.
fn made(sql: &str) -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    Connection::open(&source).unwrap().execute_batch(sql).unwrap();
    (folder, source, target)
}

fn run(source: &Path, target: &Path) -> Result<CopyReport> {
    Copy::new(source, target).run()
}

const ROWS: &str = "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO t SELECT i, CASE i % 2 WHEN 0 THEN 'a' ELSE 'B' END || i FROM n;";

#[test]
fn an_index_whose_collation_has_changed_is_sorted_again() {
    let (_folder, source, target) = made(&format!(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b COLLATE NOCASE); {ROWS}
         CREATE INDEX j ON t (b);
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (b)' WHERE name = 'i';"
    ));
    assert_ne!(integrity(&source), "ok");
    let report = run(&source, &target).unwrap();
    assert_eq!(integrity(&target), "ok");
    assert_eq!(report.indexes.iter().map(|index| index.sorted).collect::<Vec<_>>(), [true, false]);
    assert_eq!(content(&source).schema, content(&target).schema);
}

#[test]
fn a_copy_needs_memory_for_sorting_only_if_an_index_is_out_of_order() {
    let sql = format!(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); {ROWS} CREATE INDEX i ON t (b COLLATE NOCASE);
         PRAGMA writable_schema = ON;"
    );
    let (_folder, source, target) = made(&sql);
    // This memory is enough for the chunks of one thread, but not for sorting.
    let write = WriteOptions::new().tune(|tuning| tuning.chunk_bytes = 1 << 20).memory_bytes(3 << 20);
    let copy = Copy::new(&source, &target).write(write);
    let report = copy.run().unwrap();
    assert_eq!((report.threads, report.indexes[0].sorted), (1, false));
    std::fs::remove_file(&target).unwrap();
    let sql = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (b)' WHERE name = 'i'";
    Connection::open(&source).unwrap().execute_batch(sql).unwrap();
    copy.prepare(&Context::default()).unwrap().plan();
    let error = copy.run().unwrap_err();
    assert!(error.to_string().contains("too little to sort with: 4 MiB"), "{error}");
    assert!(!target.exists());
}

#[test]
fn a_table_without_rowids_whose_collation_has_changed_is_sorted_again() {
    let (_folder, source, target) = made(&format!(
        "CREATE TABLE t (a INT, b TEXT COLLATE NOCASE, PRIMARY KEY (b, a)) WITHOUT ROWID; {ROWS}
         ALTER TABLE t ADD COLUMN c DEFAULT 5; INSERT INTO t VALUES (0, 'c', 1);
         PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'COLLATE NOCASE', '');"
    ));
    assert_ne!(integrity(&source), "ok");
    let report = run(&source, &target).unwrap();
    assert!(report.tables[0].sorted);
    assert_eq!(integrity(&target), "ok");
    assert_eq!(content(&target).schema, content(&source).schema);
}

#[test]
fn an_index_with_an_unknown_collation_is_copied_as_it_is() {
    let with = |collation: &str| {
        format!(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (b{collation})' WHERE name = 'i'"
        )
    };
    let unknown = with(" COLLATE backwards");
    let (_folder, source, target) =
        made(&format!("CREATE TABLE t (a, b); {ROWS} CREATE INDEX i ON t (b); {unknown}"));
    let report = run(&source, &target).unwrap();
    assert!(report.indexes[0].unverified.as_ref().unwrap().contains("collation backwards"), "{report:?}");
    Connection::open(&target).unwrap().execute_batch(&with("")).unwrap();
    assert_eq!(integrity(&target), "ok");
}

#[test]
fn descending_indexes_of_an_old_file_format_keep_their_order_and_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    let connection = Connection::open(&source).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_LEGACY_FILE_FORMAT, true).unwrap();
    connection
        .execute_batch(&format!("CREATE TABLE t (a, b); CREATE INDEX i ON t (b DESC, a); {ROWS}"))
        .unwrap();
    let format = |db: &Path| std::fs::read(db).unwrap()[47];
    assert_eq!(format(&source), 1);
    let report = run(&source, &target).unwrap();
    assert_eq!((format(&target), report.indexes[0].sorted), (1, false));
    assert_eq!(integrity(&target), "ok");
}

#[test]
fn a_copy_refuses_two_schema_objects_with_the_same_root_page_by_name() {
    let (_folder, source, target) = made(
        "CREATE TABLE one (a); CREATE TABLE two (a); PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET rootpage = 2",
    );
    let error = run(&source, &target).unwrap_err().to_string();
    assert!(
        error.contains("table one") && error.contains("table two") && error.contains("root page"),
        "{error}"
    );
    assert!(!target.exists());
}

#[test]
fn a_copy_refuses_a_schema_object_that_sqlite_cannot_parse_by_name() {
    let (_folder, source, target) = made(
        "CREATE TABLE one (a); CREATE VIEW seen AS SELECT 1; PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = 'CREATE VIEW seen AS SELEC 1' WHERE name = 'seen'",
    );
    let error = run(&source, &target).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("malformed database schema (seen)"), "{cause}");
    assert!(!target.exists());
}

#[test]
fn copying_a_table_with_a_damaged_page_is_an_error_that_leaves_no_file() {
    let (_folder, source, target) = made(&format!("CREATE TABLE t (a, b); {ROWS}"));
    let mut file = std::fs::read(&source).unwrap();
    // The type of a leaf page is overwritten.
    file[4096 * 20] = 0;
    std::fs::write(&source, file).unwrap();
    let error = run(&source, &target).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("page 21"), "{error}");
    assert!(!target.exists());
    let folder = target.parent().unwrap();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
}
